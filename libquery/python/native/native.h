/*
 * native.h - the extension of the package: what its files share.
 *
 *     module.c    the module entrydb._native, and what is its own in each interpreter
 *     database.c  Database: a handle of libentrydb's on path entries
 *     walker.c    Walker: the property entry_points of stock's distributions
 *     entry.c     entry points of a class that is given, stock's or the package's
 *     fork.c      threads in the library, and forks
 *
 * Uses the limited API of CPython 3.10, so that one file serves all versions.
 */
#ifndef LIBQUERY_PYTHON_NATIVE_H
#define LIBQUERY_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "entrydb.h"

/* Of the module, in one interpreter. */
struct state {
	PyTypeObject *database, *walker;
	PyObject *name, *value, *group, *dist; /* interned: the attributes of an entry point */
	PyObject *path, *find;                 /* "_path" and "find" */
};

extern PyType_Spec database_spec, walker_spec;

/* --- entry.c --- */

/* How to make objects of an EntryPoint class; all pointers are borrowed. */
struct maker {
	const struct state *state;
	PyObject *type;
	PyObject *empty; /* () */
	bool is_tuple;   /* a named tuple, as in 3.10; else its instances have a __dict__ */
	newfunc construct;
};

/* False, with an error set, if @type is no class. */
bool maker_init(struct maker *maker, const struct state *state, PyObject *type, PyObject *empty);

/* An entry point of a distribution; @row: a tuple (name, value, group). */
PyObject *make(const struct maker *maker, PyObject *row, PyObject *dist);

/* A list of them, of @rows, a tuple; all of one distribution. */
PyObject *make_all(const struct state *state, PyObject *type, PyObject *rows, PyObject *dist);

/* (name, value, group) of entry @index of a set; @row_before: of the one before it, or NULL. */
PyObject *row_of(const entrydb_set *set, size_t index, PyObject *row_before);

/* --- walker.c --- */

/* Is place[name] still value, for each (place, name, value) of a tuple? */
bool all_same(PyObject *parts);

/* --- fork.c --- */

/* Once in a process. */
void watch_forks(void);

/* Around each call of the library, without Python's lock: a scan may take long. */
PyThreadState *enter_library(void);
void leave_library(PyThreadState *thread);

/* The same, for what is short, with Python's lock held. */
void hold_forks(void);
void release_forks(void);

#endif

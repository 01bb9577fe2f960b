/*
 * native.h - the extension of the package: what its files share.
 *
 *     module.c    the module entrydb._native, and what is its own in each interpreter
 *     database.c  Database: a handle of libentrydb's on path entries
 *     walker.c    the property entry_points of importlib.metadata's distributions
 *     entry.c     entry points of a class that is given
 *     parts.c     whether a metadata module is still what it was
 *     recognize.c which metadata module is this, and is all of it its own?
 *     fork.c      threads in the library, and forks
 *
 * Uses the limited API of CPython 3.10, so that one file serves all versions; only those that
 * are free-threaded get one each: Py_GIL_DISABLED.
 */
#ifndef LIBQUERY_PYTHON_NATIVE_NATIVE_H
#define LIBQUERY_PYTHON_NATIVE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "libquery/entrydb.h"

/* The attributes of an entry point, of a distribution and a path, and of a Walk. */
enum name { NAME, VALUE, GROUP, DIST, MODULE, PATH, TEXT, FIND, VIEW, NAMES };

/* Of the module, in one interpreter. */
struct state {
	PyTypeObject *database;
	int watcher;            /* of dicts; see parts.c */
	PyObject *names[NAMES]; /* interned */
};

extern PyType_Spec database_spec;

/* --- entry.c --- */

/* How to make objects of an EntryPoint class; all pointers are borrowed. */
struct maker {
	const struct state *state;
	PyTypeObject *type;
	newfunc construct;
	bool is_tuple; /* a named tuple, as in 3.10; else its instances have a __dict__ */
	bool parses;   /* each value when it is made, as some versions do, and raises what that does
	                */
};

/* False, with an error set, if @type is not a class. */
bool maker_init(struct maker *maker, const struct state *state, PyObject *type, bool parses);

#define FIELDS 3 /* of an entry point: name, value, group */

/*
 * Put these fields into a new tuple; false with an error set. Neighbours in a group share one
 * object, as in importlib.metadata: those of @before, which may be NULL, are @step items before.
 */
bool put_fields(PyObject *items, Py_ssize_t at, const entrydb_entry_point *entry_point,
                const entrydb_entry_point *before, Py_ssize_t step);

/* The distribution of the entry point whose fields begin at @at, borrowed; NULL with an error set.
 */
typedef PyObject *dist_of(void *payload, PyObject *items, Py_ssize_t at);

/* A list of entry points: of every @step items the first are the fields of one. */
PyObject *make_all(const struct maker *maker, PyObject *items, Py_ssize_t step, dist_of *find,
                   void *payload);

/* --- database.c --- */

/*
 * Look at the disk: the number of what is known of it, as Database.refresh() tells it, or another
 * one where that would tell none. False on failure; no error is set.
 */
bool database_number(PyObject *database, unsigned long long *number);

/*
 * What a dict has under a key, a new reference; NULL where it has nothing, or with an error set.
 * Without Python's lock a borrowed one can be freed by another thread before it is looked at:
 * so those are for dicts that no other thread can get at.
 */
static inline PyObject *item_of(PyObject *dict, PyObject *key)
{
#ifdef Py_GIL_DISABLED /* what the limited API has not */
	PyObject *found;

	PyDict_GetItemRef(dict, key, &found);
	return found;
#else
	return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

/* --- recognize.c --- */

PyObject *recognise(PyObject *self, PyObject *arguments); /* see recognise_doc in module.c */

/* --- parts.c --- */

/* Of CPython since ever, and not in the headers of the limited API. */
extern PyTypeObject PyFunction_Type, PyCell_Type;

/* 12 for Python 3.12: of the interpreter that runs. */
long minor_version(void);

/* A watcher of dicts, for one interpreter; -1: there is none. */
int watch_begin(void);

/* From now on; false: what happens to it will not be known. */
bool watch_dict(int watcher, PyObject *dict);

/* The number of the last change of any dict that is watched. */
unsigned long long last_change(void);

/* Put what no dict tells of a function, or of a class that is not built in, into the dict @pins. */
bool pin(PyObject *pins, PyObject *owner);

/* A function without arguments: since that change, are these dicts, all watched, and what is
 * pinned as they were? */
PyObject *make_same(PyObject *dicts, PyObject *pins, unsigned long long since);

/* The same, of the self of that function. No error is set. */
bool all_same(PyObject *self);

/* --- walker.c --- */

PyObject *walker(PyObject *module, PyObject *arguments); /* see walker_doc in module.c */

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

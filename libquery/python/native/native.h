/*
 * native.h - shared declarations of the extension module.
 *
 *     module.c    the module entrydb._native and its state in each interpreter
 *     database.c  Database: a handle of libentrydb for path entries
 *     walker.c    the property entry_points of importlib.metadata's distributions
 *     items.c     entry points as strings in a tuple
 *     entry.c     entry points as objects of a given class
 *     parts.c     detects changes of a metadata module
 *     recognize.c identifies a metadata module and detects foreign code in it, by
 *     look.c      its objects, namespaces and functions,
 *     own.c       whose they are,
 *     digest.c    and a digest of them
 *     fork.c      delays fork() while threads are in the library
 *
 * Uses the limited API of CPython 3.10: one build serves all versions. Only free-threaded versions
 * (Py_GIL_DISABLED) need a build each.
 */
#ifndef LIBQUERY_PYTHON_NATIVE_NATIVE_H
#define LIBQUERY_PYTHON_NATIVE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "libquery/entrydb.h"

/* Names of attributes of entry points, distributions, paths and Walk. */
enum name { NAME, VALUE, GROUP, DIST, MODULE, PATH, TEXT, FIND, VIEW, NAMES };

/* The module's state in one interpreter. */
struct state {
	PyTypeObject *database;
	int watcher;            /* dict watcher; see parts.c */
	PyObject *names[NAMES]; /* interned */
};

extern PyType_Spec database_spec;

/* --- items.c --- */

#define FIELDS 3            /* items of an entry point: name, value, group */
#define PLACED (FIELDS + 2) /* also path entry and metadata directory */

/* FIELDS items of each entry point; None if Python would raise. */
PyObject *items_of_distribution(const entrydb_distribution *distribution);

/* PLACED items of each entry point; None if Python would raise. */
PyObject *items_of_set(const entrydb_set *set);

/* --- entry.c --- */

/* How to make objects of an EntryPoint class; all pointers are borrowed. */
struct maker {
	const struct state *state;
	PyTypeObject *type;
	newfunc construct;
	bool is_tuple; /* a named tuple, as in 3.10; else its instances have a __dict__ */
	bool parses;   /* parse each value, and raise on an invalid one, as some versions do */
};

/* False, with an error set, if @type is not a class. */
bool maker_init(struct maker *maker, const struct state *state, PyObject *type, bool parses);

/* The distribution of the entry point with fields at @at, borrowed; NULL with an error set. */
typedef PyObject *dist_of(void *payload, PyObject *items, Py_ssize_t at);

/* Make a list of entry points; the fields of one begin at every @step-th item. */
PyObject *make_all(const struct maker *maker, PyObject *items, Py_ssize_t step, dist_of *find,
                   void *payload);

/* --- database.c --- */

/*
 * Check the disk. *number is that of Database.refresh(), or a different one where refresh() returns
 * None. False on failure; no error is set.
 */
bool database_number(PyObject *database, unsigned long long *number);

/*
 * A new reference to the dict's value for a key; NULL if there is none, or with an error set.
 * Without the GIL another thread could free a borrowed one: borrow only from dicts of this thread.
 */
static inline PyObject *item_of(PyObject *dict, PyObject *key)
{
#ifdef Py_GIL_DISABLED /* not in the limited API */
	PyObject *found;

	PyDict_GetItemRef(dict, key, &found);
	return found;
#else
	return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

/* --- recognize.c --- */

PyObject *recognize(PyObject *self, PyObject *arguments); /* see recognize_doc in module.c */

/* --- parts.c --- */

/* Exported by all versions, but not declared in the limited API. */
extern PyTypeObject PyFunction_Type, PyCell_Type;

/* The minor version of the running interpreter: 12 for Python 3.12. */
long minor_version(void);

/* Create a dict watcher for one interpreter; -1 on failure. */
int watch_begin(void);

/* Watch a dict from now on; false on failure. */
bool watch_dict(int watcher, PyObject *dict);

/* The number of the last change of any watched dict. */
unsigned long long last_change(void);

/* Record the code of a function, or the bases of a heap type, in the dict @pins. */
bool pin(PyObject *pins, PyObject *owner);

/* Make a function without arguments: have the (watched) dicts and pins not changed since? */
PyObject *make_same(PyObject *dicts, PyObject *pins, unsigned long long since);

/* The same for the self of that function. No error is set. */
bool all_same(PyObject *self);

/* --- walker.c --- */

PyObject *walker(PyObject *module, PyObject *arguments); /* see walker_doc in module.c */

/* --- fork.c --- */

/* Register the fork handlers, once in a process. */
void watch_forks(void);

/* Around each library call: release the GIL, since a scan may take long. */
PyThreadState *enter_library(void);
void leave_library(PyThreadState *thread);

/* The same for short calls, with the GIL held. */
void hold_forks(void);
void release_forks(void);

#endif

/*
 * own.h - what is a metadata module's own, and what has a program put in its place?
 *
 * A function belongs to a module if its code was loaded from the module's file and runs in
 * the module's namespace. A wrapper may take over the name, the documentation and
 * __wrapped__; the namespace it cannot. What a package imports is held against the
 * standard module that it says it comes from.
 *
 *     own.c       the package's modules and classes, and whether all in them is their own
 *     digest.c    what the parts of it do that make the answers
 *     snapshot.c  what has to stay as it is, for parts.c
 *
 * Each function that answers false or NULL may have set an error: something foreign was
 * in the way. Nobody needs to know what, so recognise() clears it.
 */
#ifndef LIBQUERY_PYTHON_NATIVE_OWN_H
#define LIBQUERY_PYTHON_NATIVE_OWN_H

#include "libquery/python/native/native.h"

#define FUNCTIONS_MAX 3 /* that a property consists of */
#define WRAPPINGS     6 /* kinds of things that functions are wrapped in */

/* Attributes that are asked for often. */
enum attribute {
	CELL_CONTENTS,
	CLOSURE,
	CODE,
	CONSTANTS,
	FILE_NAME,
	GLOBALS,
	MODULE,
	NAME,
	NAMES,
	QUALNAME,
	ATTRIBUTES,
};

/*
 * A package; all pointers but @module and @ours are owned. A namespace is copied once, and what
 * is looked at, and compared from then on, is the copy: whatever other threads do meanwhile, no
 * part is taken for what it was that has not been looked at.
 */
struct own {
	PyObject *module;
	PyObject *ours;            /* a tuple: what acceleration itself has put in */
	PyObject *modules;         /* a list of (module, its namespace, the copy) of the package */
	PyObject *classes;         /* a list of (class, its namespace, the copy) in them */
	PyObject *files;           /* of modules: a dict from the address of their namespace */
	PyObject *functions;       /* a list of (function, its code, name of its class) */
	PyObject *unused;          /* a set of names, of the module itself, that nobody looks at */
	PyObject *stdlib, *loaded; /* the names of the standard modules, and sys.modules */
	PyTypeObject *function_type, *pattern_type, *wrappers[WRAPPINGS];
	PyObject *attributes[ATTRIBUTES];
};

bool own_init(struct own *own, PyObject *module, PyObject *ours);
void own_clear(struct own *own);

/* Is all in the package its own, or what nobody looks at? */
bool own_check(const struct own *own);

/* The digest of the parts; @originals: a dict from (class, name) to what was replaced. */
bool digest_parts(struct own *own, PyObject *originals, unsigned long long *digest);

/*
 * (all that is compared, what is compared when one distribution is read), both of them Parts;
 * NULL where what the disk is read with is not Python's.
 */
PyObject *take_snapshot(const struct own *own, const struct state *state);

/* --- what snapshot.c and digest.c need of own.c --- */

/* The attribute, a new reference. */
PyObject *get(const struct own *own, PyObject *object, enum attribute attribute);

/* Does it hold this text? */
bool attribute_is(const struct own *own, PyObject *object, enum attribute attribute,
                  const char *text);

/* A set of names, which end with NULL. */
PyObject *set_of_names(const char *const *names);

/* The namespace of a class, a new reference. */
PyObject *namespace_of(PyObject *kind);

/* The copy of the class of that name, or of the module for "", borrowed; NULL: there is none. */
PyObject *own_home(const struct own *own, const char *place);

/* Of a type whose objects run nothing? Plain: of one of the usual types. */
bool is_plain_data(const struct own *own, PyObject *value);
bool is_data(const struct own *own, PyObject *value);

bool is_standard_module(const struct own *own, PyObject *value);

/* The standard module of that name, or what one of them has under that name? */
bool is_imported(const struct own *own, PyObject *name, PyObject *value);

/* A function as the module of that name was loaded with? */
bool is_loaded(const struct own *own, PyObject *function, PyObject *name);

/* One that functools was loaded with. */
bool is_standard_function(const struct own *own, PyObject *function);
bool is_own_function(const struct own *own, PyObject *function);

/*
 * The functions that a method, property or cached function consists of, new references;
 * their number, 0 for other things.
 */
size_t functions_of(const struct own *own, PyObject *value, PyObject *functions[FUNCTIONS_MAX]);
void functions_free(PyObject *functions[FUNCTIONS_MAX], size_t count);

/* Call for the functions that a decorator has wrapped in this one, until one call is false. */
bool each_enclosed(const struct own *own, PyObject *function,
                   bool (*call)(struct own *own, PyObject *function, void *payload), void *payload);

#endif

/*
 * look.h - what recognize() knows while it looks at a metadata module.
 *
 * A namespace is watched (parts.c) before it is inspected, so that changes by other threads
 * meanwhile are detected. All objects met are kept alive in one list until the end: so every
 * pointer here is borrowed. It is NULL where a foreign object raised an exception, which
 * recognize() clears.
 */
#ifndef LIBQUERY_PYTHON_NATIVE_LOOK_H
#define LIBQUERY_PYTHON_NATIVE_LOOK_H

#include "libquery/python/native/native.h"

#define OWNERS_MAX    160 /* modules and classes of a package */
#define TEXTS         256 /* slots of the cache of interned strings */
#define FUNCTIONS_MAX 3   /* functions of a property */
#define WRAPPINGS     6   /* types that wrap functions */
#define PARTIAL       4   /* one of them */

/* A module, or a class of the inspected module ("": the module), and names separated by spaces. */
struct place {
	const char *owner, *names;
};

/* A module or class of the package; @copy: a copy of its namespace. */
struct owner {
	PyObject *object, *dict, *copy;
};

struct look {
	PyObject *module, *replaced; /* see recognize_doc */
	PyObject *held;              /* a list */
	PyObject *package;           /* its name */
	PyObject *stdlib, *loaded;   /* the names of the standard modules, and sys.modules */
	PyObject *wrappers[WRAPPINGS], *pattern; /* types */
	struct {
		const char *chars;
		PyObject *text;
	} texts[TEXTS];
	struct owner owners[OWNERS_MAX];
	size_t count;
	/* The digest. */
	unsigned long long hash;
	bool begun;
	PyObject *used; /* the set of names that the parts use */
	/* Arguments of make_same(). */
	int watcher;
	PyObject *dicts, *pins;
};

/* --- look.c --- */

/* Make the lists, and find the types. */
bool look_begin(struct look *look);

/* Turn a new reference into a borrowed one. */
PyObject *hold(struct look *look, PyObject *object);

/* The interned string of a literal. */
PyObject *text(struct look *look, const char *chars);

/* The next of the space-separated names; NULL after the last. */
PyObject *next_name(struct look *look, const char **names);

PyObject *get(struct look *look, PyObject *object, const char *attribute);
PyObject *item(struct look *look, PyObject *dict, PyObject *key);

bool same_text(PyObject *a, PyObject *b);

/* @end: -1 for the beginning, 1 for the end. */
bool has_at_end(struct look *look, PyObject *object, const char *chars, int end);

/* @words: separated, preceded and followed by spaces. */
bool is_any_of(PyObject *name, const char *words);

/* The namespace of a loaded module. */
PyObject *namespace_named(struct look *look, PyObject *name);

/* The namespace of a module or a class. */
PyObject *namespace_of(struct look *look, PyObject *object);

bool watch(struct look *look, PyObject *dict);

/* The owner with that object or namespace. */
const struct owner *owner_of(const struct look *look, PyObject *either);

/* Get the functions in a value; return their number, 0 for other values. */
size_t functions_of(struct look *look, PyObject *value, PyObject *functions[FUNCTIONS_MAX]);

/* The original of a function that entrydb has replaced; of others, the function itself. */
PyObject *original_of(struct look *look, PyObject *function);

/* --- own.c --- */

/* Do all owners, and the used parts of other modules, come from Python or the package? */
bool is_all_own(struct look *look);

/*
 * Was the function's code loaded from the file of the module of its globals? That must be a module
 * of the package, or a standard one that has the function under this name. Generated methods of
 * named tuples are accepted, too.
 */
bool is_own_function(struct look *look, PyObject *key, PyObject *function);

/* Has it a plain type, whose objects run no code? */
bool is_plain(const struct look *look, PyObject *value);

/* --- digest.c --- */

/* Identify the functions that make the answers; 0 if one is foreign. */
unsigned long long digest_answers(struct look *look);

/* The same of those that find a distribution by its name, and read name and version. */
unsigned long long digest_naming(struct look *look);

#endif

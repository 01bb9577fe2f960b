/*
 * recognize.c - identifies a metadata module and detects foreign code in it.
 *
 * A digest identifies the behaviour of the functions that make the answers. It covers the names
 * that each function uses, so it is equal for releases with equal answers, and differs if something
 * was added. A function is the module's own if its code was loaded from the module's file and its
 * globals are the module's namespace: a wrapper can copy the name, the documentation and
 * __wrapped__, but not the namespace. Imported objects are compared with the attribute of the
 * standard module they claim to come from; all other objects must have exactly one of a few types
 * that run no code.
 *
 * A namespace is watched (parts.c) before it is inspected, so that changes by other threads
 * meanwhile are detected. All objects met are kept alive in one list until the end: so every
 * pointer here is borrowed. It is NULL where a foreign object raised an exception, which
 * recognise() clears.
 */
#include <stdint.h>
#include <string.h>

#include "libquery/python/native/native.h"

#define OWNERS_MAX    160 /* modules and classes of a package */
#define TEXTS         256 /* slots of the cache of interned strings */
#define FUNCTIONS_MAX 3   /* functions of a property */
#define WRAPPINGS     6   /* types that wrap functions */
#define PARTIAL       4   /* one of them */
#define FNV_BASIS     0xcbf29ce484222325
#define FNV_PRIME     0x100000001b3

/* A module, or a class of the inspected module ("": the module), and names separated by spaces. */
struct place {
	const char *owner, *names;
};

/* A module or class of the package; @copy: a copy of its namespace. */
struct owner {
	PyObject *object, *dict, *copy;
};

struct look {
	PyObject *module, *replaced; /* see recognise_doc */
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

/* --- objects --- */

/* Turn a new reference into a borrowed one. */
static PyObject *hold(struct look *look, PyObject *object)
{
	bool done = object && PyList_Append(look->held, object) == 0;

	Py_XDECREF(object);
	return done ? object : NULL;
}

/* The interned string of a literal. */
static PyObject *text(struct look *look, const char *chars)
{
	size_t at = (uintptr_t)chars / sizeof(chars) % TEXTS;

	if (look->texts[at].chars != chars) {
		look->texts[at].text = hold(look, PyUnicode_InternFromString(chars));
		look->texts[at].chars = chars;
	}
	return look->texts[at].text;
}

/* The next of the space-separated names; NULL after the last. */
static PyObject *next_name(struct look *look, const char **names)
{
	const char *begin = *names + strspn(*names, " ");
	size_t length = strcspn(begin, " ");
	PyObject *name;

	*names = begin + length;
	name = length ? PyUnicode_FromStringAndSize(begin, (Py_ssize_t)length) : NULL;
	if (name)
		PyUnicode_InternInPlace(&name);
	return hold(look, name);
}

static PyObject *get(struct look *look, PyObject *object, const char *attribute)
{
	PyObject *name = object ? text(look, attribute) : NULL;

	return name ? hold(look, PyObject_GetAttr(object, name)) : NULL;
}

static PyObject *item(struct look *look, PyObject *dict, PyObject *key)
{
	return key ? hold(look, item_of(dict, key)) : NULL;
}

static bool same_text(PyObject *a, PyObject *b)
{
	return a && b && PyUnicode_Check(a) && PyUnicode_Check(b) && PyUnicode_Compare(a, b) == 0;
}

/* @end: -1 for the beginning, 1 for the end. */
static bool has_at_end(struct look *look, PyObject *object, const char *chars, int end)
{
	return object && PyUnicode_Check(object) &&
	       PyUnicode_Tailmatch(object, text(look, chars), 0, PY_SSIZE_T_MAX, end) == 1;
}

/* @words: separated, preceded and followed by spaces. */
static bool is_any_of(PyObject *name, const char *words)
{
	Py_ssize_t length;
	const char *chars =
	        name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &length) : NULL;

	if (!chars || !length)
		return false;
	for (const char *at = words; (at = strstr(at, chars)); at++)
		if (at[-1] == ' ' && at[length] == ' ')
			return true;
	return false;
}

/* The namespace of a loaded module. */
static PyObject *namespace_named(struct look *look, PyObject *name)
{
	PyObject *module = item(look, look->loaded, name);

	return module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
}

/* A type by its name; no object has a replaced one. */
static PyObject *type_named(struct look *look, const char *module, const char *name)
{
	PyObject *namespace = namespace_named(look, text(look, module));

	return namespace ? item(look, namespace, text(look, name)) : NULL;
}

/* The first component of a dotted name. */
static PyObject *package_of(struct look *look, PyObject *name)
{
	Py_ssize_t length, dot;

	if (!name || !PyUnicode_CheckExact(name))
		return NULL;
	length = PyUnicode_GetLength(name);
	dot = PyUnicode_FindChar(name, '.', 0, length, 1);
	return dot < 0 ? name : hold(look, PyUnicode_Substring(name, 0, dot));
}

static bool is_standard(struct look *look, PyObject *name)
{
	PyObject *package = package_of(look, name);

	return package && PySequence_Contains(look->stdlib, package) == 1;
}

/* Is @name the package, or a module in it? */
static bool is_in_package(const struct look *look, PyObject *name)
{
	Py_ssize_t length = PyUnicode_GetLength(look->package);

	return name && PyUnicode_Check(name) &&
	       PyUnicode_Tailmatch(name, look->package, 0, PY_SSIZE_T_MAX, -1) == 1 &&
	       (PyUnicode_GetLength(name) == length || PyUnicode_ReadChar(name, length) == '.');
}

/* The owner with that object or namespace. */
static const struct owner *owner_of(const struct look *look, PyObject *either)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->owners[i].dict == either || look->owners[i].object == either)
			return &look->owners[i];
	return NULL;
}

/* --- functions --- */

/* Types that wrap functions, and their attributes that contain the functions. */
static const struct wrapping {
	const char *module, *name, *attributes[FUNCTIONS_MAX + 1];
} wrappings[] = {
        {"builtins", "staticmethod", {"__func__"}},
        {"builtins", "classmethod", {"__func__"}},
        {"builtins", "property", {"fget", "fset", "fdel"}},
        {"functools", "_lru_cache_wrapper", {"__wrapped__"}},
        [PARTIAL] = {"functools", "partial", {"func"}},
        {"functools", "cached_property", {"func"}},
};

/* Get the functions in a value; return their number, 0 for other values. */
static size_t functions_of(struct look *look, PyObject *value, PyObject *functions[FUNCTIONS_MAX])
{
	size_t count = 0, kind = 0;

	functions[0] = value;
	if (Py_TYPE(value) == &PyFunction_Type)
		return 1;
	while (kind < WRAPPINGS && (PyObject *)Py_TYPE(value) != look->wrappers[kind])
		kind++;
	for (size_t i = 0; kind < WRAPPINGS && wrappings[kind].attributes[i]; i++) {
		PyObject *found = get(look, value, wrappings[kind].attributes[i]);

		if (found && found != Py_None)
			functions[count++] = found;
	}
	return count;
}

/* The original of a function that entrydb has replaced; of others, the function itself. */
static PyObject *original_of(struct look *look, PyObject *function)
{
	Py_ssize_t position = 0;
	PyObject *each;

	while (PyDict_Next(look->replaced, &position, NULL, &each))
		if (PyTuple_GetItem(each, 0) == function &&
		    PyTuple_GetItem(each, 1) == get(look, function, "__code__"))
			return pin(look->pins, function) ? PyTuple_GetItem(each, 2) : NULL;
	return function;
}

static bool is_own_function(struct look *look, PyObject *key, PyObject *function);

/* Are the functions in its closure (wrapped by a decorator) own ones? */
static bool are_enclosed_own(struct look *look, PyObject *function)
{
	PyObject *closure = get(look, function, "__closure__");
	bool are = closure != NULL;

	for (Py_ssize_t i = 0; are && closure != Py_None && i < PyTuple_Size(closure); i++) {
		PyObject *value = get(look, PyTuple_GetItem(closure, i), "cell_contents");

		are = value && (Py_TYPE(value) != &PyFunction_Type ||
		                is_own_function(look, get(look, value, "__name__"), value));
	}
	return are;
}

/*
 * Was the function's code loaded from the file of the module of its globals? That must be a module
 * of the package, or a standard one that has the function under this name. Generated methods of
 * named tuples are accepted, too.
 */
static bool is_own_function(struct look *look, PyObject *key, PyObject *function)
{
	PyObject *globals, *name, *file, *expected;
	bool is;

	function = original_of(look, function);
	globals = get(look, function, "__globals__");
	if (!globals || !PyDict_Check(globals))
		return false;
	name = item(look, globals, text(look, "__name__"));
	if (has_at_end(look, name, "namedtuple_", -1))
		return true;
	file = get(look, get(look, function, "__code__"), "co_filename");
	expected = item(look, globals, text(look, "__file__"));
	if (owner_of(look, globals))
		is = same_text(file, expected) && are_enclosed_own(look, function);
	else
		is = is_standard(look, name) && namespace_named(look, name) == globals &&
		     (has_at_end(look, file, "<frozen ", -1) || same_text(file, expected)) &&
		     (is_any_of(name, " collections typing ") ||
		      (same_text(get(look, function, "__module__"), name) &&
		       same_text(get(look, function, "__name__"), key)));
	if (!is) /* to detect that its code is restored */
		pin(look->pins, function);
	return is;
}

/* --- values --- */

/* Has it a plain type, whose objects run no code? */
static bool is_plain(const struct look *look, PyObject *value)
{
	PyTypeObject *type = Py_TYPE(value);

	return value == Py_None || type == &PyUnicode_Type || type == &PyBytes_Type ||
	       type == &PyLong_Type || type == &PyBool_Type || type == &PyFloat_Type ||
	       type == &PyTuple_Type || type == &PyList_Type || type == &PyDict_Type ||
	       type == &PySet_Type || type == &PyFrozenSet_Type || type == &PyGetSetDescr_Type ||
	       type == &PyMemberDescr_Type || type == &PyCell_Type ||
	       (PyObject *)type == look->pattern;
}

/* Is a module or class the one that its name claims? */
static bool is_right_import(struct look *look, PyObject *key, PyObject *value)
{
	bool is_module = PyModule_Check(value);
	PyObject *name = get(look, value, "__name__"), *home, *namespace;

	if (owner_of(look, value))
		return is_module || same_text(name, key);
	home = is_module ? name : get(look, value, "__module__");
	if (!same_text(name, key) ||
	    !(is_standard(look, home) || is_any_of(home, " zipp "))) /* importlib_metadata's */
		return false;
	namespace = is_module ? look->loaded : namespace_named(look, home);
	return namespace && item(look, namespace, key) == value;
}

/* Does it come from Python or the package? @key: its name in the namespace. */
static bool is_own(struct look *look, PyObject *key, PyObject *value)
{
	PyObject *functions[FUNCTIONS_MAX], *kind = (PyObject *)Py_TYPE(value);
	size_t count;
	bool is = true;

	if (is_plain(look, value))
		return true;
	if (Py_TYPE(value) == &PyFunction_Type)
		return is_own_function(look, key, value);
	if ((PyModule_CheckExact(value) || PyType_Check(value)) &&
	    is_right_import(look, key, value))
		return true;
	if (PyCFunction_CheckExact(value))
		return is_standard(look, get(look, value, "__module__")) &&
		       same_text(get(look, value, "__name__"), key);
	count = functions_of(look, value, functions);
	if (!count)
		return is_any_of(package_of(look, get(look, kind, "__module__")),
		                 " typing _frozen_importlib _frozen_importlib_external zipimport "
		                 "lazy_importer zipp _abc __future__ operator _collections "
		                 "collections ");
	if (kind == look->wrappers[PARTIAL])
		key = get(look, functions[0], "__name__");
	for (size_t i = 0; is && i < count; i++)
		is = is_own(look, key, functions[i]);
	return is;
}

/* --- namespaces --- */

/* A class's __dict__ is a proxy, whose only referent is the dict. */
static int take_referent(PyObject *object, void *out)
{
	*(PyObject **)out = object;
	return 0;
}

static PyObject *namespace_of(struct look *look, PyObject *object)
{
	PyObject *proxy, *found = NULL;
	traverseproc traverse;

	if (PyModule_Check(object))
		return PyModule_GetDict(object);
	proxy = get(look, object, "__dict__");
	traverse = proxy ? (traverseproc)PyType_GetSlot(Py_TYPE(proxy), Py_tp_traverse) : NULL;
	if (traverse)
		traverse(proxy, take_referent, &found);
	return found && PyDict_Check(found) ? hold(look, Py_NewRef(found)) : NULL;
}

static bool watch(struct look *look, PyObject *dict)
{
	return dict && PyList_Append(look->dicts, dict) == 0 && watch_dict(look->watcher, dict);
}

/* Also pin the bases of a class, from which it inherits attributes. */
static bool add_owner(struct look *look, PyObject *object)
{
	PyObject *dict = namespace_of(look, object), *copy, *order;
	bool done = look->count < OWNERS_MAX && watch(look, dict);

	copy = done ? hold(look, PyDict_Copy(dict)) : NULL;
	if (!copy)
		return false;
	look->owners[look->count++] = (struct owner){object, dict, copy};
	order = PyType_Check(object) ? get(look, object, "__mro__") : Py_None;
	done = order != NULL;
	for (Py_ssize_t i = 0; done && order != Py_None && i < PyTuple_Size(order); i++) {
		PyTypeObject *kind = (PyTypeObject *)PyTuple_GetItem(order, i);

		if (PyType_GetFlags(kind) & Py_TPFLAGS_HEAPTYPE)
			done = pin(look->pins, (PyObject *)kind);
	}
	return done;
}

/* Collect the module and the modules and classes of the package reachable from it. */
static bool gather_owners(struct look *look)
{
	bool done = add_owner(look, look->module);

	for (size_t i = 0; done && i < look->count; i++) {
		Py_ssize_t position = 0;
		PyObject *value;

		while (done && PyDict_Next(look->owners[i].copy, &position, NULL, &value)) {
			const char *home = PyModule_CheckExact(value) ? "__name__"
			                   : PyType_Check(value)      ? "__module__"
			                                              : NULL;

			if (home && is_in_package(look, get(look, value, home)) &&
			    !owner_of(look, value))
				done = add_owner(look, value);
		}
	}
	return done;
}

/* Names in the package's modules that no look-up of entry points uses; entrydb's own. */
static const char unused[] = " _entrydb entry_points distribution metadata version files requires "
                             "packages_distributions conforms ";

/*
 * __name__ and the like in a module: its properties, and notes of import hooks such as ddtrace's
 * __dd_origin__. The package's code uses none of them; in a class, Python does.
 */
static bool is_note(struct look *look, PyObject *name)
{
	return has_at_end(look, name, "__", -1) && has_at_end(look, name, "__", 1);
}

static bool is_owner_own(struct look *look, const struct owner *owner)
{
	bool is_module = PyModule_Check(owner->object);
	Py_ssize_t position = 0;
	PyObject *name, *value;

	while (PyDict_Next(owner->copy, &position, &name, &value))
		if (!(is_module && (is_note(look, name) || is_any_of(name, unused))) &&
		    !is_own(look, name, value))
			return false;
	PyErr_Clear();
	return true;
}

/* --- other modules --- */

/* Functions that read the disk and parse the names of distributions. */
static const struct place outside[] = {
        {"os", "listdir stat fspath"},
        {"posixpath", "basename splitext"},
        {"io", "open"},
        {"re", "sub compile"},
        {"itertools", "chain filterfalse"},
        {"operator", "attrgetter eq"},
        {"functools", "partial"},
        {"contextlib", "suppress"},
        {"zipfile", "Path ZipFile"},
        {"email", "message_from_string"},
        {"inspect", "getmro"},
        {"pathlib", "Path"},
        {0},
};

/* Methods and attributes that create, join, show and read a path. */
static const char of_a_path[] =
        "__new__ __init__ __getattribute__ __getattr__ __setattr__ __str__ __fspath__ __truediv__ "
        "joinpath with_segments open read_text parent name drive root exists is_dir is_file stat "
        "parser _accessor _drv _flavour _format_parsed_parts _from_parsed_parts _from_parts _init "
        "_load_parts _make_child _opener _parse_args _parse_path _parts _raw_path _raw_paths _root "
        "_str _tail _tail_cached";

/*
 * Are the named objects of a namespace own ones? A module must have all of them. @home: the module
 * of a path class; there, names may be missing, functions and modules may have another name (3.15
 * also calls __str__ __fspath__), and objects of that module's classes are accepted.
 */
static bool are_own(struct look *look, PyObject *dict, const char *names, PyObject *home)
{
	bool are = watch(look, dict);
	PyObject *key, *value, *kind;

	while (are && (key = next_name(look, &names))) {
		value = item(look, dict, key);
		if (!value && home)
			continue;
		kind = value ? (PyObject *)Py_TYPE(value) : NULL;
		if (home && (PyModule_Check(value) || Py_TYPE(value) == &PyFunction_Type))
			key = get(look, value, "__name__");
		are = value && (is_own(look, key, value) ||
		                (home && same_text(get(look, kind, "__module__"), home)));
		PyErr_Clear();
	}
	return are && !PyErr_Occurred();
}

/* Are the used parts of other modules, and of the path classes, own ones? */
static bool are_others_own(struct look *look)
{
	PyObject *pathlib = get(look, look->module, "pathlib");
	PyObject *order = get(look, get(look, pathlib, "PosixPath"), "__mro__");
	bool are = order != NULL;

	for (Py_ssize_t i = 0; are && i < PyTuple_Size(order) - 1; i++) { /* without object */
		PyObject *kind = PyTuple_GetItem(order, i);

		are = are_own(look, namespace_of(look, kind), of_a_path,
		              get(look, kind, "__module__"));
	}
	for (const struct place *of = outside; are && of->owner; of++) {
		PyObject *dict = namespace_named(look, text(look, of->owner));

		are = !dict || are_own(look, dict, of->names, NULL);
	}
	return are;
}

/* --- the digest --- */

static const struct place parts[] = {
        {"", "entry_points distributions unique_everseen"},
        {"Sectioned", "section_pairs read valid"},
        {"EntryPoint", "__init__ _for matches"},
        {"EntryPoints", "select _from_text_for _from_text _parse_groups"},
        {"SelectableGroups", "load _all select"},
        {"Distribution",
         "discover _discover_resolvers _prefer_valid entry_points _normalized_name"},
        {"FastPath", "__init__ joinpath children zip_children search mtime lookup"},
        {"Lookup", "__init__ search"},
        {"Prepared", "__init__ normalize legacy_normalize"},
        {"MetadataPathFinder", "find_distributions _search_paths"},
        {"PathDistribution", "__init__ read_text _normalized_name _name_from_stem _has_metadata"},
        {0},
};

/* Functions that find a distribution by its name, and read name and version. */
static const struct place naming[] = {
        {"", "distribution"},
        {"Distribution", "from_name _prefer_valid metadata name version"},
        {0},
};

/* Add a word to the digest; words are separated by spaces. */
static bool add_word(struct look *look, PyObject *word)
{
	Py_ssize_t length;
	const char *chars = word ? PyUnicode_AsUTF8AndSize(word, &length) : NULL;

	if (!chars)
		return false;
	if (look->begun)
		look->hash = (look->hash ^ ' ') * FNV_PRIME;
	look->begun = true;
	for (Py_ssize_t i = 0; i < length; i++)
		look->hash = (look->hash ^ (unsigned char)chars[i]) * FNV_PRIME;
	return true;
}

static bool add_sorted(struct look *look, PyObject *words)
{
	PyObject *list = words ? hold(look, PySequence_List(words)) : NULL;
	bool done = list && PyList_Sort(list) == 0;

	for (Py_ssize_t i = 0; done && i < PyList_Size(list); i++)
		done = add_word(look, PyList_GetItem(list, i));
	return done;
}

/* The names used by a code object and by the code objects in it. */
static bool collect_names(struct look *look, PyObject *code, PyObject *names)
{
	PyObject *used = get(look, code, "co_names"), *constants = get(look, code, "co_consts");
	bool done = used && constants;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(used); i++)
		done = PySet_Add(names, PyTuple_GetItem(used, i)) == 0 &&
		       PySet_Add(look->used, PyTuple_GetItem(used, i)) == 0;
	for (Py_ssize_t i = 0; done && i < PyTuple_Size(constants); i++)
		if (Py_TYPE(PyTuple_GetItem(constants, i)) == Py_TYPE(code))
			done = collect_names(look, PyTuple_GetItem(constants, i), names);
	return done;
}

/* Add a function, the original of a replaced one, then the functions in its closure. */
static bool add_function(struct look *look, PyObject *replaced)
{
	PyObject *function = original_of(look, replaced);
	PyObject *code = get(look, function, "__code__"), *names = hold(look, PySet_New(NULL)),
	         *closure = get(look, function, "__closure__");
	bool done = code && names && closure &&
	            is_own_function(look, get(look, function, "__name__"), function);

	if (done && !owner_of(look, get(look, function, "__globals__")))
		return add_word(look, get(look, function, "__qualname__"));
	done = done && pin(look->pins, function) && collect_names(look, code, names) &&
	       add_word(look, text(look, "function")) && add_sorted(look, names);
	for (Py_ssize_t i = 0; done && closure != Py_None && i < PyTuple_Size(closure); i++) {
		PyObject *value = get(look, PyTuple_GetItem(closure, i), "cell_contents");

		done = value && (Py_TYPE(value) != &PyFunction_Type || add_function(look, value));
	}
	return done;
}

static bool add_part(struct look *look, PyObject *part)
{
	PyObject *functions[FUNCTIONS_MAX];
	size_t count = functions_of(look, part, functions);
	bool done = true;

	if (!count)
		return is_plain(look, part) && add_word(look, hold(look, PyObject_Repr(part)));
	if (functions[0] != part)
		done = add_word(look, get(look, (PyObject *)Py_TYPE(part), "__name__"));
	for (size_t i = 0; done && i < count; i++)
		done = add_function(look, functions[i]);
	return done;
}

/* The class of that name; the module for "". */
static const struct owner *owner_named(struct look *look, const char *name)
{
	PyObject *kind = *name ? item(look, look->owners[0].copy, text(look, name)) : look->module;

	return owner_of(look, kind);
}

/* A function of the module itself counts in its original version wherever it is now. */
static bool add_parts(struct look *look, const struct place *of)
{
	const struct owner *owner = owner_named(look, of->owner);
	PyObject *name, *each, *part;
	const char *names = of->names;
	bool done = true;

	while (done && (name = next_name(look, &names))) {
		each = *of->owner ? NULL : item(look, look->replaced, name);
		part = each    ? PyTuple_GetItem(each, 2)
		       : owner ? item(look, owner->copy, name)
		               : NULL;
		done = add_word(look, hold(look, PyUnicode_FromFormat("%s.%U", of->owner, name))) &&
		       add_part(look, part ? part : Py_None);
	}
	return done && !PyErr_Occurred();
}

/* Add the names of plain data that the parts use. */
static bool add_data(struct look *look, const struct place *of)
{
	const struct owner *owner = owner_named(look, of->owner);
	PyObject *words = hold(look, PyList_New(0)), *name, *value;
	Py_ssize_t position = 0;
	bool done = words != NULL;

	while (done && owner && PyDict_Next(owner->copy, &position, &name, &value)) {
		if (!is_plain(look, value) || PySet_Contains(look->used, name) != 1)
			continue;
		name = hold(look, PyUnicode_FromFormat("%s.%U", of->owner, name));
		done = name && PyList_Append(words, name) == 0;
	}
	return done && add_sorted(look, words);
}

/* 0: a part is foreign. */
static unsigned long long digest(struct look *look, const struct place *all, bool with_data)
{
	bool done = true;

	look->hash = FNV_BASIS;
	look->begun = false;
	for (const struct place *of = all; done && of->owner; of++)
		done = add_parts(look, of);
	for (const struct place *of = all; done && with_data && of->owner; of++)
		done = add_data(look, of);
	PyErr_Clear();
	return done ? look->hash : 0;
}

/* --- recognise() --- */

static bool begin(struct look *look)
{
	look->held = PyList_New(0);
	if (!look->held)
		return false;
	look->used = hold(look, PySet_New(NULL));
	look->dicts = hold(look, PyList_New(0));
	look->pins = hold(look, PyDict_New());
	return look->used && look->dicts && look->pins;
}

static bool gather(struct look *look)
{
	look->stdlib = hold(look, Py_XNewRef(PySys_GetObject("stdlib_module_names")));
	look->loaded = PyImport_GetModuleDict();
	look->pattern = type_named(look, "re", "Pattern");
	for (size_t i = 0; i < WRAPPINGS; i++)
		look->wrappers[i] = type_named(look, wrappings[i].module, wrappings[i].name);
	look->package = PyModule_Check(look->module) ? get(look, look->module, "__name__") : NULL;
	return look->stdlib && look->package && PyUnicode_Check(look->package) &&
	       gather_owners(look);
}

/* The module first: a replacement of pathlib, for instance, may count accesses. */
static bool is_all_own(struct look *look)
{
	bool is = true;

	for (size_t i = 0; is && i < look->count; i++)
		is = is_owner_own(look, &look->owners[i]);
	return is && are_others_own(look);
}

PyObject *recognise(PyObject *self, PyObject *arguments)
{
	const struct state *state = PyModule_GetState(self);
	struct look look = {.watcher = state->watcher};
	unsigned long long since = last_change(), answering = 0;
	PyObject *made = NULL;

	if (!PyArg_ParseTuple(arguments, "OO!:recognise", &look.module, &PyDict_Type,
	                      &look.replaced))
		return NULL;
	if (begin(&look)) {
		if (gather(&look) && is_all_own(&look))
			answering = digest(&look, parts, true);
		PyErr_Clear(); /* what is foreign may raise anything */
		made = Py_BuildValue("(KKNO)", answering,
		                     answering ? digest(&look, naming, false) : 0,
		                     make_same(look.dicts, look.pins, since),
		                     answering ? look.owners[0].copy : Py_None);
	}
	Py_XDECREF(look.held);
	return made;
}

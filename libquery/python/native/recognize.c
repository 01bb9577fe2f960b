/*
 * recognize.c - which metadata module is this, and is all that makes its answers its own?
 *
 * A digest says what the parts do that make the answers: of the names that each of them uses, so
 * it is the same for all releases that answer alike, and another one where something was
 * added. Whether a program has replaced a part is told by where a function runs: its code was
 * loaded from the module's file, and its globals are the module's namespace. A wrapper may take
 * over the name, the documentation and __wrapped__; the namespace it cannot. What is imported is
 * held against the standard module that it says it comes from; all else must be of an exact type,
 * whose objects run nothing.
 *
 * A namespace is watched (parts.c) before it is looked at: whatever other threads do meanwhile,
 * nothing is taken for what it was that has not been looked at. All objects met are held until the
 * end, in one list: so every pointer here is borrowed, and NULL where something foreign was in the
 * way; recognise() clears the error.
 */
#include <stdint.h>
#include <string.h>

#include "libquery/python/native/native.h"

#define OWNERS_MAX    160 /* modules and classes of a package */
#define TEXTS         256 /* interned, at a time */
#define FUNCTIONS_MAX 3   /* that a property consists of */
#define WRAPPINGS     6   /* kinds of things that functions are wrapped in */
#define PARTIAL       4   /* one of them */
#define FNV_BASIS     0xcbf29ce484222325
#define FNV_PRIME     0x100000001b3

/* A module, or a class in the one that is looked at ("": that itself), and names, by spaces. */
struct place {
	const char *owner, *names;
};

/* A module of the package, or a class in one; @copy: of its namespace. */
struct owner {
	PyObject *object, *dict, *copy;
};

struct look {
	PyObject *module, *originals, *ours; /* see recognise_doc */
	PyObject *held;                      /* a list */
	PyObject *package;                   /* its name */
	PyObject *stdlib, *loaded; /* the names of the standard modules, and sys.modules */
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
	PyObject *used; /* a set of the names that parts use */
	/* What must stay as it is; see make_same(). */
	int watcher;
	PyObject *dicts, *pins;
};

/* --- objects --- */

/* A new reference becomes a borrowed one. */
static PyObject *hold(struct look *look, PyObject *object)
{
	bool done = object && PyList_Append(look->held, object) == 0;

	Py_XDECREF(object);
	return done ? object : NULL;
}

/* Of a literal. */
static PyObject *text(struct look *look, const char *chars)
{
	size_t at = (uintptr_t)chars / sizeof(chars) % TEXTS;

	if (look->texts[at].chars != chars) {
		look->texts[at].text = hold(look, PyUnicode_InternFromString(chars));
		look->texts[at].chars = chars;
	}
	return look->texts[at].text;
}

/* The next of names that spaces separate; NULL after the last. */
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

/* @end: -1 or 1, the beginning or the end. */
static bool has_at_end(struct look *look, PyObject *object, const char *chars, int end)
{
	return object && PyUnicode_Check(object) &&
	       PyUnicode_Tailmatch(object, text(look, chars), 0, PY_SSIZE_T_MAX, end) == 1;
}

/* @words: separated by spaces, with one before and behind. */
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

/* The namespace of a module that is loaded. */
static PyObject *namespace_named(struct look *look, PyObject *name)
{
	PyObject *module = item(look, look->loaded, name);

	return module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
}

/* A type by its name; one that was replaced is nothing's type. */
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

/* Is this the name of the package, or of a module in it? */
static bool is_in_package(const struct look *look, PyObject *name)
{
	Py_ssize_t length = PyUnicode_GetLength(look->package);

	return name && PyUnicode_Check(name) &&
	       PyUnicode_Tailmatch(name, look->package, 0, PY_SSIZE_T_MAX, -1) == 1 &&
	       (PyUnicode_GetLength(name) == length || PyUnicode_ReadChar(name, length) == '.');
}

/* By its object, or its namespace. */
static const struct owner *owner_of(const struct look *look, PyObject *either)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->owners[i].dict == either || look->owners[i].object == either)
			return &look->owners[i];
	return NULL;
}

/* --- functions --- */

/* Kinds of things that functions are wrapped in, and where they keep them. */
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

/* The functions that a value consists of; their number, 0 for other things. */
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

static bool is_own_function(struct look *look, PyObject *key, PyObject *function);

/* The functions that a decorator has wrapped in this one. */
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
 * Was its code loaded from the file of the module that it runs in, or has Python brought it along?
 * That is one of the package, or a standard one that has it under this name, or was written into
 * a class, as those of a named tuple are.
 */
static bool is_own_function(struct look *look, PyObject *key, PyObject *function)
{
	PyObject *globals = get(look, function, "__globals__"), *name, *file, *expected;
	bool is;

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
	if (!is) /* so that it is noticed when it has its own code again */
		pin(look->pins, function);
	return is;
}

/* --- values --- */

/* Of a usual type, whose objects run nothing. */
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

/* A module or a class. */
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

static bool is_ours(const struct look *look, PyObject *value)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(look->ours); i++)
		if (PyTuple_GetItem(look->ours, i) == value)
			return true;
	return false;
}

/* Of Python's or the package's own; @key: the name that it has where it was found. */
static bool is_own(struct look *look, PyObject *key, PyObject *value)
{
	PyObject *functions[FUNCTIONS_MAX], *kind = (PyObject *)Py_TYPE(value);
	size_t count;
	bool is = true;

	if (is_plain(look, value) || is_ours(look, value))
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

/* What Python shows of it is a proxy, which holds nothing else. */
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

/* Also what brings other attributes into a class: its bases, and theirs. */
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

/* The module itself, and the modules and classes of the package that it leads to. */
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

/* In a module of the package: what no look-up of entry points runs. */
static const char unused[] = " entry_points distribution metadata version files requires "
                             "packages_distributions conforms ";

/*
 * In a module, __name__ and the like: facts about it, and notes of whoever imported it, as
 * __dd_origin__ of ddtrace's. No code of the package looks for one; in a class Python does.
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

/* What the disk is read with, and the names of distributions. */
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

/* What a path is made by, joined, shown and read. */
static const char of_a_path[] =
        "__new__ __init__ __getattribute__ __getattr__ __setattr__ __str__ __fspath__ __truediv__ "
        "joinpath with_segments open read_text parent name drive root exists is_dir is_file stat "
        "parser _accessor _drv _flavour _format_parsed_parts _from_parsed_parts _from_parts _init "
        "_load_parts _make_child _opener _parse_args _parse_path _parts _raw_path _raw_paths _root "
        "_str _tail _tail_cached";

/*
 * Those that a namespace has; for a module, all of them. @home: of a class that paths are made by;
 * there a function or a module has any name (3.15 calls __str__ __fspath__, too), and an object of
 * one of its own module's classes may stand.
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

/* Also of what Path() makes here: no question asks for the type itself. */
static bool are_others_own(struct look *look)
{
	PyObject *pathlib = get(look, look->module, "pathlib");
	PyObject *order = get(look, get(look, pathlib, "PosixPath"), "__mro__");
	bool are = order != NULL;

	for (Py_ssize_t i = 0; are && i < PyTuple_Size(order) - 1; i++) { /* but object */
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

/* What finds a distribution by its name, and reads name and version. */
static const struct place naming[] = {
        {"", "distribution"},
        {"Distribution", "from_name _prefer_valid metadata name version"},
        {0},
};

/* With a space before each but the first. */
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

/* The names that a code object uses, and those that are in it. */
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

/* From the outside in. */
static bool add_function(struct look *look, PyObject *function)
{
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

/* The class of that name, or the module for "". */
static const struct owner *owner_named(struct look *look, const char *name)
{
	PyObject *kind = *name ? item(look, look->owners[0].copy, text(look, name)) : look->module;

	return owner_of(look, kind);
}

/* As they are, or as they were before acceleration. */
static bool add_parts(struct look *look, const struct place *of)
{
	const struct owner *owner = owner_named(look, of->owner);
	PyObject *name, *key, *part;
	const char *names = of->names;
	bool done = true;

	while (done && (name = next_name(look, &names))) {
		key = hold(look, Py_BuildValue("(sO)", of->owner, name));
		part = item(look, look->originals, key);
		if (!part && owner)
			part = item(look, owner->copy, name);
		done = add_word(look, hold(look, PyUnicode_FromFormat("%s.%U", of->owner, name))) &&
		       add_part(look, part ? part : Py_None);
	}
	return done && !PyErr_Occurred();
}

/* Of the names that parts use: those that stand for plain data in the module or its classes. */
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

/* 0: a part is not its own. */
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

/* The module's own first: who stands in for pathlib, say, may count what it is asked. */
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

	if (!PyArg_ParseTuple(arguments, "OO!O!:recognise", &look.module, &PyDict_Type,
	                      &look.originals, &PyTuple_Type, &look.ours))
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

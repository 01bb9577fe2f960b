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
 * A namespace is copied once, and what is looked at, and compared from then on (parts.c), is the
 * copy: whatever other threads do meanwhile, nothing is taken for what it was that has not been
 * looked at. All objects met are held until the end, in one list: so every pointer here is
 * borrowed, and NULL where something foreign was in the way; recognise() clears the error.
 */
#include <string.h>

#include "libquery/python/native/native.h"

#define OWNERS_MAX    160 /* modules and classes of a package */
#define FUNCTIONS_MAX 3   /* that a property consists of */
#define WRAPPINGS     6   /* kinds of things that functions are wrapped in */
#define PARTIAL       4   /* one of them */
#define NAMES_MAX     7   /* parts of one class */
#define FNV_BASIS     0xcbf29ce484222325
#define FNV_PRIME     0x100000001b3

/* Of the stable ABI, and not in its headers. */
extern PyTypeObject PyFunction_Type;

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

static const char *const attribute_names[ATTRIBUTES] = {
        [CELL_CONTENTS] = "cell_contents", [CLOSURE] = "__closure__",   [CODE] = "__code__",
        [CONSTANTS] = "co_consts",         [FILE_NAME] = "co_filename", [GLOBALS] = "__globals__",
        [MODULE] = "__module__",           [NAME] = "__name__",         [NAMES] = "co_names",
        [QUALNAME] = "__qualname__",
};

/* A module of the package, or a class in one; @copy: of its namespace, NULL if no look-up uses it.
 */
struct owner {
	PyObject *object, *dict, *copy;
};

struct look {
	PyObject *module, *originals, *ours; /* see recognise_doc */
	PyObject *held;                      /* a list */
	PyObject *stdlib, *loaded; /* the names of the standard modules, and sys.modules */
	PyObject *attributes[ATTRIBUTES], *wrappers[WRAPPINGS], *pattern; /* names, and types */
	struct owner owners[OWNERS_MAX];
	size_t count;
	/* The digest. */
	unsigned long long hash, naming;
	bool begun;
	PyObject *used; /* a set of the names that parts use */
	/* What is compared from now on; lists of what parts.c says. */
	PyObject *namespaces, *places, *pinned;
};

/* --- objects --- */

/* A new reference becomes a borrowed one. */
static PyObject *hold(struct look *look, PyObject *object)
{
	bool done = object && PyList_Append(look->held, object) == 0;

	Py_XDECREF(object);
	return done ? object : NULL;
}

static PyObject *get(struct look *look, PyObject *object, enum attribute attribute)
{
	return hold(look, PyObject_GetAttr(object, look->attributes[attribute]));
}

static PyObject *item(struct look *look, PyObject *dict, PyObject *key)
{
	return key ? hold(look, item_of(dict, key)) : NULL;
}

static PyObject *text(struct look *look, const char *chars)
{
	return hold(look, PyUnicode_InternFromString(chars));
}

static bool is_text(PyObject *object, const char *chars)
{
	return object && PyUnicode_Check(object) &&
	       PyUnicode_CompareWithASCIIString(object, chars) == 0;
}

static bool same_text(PyObject *a, PyObject *b)
{
	return a && b && PyUnicode_Check(a) && PyUnicode_Check(b) && PyUnicode_Compare(a, b) == 0;
}

static bool starts_with(struct look *look, PyObject *object, const char *chars)
{
	return object && PyUnicode_Check(object) &&
	       PyUnicode_Tailmatch(object, text(look, chars), 0, PY_SSIZE_T_MAX, -1) == 1;
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
static bool is_in_package(struct look *look, PyObject *name)
{
	PyObject *package = get(look, look->module, NAME);
	Py_ssize_t length = package ? PyUnicode_GetLength(package) : -1;

	return length >= 0 && name && PyUnicode_Check(name) &&
	       PyUnicode_Tailmatch(name, package, 0, PY_SSIZE_T_MAX, -1) == 1 &&
	       (PyUnicode_GetLength(name) == length || PyUnicode_ReadChar(name, length) == '.');
}

static const struct owner *owner_with(const struct look *look, PyObject *dict)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->owners[i].dict == dict)
			return &look->owners[i];
	return NULL;
}

/* --- data --- */

static bool type_is(struct look *look, PyObject *value, const char *module, const char *name)
{
	PyObject *kind = (PyObject *)Py_TYPE(value);

	return is_text(get(look, kind, NAME), name) && is_text(get(look, kind, MODULE), module);
}

/* Of a usual type, whose objects run nothing. */
static bool is_plain(const struct look *look, PyObject *value)
{
	PyTypeObject *const types[] = {
	        &PyUnicode_Type,
	        &PyBytes_Type,
	        &PyLong_Type,
	        &PyBool_Type,
	        &PyFloat_Type,
	        &PyTuple_Type,
	        &PyList_Type,
	        &PyDict_Type,
	        &PySet_Type,
	        &PyFrozenSet_Type,
	        &PyGetSetDescr_Type,
	        &PyMemberDescr_Type,
	        (PyTypeObject *)look->pattern,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (Py_TYPE(value) == types[i])
			return true;
	return value == Py_None;
}

static bool is_data(struct look *look, PyObject *value)
{
	return is_plain(look, value) || type_is(look, value, "_abc", "_abc_data") ||
	       type_is(look, value, "__future__", "_Feature") ||
	       type_is(look, value, "builtins", "cell") ||
	       type_is(look, value, "operator", "attrgetter") ||
	       type_is(look, value, "_collections", "_tuplegetter") ||
	       type_is(look, value, "collections", "_tuplegetter");
}

/* --- functions --- */

enum home {
	FOREIGN,
	PACKAGE,   /* of a module of the package */
	GENERATED, /* as named tuples are written into a class */
	STANDARD,
};

/* Was its code loaded from the file of the module that it runs in, or has Python brought it along?
 */
static bool is_of_file(struct look *look, PyObject *function, PyObject *namespace)
{
	PyObject *code = get(look, function, CODE);
	PyObject *file = code ? get(look, code, FILE_NAME) : NULL;

	return same_text(file, item(look, namespace, text(look, "__file__"))) ||
	       (!owner_with(look, namespace) && starts_with(look, file, "<frozen "));
}

static enum home home_of(struct look *look, PyObject *function);

/* The functions that a decorator has wrapped in this one. */
static bool are_enclosed_known(struct look *look, PyObject *function)
{
	PyObject *closure = get(look, function, CLOSURE);
	bool are = closure != NULL;

	for (Py_ssize_t i = 0; are && closure != Py_None && i < PyTuple_Size(closure); i++) {
		PyObject *value = get(look, PyTuple_GetItem(closure, i), CELL_CONTENTS);

		are = value &&
		      (Py_TYPE(value) != &PyFunction_Type || home_of(look, value) != FOREIGN);
	}
	return are;
}

static enum home home_of(struct look *look, PyObject *function)
{
	PyObject *globals = get(look, function, GLOBALS), *name;

	if (!globals || !PyDict_Check(globals))
		return FOREIGN;
	if (owner_with(look, globals))
		return is_of_file(look, function, globals) && are_enclosed_known(look, function)
		               ? PACKAGE
		               : FOREIGN;
	name = item(look, globals, text(look, "__name__"));
	if (starts_with(look, name, "namedtuple_"))
		return GENERATED;
	if (!is_standard(look, name) || namespace_named(look, name) != globals ||
	    !is_of_file(look, function, globals))
		return FOREIGN;
	if (is_text(name, "collections") || is_text(name, "typing"))
		return GENERATED;
	return same_text(get(look, function, MODULE), name) ? STANDARD : FOREIGN;
}

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
		PyObject *found =
		        hold(look, PyObject_GetAttrString(value, wrappings[kind].attributes[i]));

		if (found && found != Py_None)
			functions[count++] = found;
	}
	return count;
}

/* A type by its name; one that was replaced is nothing's type. */
static PyObject *type_named(struct look *look, const char *module, const char *name)
{
	PyObject *namespace = namespace_named(look, text(look, module));

	return namespace ? item(look, namespace, text(look, name)) : NULL;
}

/* --- what is imported --- */

/* @key: the name that it has where it was found. */
static bool is_right_module(struct look *look, PyObject *key, PyObject *value)
{
	PyObject *name = get(look, value, NAME);

	return owner_with(look, PyModule_GetDict(value)) ||
	       (same_text(name, key) && item(look, look->loaded, name) == value &&
	        (is_standard(look, name) || is_text(name, "zipp"))); /* importlib_metadata's */
}

static bool is_right_class(struct look *look, PyObject *key, PyObject *value)
{
	PyObject *home = get(look, value, MODULE), *namespace;

	if (!same_text(get(look, value, NAME), key))
		return false;
	if (is_in_package(look, home))
		return true;
	namespace = is_standard(look, home) ? namespace_named(look, home) : NULL;
	return namespace && item(look, namespace, key) == value;
}

/* A function, a class, a module or anything else, of Python's or the package's own. */
static bool is_right(struct look *look, PyObject *key, PyObject *value)
{
	enum home home;
	PyObject *kind;

	if (PyModule_CheckExact(value))
		return is_right_module(look, key, value);
	if (PyType_Check(value) && is_right_class(look, key, value))
		return true;
	if (PyCFunction_CheckExact(value))
		return is_standard(look, get(look, value, MODULE)) &&
		       same_text(get(look, value, NAME), key);
	if (Py_TYPE(value) == &PyFunction_Type) {
		home = home_of(look, value);
		return home == PACKAGE || home == GENERATED ||
		       (home == STANDARD && same_text(get(look, value, NAME), key));
	}
	kind = get(look, (PyObject *)Py_TYPE(value), MODULE);
	return is_any_of(kind, " typing _frozen_importlib _frozen_importlib_external zipimport ") ||
	       (!PyType_Check(value) &&
	        (is_any_of(package_of(look, kind), " lazy_importer zipp ") ||
	         is_data(look, value)));
}

static bool is_ours(const struct look *look, PyObject *value)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(look->ours); i++)
		if (PyTuple_GetItem(look->ours, i) == value)
			return true;
	return false;
}

static bool is_own(struct look *look, PyObject *key, PyObject *value)
{
	PyObject *functions[FUNCTIONS_MAX];
	size_t count;
	bool is = true;

	if (is_plain(look, value) || is_ours(look, value))
		return true;
	count = functions_of(look, value, functions);
	if (!count)
		return is_right(look, key, value);
	if ((PyObject *)Py_TYPE(value) == look->wrappers[PARTIAL])
		key = get(look, functions[0], NAME);
	for (size_t i = 0; is && i < count; i++)
		is = is_right(look, key, functions[i]);
	return is;
}

/* --- the package --- */

/* What Python shows of it is a proxy, which holds nothing else. */
static int take_referent(PyObject *object, void *out)
{
	*(PyObject **)out = object;
	return 0;
}

static PyObject *namespace_of(struct look *look, PyObject *kind)
{
	PyObject *proxy = hold(look, PyObject_GetAttrString(kind, "__dict__")), *found = NULL;
	traverseproc traverse =
	        proxy ? (traverseproc)PyType_GetSlot(Py_TYPE(proxy), Py_tp_traverse) : NULL;

	if (traverse)
		traverse(proxy, take_referent, &found);
	return found && PyDict_Check(found) ? hold(look, Py_NewRef(found)) : NULL;
}

static struct owner *add_owner(struct look *look, PyObject *object, PyObject *dict)
{
	struct owner *owner = &look->owners[look->count];

	if (!dict || look->count == OWNERS_MAX)
		return NULL;
	*owner = (struct owner){object, dict, NULL};
	look->count++;
	return owner;
}

static PyObject *values_of(struct look *look, struct owner *owner)
{
	owner->copy = owner->dict ? hold(look, PyDict_Copy(owner->dict)) : NULL;
	return owner->copy ? hold(look, PyDict_Values(owner->copy)) : NULL;
}

/* With the classes that are defined inside it, and have their names there. */
static bool gather_class(struct look *look, PyObject *kind)
{
	struct owner *owner = add_owner(look, kind, namespace_of(look, kind));
	PyObject *values = owner ? values_of(look, owner) : NULL,
	         *outer = get(look, kind, QUALNAME);
	bool done = values && outer;

	for (Py_ssize_t i = 0; done && i < PyList_Size(values); i++) {
		PyObject *value = PyList_GetItem(values, i), *expected;

		if (Py_TYPE(value) != &PyType_Type)
			continue;
		expected = hold(look, PyUnicode_FromFormat("%U.%U", outer, get(look, value, NAME)));
		if (same_text(get(look, value, QUALNAME), expected))
			done = gather_class(look, value);
	}
	return done;
}

/* The last component of a dotted name. */
static PyObject *last_of(struct look *look, PyObject *name, Py_ssize_t length)
{
	Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, length, -1);

	return hold(look, PyUnicode_Substring(name, dot + 1, length));
}

/* With its classes, and the other modules of the package that it has. */
static bool gather_module(struct look *look, PyObject *module)
{
	PyObject *name = get(look, module, NAME), *values;
	struct owner *owner = add_owner(look, module, PyModule_GetDict(module));
	Py_ssize_t length = name && PyUnicode_Check(name) ? PyUnicode_GetLength(name) : -1;
	bool done = owner && length >= 0;

	if (done && is_any_of(last_of(look, name, length), " _meta py311 py312 "))
		return true; /* no look-up of entry points uses these */
	values = done ? values_of(look, owner) : NULL;
	done = values != NULL;
	for (Py_ssize_t i = 0; done && i < PyList_Size(values); i++) {
		PyObject *value = PyList_GetItem(values, i);

		if (PyModule_CheckExact(value) && is_in_package(look, get(look, value, NAME)) &&
		    !owner_with(look, PyModule_GetDict(value)))
			done = gather_module(look, value);
		else if (PyType_Check(value) && same_text(get(look, value, MODULE), name))
			done = gather_class(look, value);
	}
	return done;
}

/* The copy of the class of that name, or of the module for "". */
static PyObject *place_named(struct look *look, const char *place)
{
	PyObject *kind =
	        *place ? item(look, look->owners[0].copy, text(look, place)) : look->module;

	for (size_t i = 0; kind && i < look->count; i++)
		if (look->owners[i].object == kind)
			return look->owners[i].copy;
	return NULL;
}

/* Of the module itself: what no look-up of entry points runs, or sets. */
static bool is_unused(PyObject *name)
{
	return is_any_of(name, " entry_points distribution metadata version files requires "
	                       "packages_distributions __doc__ __all__ __annotations__ "
	                       "__annotate__ __cached__ __spec__ __loader__ __warningregistry__ ");
}

/*
 * In a module, __name__ and the like: facts about it, and notes of whoever imported it, as
 * __dd_origin__ of ddtrace's. No code of the package looks for one; in a class Python does.
 */
static bool is_note(PyObject *name)
{
	Py_ssize_t length = PyUnicode_Check(name) ? PyUnicode_GetLength(name) : 0;
	const Py_ssize_t underscores[] = {0, 1, length - 2, length - 1};
	bool is = length > 4;

	for (size_t i = 0; is && i < sizeof(underscores) / sizeof(*underscores); i++)
		is = PyUnicode_ReadChar(name, underscores[i]) == '_';
	return is;
}

static bool is_owner_own(struct look *look, const struct owner *owner)
{
	bool is_main = owner->object == look->module, is_module = PyModule_Check(owner->object);
	Py_ssize_t position = 0;
	PyObject *name, *value;

	while (owner->copy && PyDict_Next(owner->copy, &position, &name, &value))
		if (!(is_module && is_note(name)) && !(is_main && is_unused(name)) &&
		    !is_own(look, name, value))
			return false;
	return true;
}

/* --- the digest --- */

/* Where (a class, or "" for the module itself) and what. */
static const struct part {
	const char *place, *names[NAMES_MAX + 1];
} parts[] = {
        {"", {"entry_points", "distributions", "unique_everseen"}},
        {"Sectioned", {"section_pairs", "read", "valid"}},
        {"EntryPoint", {"__init__", "_for", "matches"}},
        {"EntryPoints", {"select", "_from_text_for", "_from_text", "_parse_groups"}},
        {"SelectableGroups", {"load", "_all", "select"}},
        {"Distribution",
         {"discover", "_discover_resolvers", "_prefer_valid", "entry_points", "_normalized_name"}},
        {"FastPath",
         {"__init__", "joinpath", "children", "zip_children", "search", "mtime", "lookup"}},
        {"Lookup", {"__init__", "search"}},
        {"Prepared", {"__init__", "normalize", "legacy_normalize"}},
        {"MetadataPathFinder", {"find_distributions", "_search_paths"}},
        {"PathDistribution",
         {"__init__", "read_text", "_normalized_name", "_name_from_stem", "_has_metadata"}},
};

#define PARTS (sizeof(parts) / sizeof(*parts))

/* What finds a distribution by its name, and reads name and version. */
static const struct part naming[] = {
        {"", {"distribution"}},
        {"Distribution", {"from_name", "_prefer_valid", "metadata", "name", "version"}},
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
	PyObject *used = get(look, code, NAMES), *constants = get(look, code, CONSTANTS);
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
	enum home home = home_of(look, function);
	PyObject *code = get(look, function, CODE), *names = hold(look, PySet_New(NULL)), *closure,
	         *pin;
	bool done;

	if (home == STANDARD)
		return add_word(look, get(look, function, QUALNAME));
	pin = code ? hold(look, PyTuple_Pack(2, function, code)) : NULL;
	done = home == PACKAGE && pin && names && PyList_Append(look->pinned, pin) == 0 &&
	       collect_names(look, code, names) && add_word(look, text(look, "function")) &&
	       add_sorted(look, names);
	closure = get(look, function, CLOSURE);
	for (Py_ssize_t i = 0; done && closure != Py_None && i < PyTuple_Size(closure); i++) {
		PyObject *value = get(look, PyTuple_GetItem(closure, i), CELL_CONTENTS);

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
		return is_data(look, part) && add_word(look, hold(look, PyObject_Repr(part)));
	if (functions[0] != part)
		done = add_word(look, get(look, (PyObject *)Py_TYPE(part), NAME));
	for (size_t i = 0; done && i < count; i++)
		done = add_function(look, functions[i]);
	return done;
}

/* As they are, or as they were before acceleration. */
static bool add_parts(struct look *look, const struct part *of)
{
	PyObject *copy = place_named(look, of->place);
	bool done = true;

	for (const char *const *name = of->names; done && *name; name++) {
		PyObject *key = hold(look, Py_BuildValue("(ss)", of->place, *name));
		PyObject *part = item(look, look->originals, key);

		if (!part && copy)
			part = item(look, copy, text(look, *name));
		done = add_word(look,
		                hold(look, PyUnicode_FromFormat("%s.%s", of->place, *name))) &&
		       add_part(look, part ? part : Py_None);
	}
	return done;
}

/* Of the names that parts use: those that stand for plain data in the module or its classes. */
static bool add_data(struct look *look, const struct part *of)
{
	PyObject *copy = place_named(look, of->place), *words = hold(look, PyList_New(0)), *name,
	         *value;
	Py_ssize_t position = 0;
	bool done = words != NULL;

	while (done && copy && PyDict_Next(copy, &position, &name, &value)) {
		if (!is_plain(look, value) || PySet_Contains(look->used, name) != 1)
			continue;
		name = hold(look, PyUnicode_FromFormat("%s.%U", of->place, name));
		done = name && PyList_Append(words, name) == 0;
	}
	return done && add_sorted(look, words);
}

static bool digest(struct look *look)
{
	bool done = true;

	look->hash = FNV_BASIS;
	for (size_t i = 0; done && i < PARTS; i++)
		done = add_parts(look, &parts[i]);
	for (size_t i = 0; done && i < PARTS; i++)
		done = add_data(look, &parts[i]);
	return done;
}

/*
 * Into look->naming; 0: a part is not its own. Then the look is as it was before, since nothing
 * rests upon what these parts use.
 */
static void digest_naming(struct look *look)
{
	unsigned long long hash = look->hash;
	PyObject *used = look->used;
	size_t count = look->count;
	bool done;

	look->used = hold(look, PySet_New(used));
	done = look->used != NULL;
	look->hash = FNV_BASIS;
	look->begun = false;
	for (size_t i = 0; done && i < sizeof(naming) / sizeof(*naming); i++)
		done = add_parts(look, &naming[i]);
	look->naming = done ? look->hash : 0;
	look->hash = hash;
	if (!done) {
		look->used = used;
		look->count = count;
	}
	PyErr_Clear();
}

/* --- what is compared --- */

/* What a path is made by, joined, shown and read. */
static const char of_a_path[] =
        " __new__ __init__ __getattribute__ __getattr__ __setattr__ __str__ __fspath__ __truediv__ "
        "joinpath with_segments open read_text parent name drive root exists is_dir is_file stat "
        "parser _accessor _drv _flavour _format_parsed_parts _from_parsed_parts _from_parts _init "
        "_load_parts _make_child _opener _parse_args _parse_path _parts _raw_path _raw_paths _root "
        "_str _tail _tail_cached ";

/* Of other modules: what the disk is read with, and the names of distributions. */
static const struct outside {
	const char *module, *names[3];
} outside[] = {
        {"os", {"listdir", "stat", "fspath"}},
        {"posixpath", {"basename", "splitext"}},
        {"io", {"open"}},
        {"re", {"sub", "compile"}},
        {"itertools", {"chain", "filterfalse"}},
        {"operator", {"attrgetter", "eq"}},
        {"functools", {"partial"}},
        {"contextlib", {"suppress"}},
        {"zipfile", {"Path", "ZipFile"}},
        {"email", {"message_from_string"}},
        {"inspect", {"getmro"}},
        {"pathlib", {"Path"}},
        {"sys", {"intern"}},
};

/* All of a namespace; an Ellipsis for values that do not matter. */
static bool add_namespace(struct look *look, const struct owner *owner,
                          bool (*matters)(const struct look *look, const struct owner *owner,
                                          PyObject *name))
{
	PyObject *flat = hold(look, PyTuple_New(2 * PyDict_Size(owner->copy))), *name, *value,
	         *pair;
	Py_ssize_t position = 0, at = 0;

	while (flat && PyDict_Next(owner->copy, &position, &name, &value)) {
		PyTuple_SetItem(flat, at++, Py_NewRef(name));
		PyTuple_SetItem(flat, at++,
		                Py_NewRef(matters(look, owner, name) ? value : Py_Ellipsis));
	}
	pair = flat ? hold(look, PyTuple_Pack(2, owner->dict, flat)) : NULL;
	return pair && PyList_Append(look->namespaces, pair) == 0;
}

static bool matters_here(const struct look *look, const struct owner *owner, PyObject *name)
{
	return owner->object != look->module || !is_unused(name);
}

/* By which all comes into the order in which attributes are looked for. */
static bool pin_order(struct look *look, PyObject *kind)
{
	PyObject *name = text(look, "__mro__");
	PyObject *order = name ? hold(look, PyObject_GetAttr(kind, name)) : NULL;
	PyObject *pin = order ? hold(look, PyTuple_Pack(2, kind, order)) : NULL;

	return pin && PyList_Append(look->pinned, pin) == 0;
}

static bool matters_to_paths(const struct look *look, const struct owner *owner, PyObject *name)
{
	(void)look, (void)owner;
	return is_any_of(name, of_a_path);
}

/* A class that paths are made by: there a function or a module has any name (3.15 calls __str__
 * __fspath__, too), and an object of one of its own module's classes may stand. */
static bool add_path_class(struct look *look, PyObject *kind)
{
	struct owner owner = {.object = kind, .dict = namespace_of(look, kind)};
	PyObject *home = get(look, kind, MODULE), *name, *value;
	bool done = values_of(look, &owner) != NULL;
	Py_ssize_t position = 0;

	while (done && PyDict_Next(owner.copy, &position, &name, &value))
		done = !matters_to_paths(look, &owner, name) ||
		       is_own(look,
		              PyModule_Check(value) || Py_TYPE(value) == &PyFunction_Type
		                      ? get(look, value, NAME)
		                      : name,
		              value) ||
		       same_text(get(look, (PyObject *)Py_TYPE(value), MODULE), home);
	return done && add_namespace(look, &owner, matters_to_paths);
}

/* What Path() makes here: no question asks for the type itself. */
static bool add_path(struct look *look)
{
	PyObject *pathlib = hold(look, PyObject_GetAttrString(look->module, "pathlib"));
	PyObject *type = pathlib ? hold(look, PyObject_GetAttrString(pathlib, "PosixPath")) : NULL;
	PyObject *order = type ? hold(look, PyObject_GetAttrString(type, "__mro__")) : NULL;
	bool done = order != NULL;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(order) - 1; i++) /* but object */
		done = add_path_class(look, PyTuple_GetItem(order, i));
	return done;
}

static bool add_outside(struct look *look, const struct outside *of)
{
	PyObject *module = item(look, look->loaded, text(look, of->module));
	PyObject *dict = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
	bool done = dict || !module;

	for (size_t i = 0; done && dict && i < 3 && of->names[i]; i++) {
		PyObject *key = text(look, of->names[i]), *value = item(look, dict, key);

		done = value && is_right(look, key, value) &&
		       PyList_Append(look->places, hold(look, PyTuple_Pack(3, dict, key, value))) ==
		               0;
	}
	return done;
}

static bool gather_compared(struct look *look)
{
	bool done = add_path(look);

	for (size_t i = 0; done && i < look->count; i++) {
		const struct owner *owner = &look->owners[i];

		if (owner->copy)
			done = add_namespace(look, owner, matters_here) &&
			       (PyModule_Check(owner->object) || pin_order(look, owner->object));
	}
	for (size_t i = 0; done && i < sizeof(outside) / sizeof(*outside); i++)
		done = add_outside(look, &outside[i]);
	return done;
}

/* --- recognise() --- */

static bool begin(struct look *look)
{
	look->held = PyList_New(0);
	for (size_t i = 0; look->held && i < ATTRIBUTES; i++) {
		look->attributes[i] = text(look, attribute_names[i]);
		if (!look->attributes[i])
			return false;
	}
	if (!look->held)
		return false;
	look->used = hold(look, PySet_New(NULL));
	look->namespaces = hold(look, PyList_New(0));
	look->places = hold(look, PyList_New(0));
	look->pinned = hold(look, PyList_New(0));
	look->stdlib = hold(look, Py_XNewRef(PySys_GetObject("stdlib_module_names")));
	look->loaded = PyImport_GetModuleDict();
	look->pattern = type_named(look, "re", "Pattern");
	for (size_t i = 0; i < WRAPPINGS; i++)
		look->wrappers[i] = type_named(look, wrappings[i].module, wrappings[i].name);
	return look->used && look->namespaces && look->places && look->pinned && look->stdlib &&
	       PyModule_Check(look->module) && gather_module(look, look->module);
}

static PyObject *finish(struct look *look, const struct state *state)
{
	PyObject *compared = hold(look, Py_BuildValue("(NNN)", PyList_AsTuple(look->namespaces),
	                                              PyList_AsTuple(look->places),
	                                              PyList_AsTuple(look->pinned)));

	return compared ? Py_BuildValue("(KKNO)", look->hash, look->naming,
	                                make_same(state->watcher, compared), look->owners[0].copy)
	                : NULL;
}

PyObject *recognise(PyObject *self, PyObject *arguments)
{
	struct look look = {0};
	PyObject *made = NULL;
	bool done;

	if (!PyArg_ParseTuple(arguments, "OO!O!:recognise", &look.module, &PyDict_Type,
	                      &look.originals, &PyTuple_Type, &look.ours))
		return NULL;
	done = begin(&look) && digest(&look);
	for (size_t i = 0; done && i < look.count; i++) {
		done = is_owner_own(&look, &look.owners[i]);
		PyErr_Clear();
	}
	if (done)
		digest_naming(&look);
	if (done && gather_compared(&look))
		made = finish(&look, PyModule_GetState(self));
	Py_XDECREF(look.held);
	if (made || (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)))
		return made;
	PyErr_Clear(); /* what is foreign may raise anything */
	Py_RETURN_NONE;
}

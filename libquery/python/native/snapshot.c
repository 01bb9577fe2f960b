/*
 * snapshot.c - all that an answer of a metadata module rests upon, as it is now; see own.h.
 *
 * The namespaces of the package, and of the classes that a path is made by; of other
 * modules, what the disk is read with; inside functions and classes, what can be
 * exchanged there.
 */
#include "libquery/python/native/own.h"

/* The classes that read one entry_points.txt: all that the property of a distribution rests upon.
 */
static const char *const reading[] = {
        "Sectioned",        "Pair",        "DeprecatedTuple", "EntryPoint",
        "DeprecatedList",   "EntryPoints", "Distribution",    "DeprecatedNonAbstract",
        "PathDistribution", NULL,
};

/* Of other modules: what the disk is read with, and the names of distributions. */
static const char *const outside[][2] = {
        {"os", "listdir"},
        {"os", "stat"},
        {"os", "fspath"},
        {"posixpath", "basename"},
        {"posixpath", "splitext"},
        {"io", "open"},
        {"re", "sub"},
        {"re", "compile"},
        {"itertools", "chain"},
        {"itertools", "filterfalse"},
        {"operator", "attrgetter"},
        {"operator", "eq"},
        {"functools", "partial"},
        {"contextlib", "suppress"},
        {"zipfile", "Path"},
        {"zipfile", "ZipFile"},
        {"email", "message_from_string"},
        {"inspect", "getmro"},
        {"pathlib", "Path"},
        {"sys", "intern"},
};

/* What a path is made by, joined, shown and read. */
static const char *const of_a_path[] = {
        "__new__",
        "__init__",
        "__getattribute__",
        "__getattr__",
        "__setattr__",
        "__str__",
        "__fspath__",
        "__truediv__",
        "joinpath",
        "with_segments",
        "open",
        "read_text",
        "parent",
        "name",
        "drive",
        "root",
        "exists",
        "is_dir",
        "is_file",
        "stat",
        "parser",
        "_accessor",
        "_drv",
        "_flavour",
        "_format_parsed_parts",
        "_from_parsed_parts",
        "_from_parts",
        "_init",
        "_load_parts",
        "_make_child",
        "_opener",
        "_parse_args",
        "_parse_path",
        "_parts",
        "_raw_path",
        "_raw_paths",
        "_root",
        "_str",
        "_tail",
        "_tail_cached",
        NULL,
};

/* --- namespaces --- */

/* Each item of what is compared is put into both lists, or into the first alone. */
struct snapshot {
	const struct own *own;
	PyObject *reading;              /* a set of names */
	PyObject *all, *some;           /* lists of namespaces */
	PyObject *inside, *some_inside; /* lists of attributes */
};

static bool append(PyObject *list, PyObject *also, PyObject *item)
{
	bool done =
	        item && PyList_Append(list, item) == 0 && (!also || PyList_Append(also, item) == 0);

	Py_XDECREF(item);
	return done;
}

/* (key, value, ...) into an empty tuple for them; an Ellipsis for values that do not matter. */
static void fill_items(PyObject *flat, PyObject *copy, PyObject *names, bool are_used)
{
	Py_ssize_t position = 0, at = 0;
	PyObject *name, *value;

	while (PyDict_Next(copy, &position, &name, &value)) {
		bool named = names && PySet_Contains(names, name) == 1;

		PyTuple_SetItem(flat, at++, Py_NewRef(name));
		PyTuple_SetItem(flat, at++, Py_NewRef(named == are_used ? value : Py_Ellipsis));
	}
}

/*
 * (namespace, the items of its copy); @names: those whose values matter, or, if not @are_used,
 * do not.
 */
static PyObject *namespace_items(PyObject *namespace, PyObject *copy, PyObject *names,
                                 bool are_used)
{
	PyObject *flat = PyTuple_New(2 * PyDict_Size(copy)), *made = NULL;

	if (flat) {
		fill_items(flat, copy, names, are_used);
		made = PyTuple_Pack(2, namespace, flat);
	}
	Py_XDECREF(flat);
	return made;
}

static bool add_modules(struct snapshot *snapshot)
{
	const struct own *own = snapshot->own;
	bool done = true;

	for (Py_ssize_t i = 0; done && i < PyList_Size(own->modules); i++) {
		PyObject *owner = PyList_GetItem(own->modules, i);
		bool is_first = PyTuple_GetItem(owner, 0) == own->module;

		done = append(snapshot->all, is_first ? snapshot->some : NULL,
		              namespace_items(PyTuple_GetItem(owner, 1), PyTuple_GetItem(owner, 2),
		                              is_first ? own->unused : NULL, false));
	}
	return done;
}

/* What can be exchanged inside a class: (class, name, value). */
static PyObject *order_of(PyObject *kind)
{
	PyObject *key = PyUnicode_InternFromString("__mro__");
	PyObject *value = key ? PyObject_GetAttr(kind, key) : NULL;
	PyObject *made = value ? PyTuple_Pack(3, kind, key, value) : NULL;

	Py_XDECREF(value);
	Py_XDECREF(key);
	return made;
}

static bool add_class(struct snapshot *snapshot, PyObject *owner)
{
	PyObject *kind = PyTuple_GetItem(owner, 0);
	PyObject *name = get(snapshot->own, kind, NAME);
	bool is_reading = name && PySet_Contains(snapshot->reading, name) == 1;

	Py_XDECREF(name);
	return name &&
	       append(snapshot->all, is_reading ? snapshot->some : NULL,
	              namespace_items(PyTuple_GetItem(owner, 1), PyTuple_GetItem(owner, 2), NULL,
	                              false)) &&
	       append(snapshot->inside, is_reading ? snapshot->some_inside : NULL, order_of(kind));
}

static bool add_classes(struct snapshot *snapshot)
{
	PyObject *classes = snapshot->own->classes;
	bool done = true;

	for (Py_ssize_t i = 0; done && i < PyList_Size(classes); i++)
		done = add_class(snapshot, PyList_GetItem(classes, i));
	return done;
}

static bool add_functions(struct snapshot *snapshot)
{
	PyObject *functions = snapshot->own->functions;
	bool done = true;

	for (Py_ssize_t i = 0; done && i < PyList_Size(functions); i++) {
		PyObject *item = PyList_GetItem(functions, i);
		bool is_reading = PySet_Contains(snapshot->reading, PyTuple_GetItem(item, 2)) == 1;

		done = append(snapshot->inside, is_reading ? snapshot->some_inside : NULL,
		              PyTuple_Pack(3, PyTuple_GetItem(item, 0),
		                           snapshot->own->attributes[CODE],
		                           PyTuple_GetItem(item, 1)));
	}
	return done;
}

/* --- paths --- */

static bool is_attribute_getter(const struct own *own, PyObject *function)
{
	PyObject *kind = (PyObject *)Py_TYPE(function);

	return attribute_is(own, kind, NAME, "attrgetter") &&
	       attribute_is(own, kind, MODULE, "operator");
}

static bool is_of_same_module(const struct own *own, PyObject *kind, PyObject *module)
{
	PyObject *home = get(own, kind, MODULE);
	bool is = home && PyUnicode_Check(home) && PyUnicode_Compare(home, module) == 0;

	Py_XDECREF(home);
	return is;
}

/* @module: the name of the one that the class is from. */
static bool is_paths_own(const struct own *own, PyObject *module, PyObject *value)
{
	PyObject *functions[FUNCTIONS_MAX];
	size_t count = functions_of(own, value, functions);
	bool is = true;

	if (!count)
		return is_data(own, value) || is_standard_module(own, value) ||
		       is_of_same_module(own, (PyObject *)Py_TYPE(value), module);
	for (size_t i = 0; is && i < count; i++)
		is = is_attribute_getter(own, functions[i]) || is_loaded(own, functions[i], module);
	functions_free(functions, count);
	return is;
}

/* @items: (key, value, ...); an Ellipsis is no part of a path. */
static bool check_path(const struct own *own, PyObject *kind, PyObject *items)
{
	PyObject *module = get(own, kind, MODULE);
	bool is = module != NULL;

	for (Py_ssize_t i = 1; is && i < PyTuple_Size(items); i += 2) {
		PyObject *value = PyTuple_GetItem(items, i);

		is = value == Py_Ellipsis || is_paths_own(own, module, value);
	}
	Py_XDECREF(module);
	return is;
}

static bool add_path_class(struct snapshot *snapshot, PyObject *kind, PyObject *names)
{
	PyObject *namespace = namespace_of(kind);
	PyObject *copy = namespace ? PyDict_Copy(namespace) : NULL;
	PyObject *pair = copy ? namespace_items(namespace, copy, names, true) : NULL;
	bool done = pair && check_path(snapshot->own, kind, PyTuple_GetItem(pair, 1)) &&
	            append(snapshot->all, snapshot->some, Py_NewRef(pair));

	Py_XDECREF(pair);
	Py_XDECREF(copy);
	Py_XDECREF(namespace);
	return done;
}

/* What Path() makes here: no question asks for the type itself. */
static PyObject *path_type(const struct own *own)
{
	PyObject *pathlib = PyObject_GetAttrString(own->module, "pathlib");
	PyObject *found = pathlib ? PyObject_GetAttrString(pathlib, "PosixPath") : NULL;

	Py_XDECREF(pathlib);
	return found;
}

/* Its classes but object. */
static bool add_path(struct snapshot *snapshot)
{
	PyObject *type = path_type(snapshot->own), *names = set_of_names(of_a_path);
	PyObject *kinds = type && names ? PyObject_GetAttrString(type, "__mro__") : NULL;
	bool done = kinds != NULL;

	for (Py_ssize_t i = 0; done && i < PyTuple_Size(kinds) - 1; i++)
		done = add_path_class(snapshot, PyTuple_GetItem(kinds, i), names);
	Py_XDECREF(kinds);
	Py_XDECREF(names);
	Py_XDECREF(type);
	return done;
}

/* --- other places --- */

static bool add_outside(const struct own *own, PyObject *list, const char *const place[2])
{
	PyObject *module = item_named(own->loaded, place[0]), *dict, *name, *value;
	bool done;

	if (!module)
		return true;
	dict = PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
	name = dict ? PyUnicode_InternFromString(place[1]) : NULL;
	value = name ? item_of(dict, name) : NULL;
	done = value && is_imported(own, name, value) &&
	       append(list, NULL, PyTuple_Pack(3, dict, name, value));
	Py_XDECREF(value);
	Py_XDECREF(name);
	Py_DECREF(module);
	return done;
}

static PyObject *outside_parts(const struct own *own)
{
	PyObject *list = PyList_New(0), *made;
	bool done = list != NULL;

	for (size_t i = 0; done && i < sizeof(outside) / sizeof(*outside); i++)
		done = add_outside(own, list, outside[i]);
	made = done ? PyList_AsTuple(list) : NULL;
	Py_XDECREF(list);
	return made;
}

/* --- all of it --- */

/* Parts of two lists, and of what all have in common. */
static PyObject *parts_of(const struct state *state, PyObject *namespaces, PyObject *others,
                          PyObject *attributes)
{
	PyObject *first = PyList_AsTuple(namespaces), *last = PyList_AsTuple(attributes);
	PyObject *compared = first && last ? PyTuple_Pack(3, first, others, last) : NULL;
	PyObject *made = compared ? make_parts(state, compared) : NULL;

	Py_XDECREF(compared);
	Py_XDECREF(last);
	Py_XDECREF(first);
	return made;
}

static PyObject *finish(const struct snapshot *snapshot, const struct state *state,
                        PyObject *others)
{
	PyObject *all = parts_of(state, snapshot->all, others, snapshot->inside);
	PyObject *some = parts_of(state, snapshot->some, others, snapshot->some_inside);
	PyObject *made = all && some ? PyTuple_Pack(2, all, some) : NULL;

	Py_XDECREF(some);
	Py_XDECREF(all);
	return made;
}

PyObject *take_snapshot(const struct own *own, const struct state *state)
{
	struct snapshot snapshot = {
	        .own = own,
	        .reading = set_of_names(reading),
	        .all = PyList_New(0),
	        .some = PyList_New(0),
	        .inside = PyList_New(0),
	        .some_inside = PyList_New(0),
	};
	PyObject *others = outside_parts(own), *made = NULL;

	if (others && snapshot.reading && snapshot.all && snapshot.some && snapshot.inside &&
	    snapshot.some_inside && add_modules(&snapshot) && add_classes(&snapshot) &&
	    add_path(&snapshot) && add_functions(&snapshot))
		made = finish(&snapshot, state, others);
	Py_XDECREF(others);
	Py_XDECREF(snapshot.some_inside);
	Py_XDECREF(snapshot.inside);
	Py_XDECREF(snapshot.some);
	Py_XDECREF(snapshot.all);
	Py_XDECREF(snapshot.reading);
	return made;
}

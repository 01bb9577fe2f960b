/*
 * own.c - detects foreign code in a metadata module, and in what it uses of other modules.
 *
 * A function is the module's own if its code was loaded from the module's file and its globals are
 * the module's namespace: a wrapper can copy the name, the documentation and __wrapped__, but not
 * the namespace. Imported objects are compared with the attribute of the standard module they claim
 * to come from; all other objects must have exactly one of a few types that run no code.
 */
#include "libquery/python/native/look.h"

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

bool is_own_function(struct look *look, PyObject *key, PyObject *function)
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

bool is_plain(const struct look *look, PyObject *value)
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

/* The module first: a replacement of pathlib, for instance, may count accesses. */
bool is_all_own(struct look *look)
{
	bool is = true;

	for (size_t i = 0; is && i < look->count; i++)
		is = is_owner_own(look, &look->owners[i]);
	return is && are_others_own(look);
}

/*
 * own.c - see own.h.
 */
#include "libquery/python/native/own.h"

/* --- names --- */

static const char *const attribute_names[ATTRIBUTES] = {
        [CELL_CONTENTS] = "cell_contents", [CLOSURE] = "__closure__",   [CODE] = "__code__",
        [CONSTANTS] = "co_consts",         [FILE_NAME] = "co_filename", [GLOBALS] = "__globals__",
        [MODULE] = "__module__",           [NAME] = "__name__",         [NAMES] = "co_names",
        [QUALNAME] = "__qualname__",
};

PyObject *get(const struct own *own, PyObject *object, enum attribute attribute)
{
	return PyObject_GetAttr(object, own->attributes[attribute]);
}

static bool text_is(PyObject *object, const char *text)
{
	return object && PyUnicode_Check(object) &&
	       PyUnicode_CompareWithASCIIString(object, text) == 0;
}

bool attribute_is(const struct own *own, PyObject *object, enum attribute attribute,
                  const char *text)
{
	PyObject *value = get(own, object, attribute);
	bool is = text_is(value, text);

	Py_XDECREF(value);
	return is;
}

static bool same_text(PyObject *a, PyObject *b)
{
	return a && b && PyUnicode_Check(a) && PyUnicode_Check(b) && PyUnicode_Compare(a, b) == 0;
}

static bool attribute_equals(const struct own *own, PyObject *object, enum attribute attribute,
                             PyObject *text)
{
	PyObject *value = get(own, object, attribute);
	bool is = same_text(value, text);

	Py_XDECREF(value);
	return is;
}

PyObject *set_of_names(const char *const *names)
{
	PyObject *set = PySet_New(NULL);

	for (; set && *names; names++) {
		PyObject *name = PyUnicode_InternFromString(*names);

		if (!name || PySet_Add(set, name) < 0)
			Py_CLEAR(set);
		Py_XDECREF(name);
	}
	return set;
}

static bool is_any_of(PyObject *name, const char *const *names)
{
	while (*names)
		if (text_is(name, *names++))
			return true;
	return false;
}

static bool type_is(const struct own *own, PyObject *value, const char *module, const char *name)
{
	PyObject *kind = (PyObject *)Py_TYPE(value);

	return attribute_is(own, kind, NAME, name) && attribute_is(own, kind, MODULE, module);
}

/* The first component of a dotted name. */
static PyObject *package_of(PyObject *name)
{
	Py_ssize_t length = PyUnicode_GetLength(name);
	Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, length, 1);

	return PyUnicode_Substring(name, 0, dot < 0 ? length : dot);
}

static bool is_standard(const struct own *own, PyObject *name)
{
	PyObject *package = name && PyUnicode_CheckExact(name) ? package_of(name) : NULL;
	bool is = package && PySequence_Contains(own->stdlib, package) == 1;

	Py_XDECREF(package);
	return is;
}

static bool is_package_any(PyObject *name, const char *const *packages)
{
	PyObject *package = name && PyUnicode_Check(name) ? package_of(name) : NULL;
	bool is = package && is_any_of(package, packages);

	Py_XDECREF(package);
	return is;
}

/* --- data --- */

bool is_plain_data(const struct own *own, PyObject *value)
{
	return value == Py_None || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) ||
	       PyLong_CheckExact(value) || PyBool_Check(value) || PyFloat_CheckExact(value) ||
	       PyTuple_CheckExact(value) || PyList_CheckExact(value) || PyDict_CheckExact(value) ||
	       Py_TYPE(value) == &PySet_Type || Py_TYPE(value) == &PyFrozenSet_Type ||
	       Py_TYPE(value) == &PyGetSetDescr_Type || Py_TYPE(value) == &PyMemberDescr_Type ||
	       Py_TYPE(value) == own->pattern_type;
}

bool is_data(const struct own *own, PyObject *value)
{
	return is_plain_data(own, value) || type_is(own, value, "_abc", "_abc_data") ||
	       type_is(own, value, "__future__", "_Feature") ||
	       type_is(own, value, "builtins", "cell") ||
	       type_is(own, value, "_collections", "_tuplegetter") ||
	       type_is(own, value, "collections", "_tuplegetter");
}

/* --- functions --- */

static bool is_function(const struct own *own, PyObject *value)
{
	return Py_TYPE(value) == own->function_type;
}

/* Of a function: the file that its code was loaded from, a new reference. */
static PyObject *file_of(const struct own *own, PyObject *function)
{
	PyObject *code = get(own, function, CODE);
	PyObject *file = code ? get(own, code, FILE_NAME) : NULL;

	Py_XDECREF(code);
	return file;
}

static bool runs_in(const struct own *own, PyObject *function, PyObject *namespace)
{
	PyObject *globals = get(own, function, GLOBALS);

	Py_XDECREF(globals); /* the function holds it */
	return globals && globals == namespace;
}

static bool is_frozen(PyObject *file)
{
	PyObject *prefix = PyUnicode_FromString("<frozen ");
	bool is = prefix && PyUnicode_Tailmatch(file, prefix, 0, PY_SSIZE_T_MAX, -1) == 1;

	Py_XDECREF(prefix);
	return is;
}

/* The one of the module with that namespace, or one that Python has brought along? */
static bool is_of_file(const struct own *own, PyObject *function, PyObject *namespace)
{
	PyObject *file = file_of(own, function), *expected = item_named(namespace, "__file__");
	bool is = file && (same_text(file, expected) || is_frozen(file));

	Py_XDECREF(expected);
	Py_XDECREF(file);
	return is;
}

bool is_loaded(const struct own *own, PyObject *function, PyObject *name)
{
	PyObject *home = item_of(own->loaded, name);
	PyObject *namespace = home && PyModule_Check(home) ? PyModule_GetDict(home) : NULL;
	bool is = namespace && is_function(own, function) && runs_in(own, function, namespace) &&
	          is_of_file(own, function, namespace);

	Py_XDECREF(home);
	return is;
}

bool is_standard_function(const struct own *own, PyObject *function)
{
	PyObject *name = get(own, function, MODULE);
	bool is = text_is(name, "functools") && is_loaded(own, function, name);

	Py_XDECREF(name);
	return is;
}

static bool is_own_or_standard(struct own *own, PyObject *function, void *unused)
{
	(void)unused;
	return is_own_function(own, function) || is_standard_function(own, function);
}

bool is_own_function(const struct own *own, PyObject *function)
{
	PyObject *globals, *address, *file, *home = NULL;
	bool is;

	if (!is_function(own, function))
		return false;
	globals = get(own, function, GLOBALS);
	address = globals ? PyLong_FromVoidPtr(globals) : NULL;
	if (address)
		home = PyDict_GetItemWithError(own->files, address);
	file = home ? file_of(own, function) : NULL;
	is = same_text(file, home);
	Py_XDECREF(file);
	Py_XDECREF(address);
	Py_XDECREF(globals);
	return is && each_enclosed(own, function, is_own_or_standard, NULL);
}

static bool call_enclosed(const struct own *own, PyObject *cell,
                          bool (*call)(struct own *own, PyObject *function, void *payload),
                          void *payload)
{
	PyObject *value = get(own, cell, CELL_CONTENTS);
	bool go_on = value && (!is_function(own, value) || call((struct own *)own, value, payload));

	Py_XDECREF(value);
	return go_on;
}

bool each_enclosed(const struct own *own, PyObject *function,
                   bool (*call)(struct own *own, PyObject *function, void *payload), void *payload)
{
	PyObject *closure = get(own, function, CLOSURE);
	bool go_on = closure != NULL;

	for (Py_ssize_t i = 0; go_on && closure != Py_None && i < PyTuple_Size(closure); i++)
		go_on = call_enclosed(own, PyTuple_GetItem(closure, i), call, payload);
	Py_XDECREF(closure);
	return go_on;
}

/* Kinds of things that functions are wrapped in, and where they keep them. */
static const struct wrapping {
	const char *module, *name;
	const char *attributes[FUNCTIONS_MAX + 1];
} wrappings[WRAPPINGS] = {
        {"builtins", "staticmethod", {"__func__"}},
        {"builtins", "classmethod", {"__func__"}},
        {"builtins", "property", {"fget", "fset", "fdel"}},
        {"functools", "_lru_cache_wrapper", {"__wrapped__"}},
        {"functools", "partial", {"func"}},
        {"functools", "cached_property", {"func"}},
};

static size_t functions_in(PyObject *value, const struct wrapping *wrapping,
                           PyObject *functions[FUNCTIONS_MAX])
{
	size_t count = 0;

	for (const char *const *name = wrapping->attributes; *name; name++) {
		PyObject *found = PyObject_GetAttrString(value, *name);

		if (found && found != Py_None)
			functions[count++] = found;
		else
			Py_XDECREF(found);
	}
	return count;
}

size_t functions_of(const struct own *own, PyObject *value, PyObject *functions[FUNCTIONS_MAX])
{
	if (is_function(own, value)) {
		functions[0] = Py_NewRef(value);
		return 1;
	}
	for (size_t i = 0; i < WRAPPINGS; i++)
		if (Py_TYPE(value) == own->wrappers[i])
			return functions_in(value, &wrappings[i], functions);
	return 0;
}

void functions_free(PyObject *functions[FUNCTIONS_MAX], size_t count)
{
	while (count > 0)
		Py_DECREF(functions[--count]);
}

/* --- what is imported --- */

/* The value is the module that sys.modules has under its own name. */
static bool is_in_modules(const struct own *own, PyObject *value, PyObject *name)
{
	return name && PyUnicode_Check(name) && PyDict_GetItemWithError(own->loaded, name) == value;
}

bool is_standard_module(const struct own *own, PyObject *value)
{
	PyObject *name = PyModule_CheckExact(value) ? get(own, value, NAME) : NULL;
	bool is = is_standard(own, name) && is_in_modules(own, value, name);

	Py_XDECREF(name);
	return is;
}

/* importlib_metadata needs zipp. */
static bool is_imported_module(const struct own *own, PyObject *name, PyObject *value)
{
	return attribute_equals(own, value, NAME, name) &&
	       (is_standard_module(own, value) ||
	        (text_is(name, "zipp") && is_in_modules(own, value, name)));
}

static bool is_of_module(const struct own *own, PyObject *home, PyObject *name, PyObject *value)
{
	PyObject *module;
	bool is;

	if (is_function(own, value))
		return is_loaded(own, value, home);
	if (!PyType_Check(value))
		return PyCFunction_CheckExact(value);
	module = item_of(own->loaded, home);
	is = module && PyModule_Check(module) &&
	     PyDict_GetItemWithError(PyModule_GetDict(module), name) == value;
	Py_XDECREF(module);
	return is;
}

bool is_imported(const struct own *own, PyObject *name, PyObject *value)
{
	PyObject *home;
	bool is;

	if (PyModule_CheckExact(value))
		return is_imported_module(own, name, value);
	home = get(own, value, MODULE);
	is = is_standard(own, home) && attribute_equals(own, value, NAME, name) &&
	     is_of_module(own, home, name, value);
	Py_XDECREF(home);
	return is;
}

/* --- the package --- */

/* Modules of it that no look-up of entry points uses. */
static const char *const unused_modules[] = {"_meta", "py311", "py312", NULL};

/* Types of these modules are names only, those of the others modules not imported yet. */
static const char *const names_only[] = {"typing", "_frozen_importlib",
                                         "_frozen_importlib_external", "zipimport", NULL};
static const char *const lazy[] = {"lazy_importer", "zipp", NULL};

/* Of the module itself: what no look-up of entry points runs, or sets. */
static const char *const unused_names[] = {
        "entry_points",
        "distribution",
        "metadata",
        "version",
        "files",
        "requires",
        "packages_distributions",
        "__doc__",
        "__all__",
        "__annotations__",
        "__annotate__",
        "__cached__",
        "__spec__",
        "__loader__",
        "__warningregistry__",
        NULL,
};

/* Is this the name of the package, or of a module in it? */
static bool is_in_package(const struct own *own, PyObject *name)
{
	PyObject *package = get(own, own->module, NAME);
	Py_ssize_t length = package ? PyUnicode_GetLength(package) : -1;
	bool is = length >= 0 && name && PyUnicode_Check(name) &&
	          PyUnicode_Tailmatch(name, package, 0, PY_SSIZE_T_MAX, -1) == 1 &&
	          (PyUnicode_GetLength(name) == length || PyUnicode_ReadChar(name, length) == '.');

	Py_XDECREF(package);
	return is;
}

static bool attribute_in_package(const struct own *own, PyObject *value, enum attribute attribute)
{
	PyObject *name = get(own, value, attribute);
	bool is = is_in_package(own, name);

	Py_XDECREF(name);
	return is;
}

/* A visitproc. */
static int take_referent(PyObject *object, void *out)
{
	*(PyObject **)out = object;
	return 0;
}

/* What Python shows of it is a proxy, which holds nothing else. */
PyObject *namespace_of(PyObject *kind)
{
	PyObject *proxy = PyObject_GetAttrString(kind, "__dict__"), *found = NULL;
	traverseproc traverse =
	        proxy ? (traverseproc)PyType_GetSlot(Py_TYPE(proxy), Py_tp_traverse) : NULL;

	if (traverse)
		traverse(proxy, take_referent, &found);
	found = found && PyDict_Check(found) ? Py_NewRef(found) : NULL;
	Py_XDECREF(proxy);
	return found;
}

PyObject *own_home(const struct own *own, const char *place)
{
	PyObject *copy = PyTuple_GetItem(PyList_GetItem(own->modules, 0), 2);
	PyObject *kind = *place ? PyDict_GetItemString(copy, place) : NULL;

	if (!*place)
		return copy;
	for (Py_ssize_t i = 0; kind && i < PyList_Size(own->classes); i++) {
		PyObject *owner = PyList_GetItem(own->classes, i);

		if (PyTuple_GetItem(owner, 0) == kind)
			return PyTuple_GetItem(owner, 2);
	}
	return NULL;
}

/* --- gathering --- */

static bool gather_class(struct own *own, PyObject *kind);
static bool gather_module(struct own *own, PyObject *module);

/* A class that is defined inside another, and has its name there. */
static bool is_inner(const struct own *own, PyObject *value, PyObject *outer)
{
	PyObject *name = get(own, value, NAME);
	PyObject *expected = name ? PyUnicode_FromFormat("%U.%U", outer, name) : NULL;
	bool is = expected && attribute_equals(own, value, QUALNAME, expected);

	Py_XDECREF(expected);
	Py_XDECREF(name);
	return is;
}

static bool gather_inner(struct own *own, PyObject *kind, PyObject *value)
{
	PyObject *outer;
	bool is;

	if (Py_TYPE(value) != &PyType_Type)
		return true;
	outer = get(own, kind, QUALNAME);
	is = outer && is_inner(own, value, outer);
	Py_XDECREF(outer);
	return !is || gather_class(own, value);
}

/* The values of the copy, a new list; NULL on failure. */
static PyObject *append_owner(PyObject *list, PyObject *owner, PyObject *namespace)
{
	PyObject *copy = PyDict_Copy(namespace);
	PyObject *item = copy ? PyTuple_Pack(3, owner, namespace, copy) : NULL;
	PyObject *values = item && PyList_Append(list, item) == 0 ? PyDict_Values(copy) : NULL;

	Py_XDECREF(item);
	Py_XDECREF(copy);
	return values;
}

static bool gather_class(struct own *own, PyObject *kind)
{
	PyObject *namespace = namespace_of(kind);
	PyObject *values = namespace ? append_owner(own->classes, kind, namespace) : NULL;
	bool done = values != NULL;

	for (Py_ssize_t i = 0; done && i < PyList_Size(values); i++)
		done = gather_inner(own, kind, PyList_GetItem(values, i));
	Py_XDECREF(values);
	Py_XDECREF(namespace);
	return done;
}

/* A value of a module's: one of its classes, or another module of the package. */
static bool gather_value(struct own *own, PyObject *module, PyObject *value)
{
	PyObject *name;
	bool is;

	if (PyModule_CheckExact(value))
		return !attribute_in_package(own, value, NAME) || gather_module(own, value);
	if (!PyType_Check(value))
		return true;
	name = get(own, module, NAME);
	is = name && attribute_equals(own, value, MODULE, name);
	Py_XDECREF(name);
	return !is || gather_class(own, value);
}

static bool is_unused_module(const struct own *own, PyObject *module)
{
	PyObject *name = get(own, module, NAME);
	Py_ssize_t length = name && PyUnicode_Check(name) ? PyUnicode_GetLength(name) : 0;
	PyObject *last =
	        length ? PyUnicode_Substring(name, PyUnicode_FindChar(name, '.', 0, length, -1) + 1,
	                                     length)
	               : NULL;
	bool is = last && is_any_of(last, unused_modules);

	Py_XDECREF(last);
	Py_XDECREF(name);
	return is;
}

/* False: nothing more is to be done with this module. */
static bool remember_file(struct own *own, PyObject *namespace, bool *failed)
{
	PyObject *address = PyLong_FromVoidPtr(namespace);
	PyObject *file = item_named(namespace, "__file__");
	bool is_new = address && !PyDict_GetItemWithError(own->files, address);

	*failed = !address || PyDict_SetItem(own->files, address, file ? file : Py_None) < 0;
	Py_XDECREF(file);
	Py_XDECREF(address);
	return is_new && !*failed;
}

static bool gather_module(struct own *own, PyObject *module)
{
	PyObject *namespace = PyModule_GetDict(module), *values;
	bool done, failed;

	if (!remember_file(own, namespace, &failed) || is_unused_module(own, module))
		return !failed;
	values = append_owner(own->modules, module, namespace);
	done = values != NULL;
	for (Py_ssize_t i = 0; done && i < PyList_Size(values); i++)
		done = gather_value(own, module, PyList_GetItem(values, i));
	Py_XDECREF(values);
	return done;
}

/* A type by its name, a new reference; one that was replaced is nothing's type. What the package
 * has imported itself need not be imported once more, which takes time. */
static PyTypeObject *type_named(const struct own *own, const char *module, const char *name)
{
	PyObject *home = item_named(own->loaded, module);
	PyObject *found;

	if (!home)
		home = PyImport_ImportModule(module);
	found = home ? PyObject_GetAttrString(home, name) : NULL;
	Py_XDECREF(home);
	return (PyTypeObject *)found;
}

static bool find_types(struct own *own)
{
	own->function_type = type_named(own, "types", "FunctionType");
	own->pattern_type = type_named(own, "re", "Pattern");
	for (size_t i = 0; i < WRAPPINGS; i++) {
		own->wrappers[i] = type_named(own, wrappings[i].module, wrappings[i].name);
		if (!own->wrappers[i])
			return false;
	}
	return own->function_type && own->pattern_type;
}

bool own_init(struct own *own, PyObject *module, PyObject *ours)
{
	*own = (struct own){.module = module, .ours = ours};
	for (size_t i = 0; i < ATTRIBUTES; i++) {
		own->attributes[i] = PyUnicode_InternFromString(attribute_names[i]);
		if (!own->attributes[i])
			return false;
	}
	own->unused = set_of_names(unused_names);
	own->modules = PyList_New(0);
	own->classes = PyList_New(0);
	own->functions = PyList_New(0);
	own->files = PyDict_New();
	own->stdlib = Py_XNewRef(PySys_GetObject("stdlib_module_names"));
	own->loaded = Py_XNewRef(PyImport_GetModuleDict());
	return own->unused && own->modules && own->classes && own->functions && own->files &&
	       own->stdlib && own->loaded && find_types(own) && PyModule_Check(module) &&
	       gather_module(own, module);
}

void own_clear(struct own *own)
{
	for (size_t i = 0; i < ATTRIBUTES; i++)
		Py_XDECREF(own->attributes[i]);
	Py_XDECREF(own->unused);
	Py_XDECREF(own->modules);
	Py_XDECREF(own->classes);
	Py_XDECREF(own->functions);
	Py_XDECREF(own->files);
	Py_XDECREF(own->stdlib);
	Py_XDECREF(own->loaded);
	Py_XDECREF((PyObject *)own->function_type);
	Py_XDECREF((PyObject *)own->pattern_type);
	for (size_t i = 0; i < WRAPPINGS; i++)
		Py_XDECREF((PyObject *)own->wrappers[i]);
}

/* --- is it its own? --- */

/* As collections.namedtuple() and typing.NamedTuple write them into a class. */
static bool is_of_named_tuple(const struct own *own, PyObject *function)
{
	PyObject *globals = get(own, function, GLOBALS);
	PyObject *name = globals && PyDict_Check(globals) ? item_named(globals, "__name__") : NULL;
	PyObject *prefix = PyUnicode_FromString("namedtuple_");
	bool is = name && prefix && PyUnicode_Check(name) &&
	          (PyUnicode_Tailmatch(name, prefix, 0, PY_SSIZE_T_MAX, -1) == 1 ||
	           ((text_is(name, "collections") || text_is(name, "typing")) &&
	            is_loaded(own, function, name)));

	Py_XDECREF(prefix);
	Py_XDECREF(name);
	Py_XDECREF(globals);
	return is;
}

static bool are_all(const struct own *own, PyObject *const *functions, size_t count,
                    bool (*is)(const struct own *own, PyObject *function))
{
	for (size_t i = 0; i < count; i++)
		if (!is(own, functions[i]))
			return false;
	return true;
}

/* functools.partial of a standard function. */
static bool is_partial_of_imported(const struct own *own, PyObject *value, PyObject *function)
{
	PyObject *name =
	        type_is(own, value, "functools", "partial") ? get(own, function, NAME) : NULL;
	bool is = name && is_imported(own, name, function);

	Py_XDECREF(name);
	return is;
}

static bool is_type_or_object_own(const struct own *own, PyObject *name, PyObject *value)
{
	PyObject *module;
	bool is;

	if (PyModule_CheckExact(value)) {
		PyObject *address = PyLong_FromVoidPtr(PyModule_GetDict(value));

		is = address && PyDict_GetItemWithError(own->files, address);
		Py_XDECREF(address);
		return is || is_imported(own, name, value);
	}
	if (PyType_Check(value) && ((attribute_equals(own, value, NAME, name) &&
	                             attribute_in_package(own, value, MODULE)) ||
	                            is_imported(own, name, value)))
		return true;
	module = get(own, (PyObject *)Py_TYPE(value), MODULE);
	is = module &&
	     (is_any_of(module, names_only) ||
	      (!PyType_Check(value) && (is_package_any(module, lazy) || is_data(own, value))));
	Py_XDECREF(module);
	return is;
}

static bool is_ours(const struct own *own, PyObject *value)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(own->ours); i++)
		if (PyTuple_GetItem(own->ours, i) == value)
			return true;
	return false;
}

static bool is_own(const struct own *own, PyObject *name, PyObject *value)
{
	PyObject *functions[FUNCTIONS_MAX];
	size_t count;
	bool is;

	if (is_plain_data(own, value) || is_ours(own, value))
		return true;
	count = functions_of(own, value, functions);
	if (!count)
		return is_type_or_object_own(own, name, value);
	is = are_all(own, functions, count, is_own_function) ||
	     are_all(own, functions, count, is_of_named_tuple) || is_imported(own, name, value) ||
	     is_partial_of_imported(own, value, functions[0]);
	functions_free(functions, count);
	return is;
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

/* @owner: (a module or class, its namespace, the copy). */
static bool check_owner(const struct own *own, PyObject *owner)
{
	bool is_main = PyTuple_GetItem(owner, 0) == own->module;
	bool is_module = PyModule_Check(PyTuple_GetItem(owner, 0));
	PyObject *items = PyDict_Items(PyTuple_GetItem(owner, 2));
	bool is = items != NULL;

	for (Py_ssize_t i = 0; is && i < PyList_Size(items); i++) {
		PyObject *item = PyList_GetItem(items, i), *name = PyTuple_GetItem(item, 0);

		is = is_own(own, name, PyTuple_GetItem(item, 1)) || (is_module && is_note(name)) ||
		     (is_main && PySet_Contains(own->unused, name) == 1);
		PyErr_Clear();
	}
	Py_XDECREF(items);
	return is;
}

bool own_check(const struct own *own)
{
	bool is = true;

	for (Py_ssize_t i = 0; is && i < PyList_Size(own->modules); i++)
		is = check_owner(own, PyList_GetItem(own->modules, i));
	for (Py_ssize_t i = 0; is && i < PyList_Size(own->classes); i++)
		is = check_owner(own, PyList_GetItem(own->classes, i));
	return is;
}

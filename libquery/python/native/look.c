/*
 * look.c - objects, namespaces and functions.
 */
#include "libquery/python/native/look.h"

#include <stdint.h>
#include <string.h>

PyObject *hold(struct look *look, PyObject *object)
{
	bool done = object && PyList_Append(look->held, object) == 0;

	Py_XDECREF(object);
	return done ? object : NULL;
}

PyObject *text(struct look *look, const char *chars)
{
	size_t at = (uintptr_t)chars / sizeof(chars) % TEXTS;

	if (look->texts[at].chars != chars) {
		look->texts[at].text = hold(look, PyUnicode_InternFromString(chars));
		look->texts[at].chars = chars;
	}
	return look->texts[at].text;
}

PyObject *next_name(struct look *look, const char **names)
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

PyObject *get(struct look *look, PyObject *object, const char *attribute)
{
	PyObject *name = object ? text(look, attribute) : NULL;

	return name ? hold(look, PyObject_GetAttr(object, name)) : NULL;
}

PyObject *item(struct look *look, PyObject *dict, PyObject *key)
{
	return key ? hold(look, item_of(dict, key)) : NULL;
}

bool same_text(PyObject *a, PyObject *b)
{
	return a && b && PyUnicode_Check(a) && PyUnicode_Check(b) && PyUnicode_Compare(a, b) == 0;
}

bool has_at_end(struct look *look, PyObject *object, const char *chars, int end)
{
	return object && PyUnicode_Check(object) &&
	       PyUnicode_Tailmatch(object, text(look, chars), 0, PY_SSIZE_T_MAX, end) == 1;
}

bool is_any_of(PyObject *name, const char *words)
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

PyObject *namespace_named(struct look *look, PyObject *name)
{
	PyObject *module = item(look, look->loaded, name);

	return module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
}

/* A class's __dict__ is a proxy, whose only referent is the dict. */
static int take_referent(PyObject *object, void *out)
{
	*(PyObject **)out = object;
	return 0;
}

PyObject *namespace_of(struct look *look, PyObject *object)
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

bool watch(struct look *look, PyObject *dict)
{
	return dict && PyList_Append(look->dicts, dict) == 0 && watch_dict(look->watcher, dict);
}

const struct owner *owner_of(const struct look *look, PyObject *either)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->owners[i].dict == either || look->owners[i].object == either)
			return &look->owners[i];
	return NULL;
}

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

size_t functions_of(struct look *look, PyObject *value, PyObject *functions[FUNCTIONS_MAX])
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

PyObject *original_of(struct look *look, PyObject *function)
{
	Py_ssize_t position = 0;
	PyObject *each;

	while (PyDict_Next(look->replaced, &position, NULL, &each))
		if (PyTuple_GetItem(each, 0) == function &&
		    PyTuple_GetItem(each, 1) == get(look, function, "__code__"))
			return pin(look->pins, function) ? PyTuple_GetItem(each, 2) : NULL;
	return function;
}

/* A type by its name; no object has a replaced one. */
static PyObject *type_named(struct look *look, const char *module, const char *name)
{
	PyObject *namespace = namespace_named(look, text(look, module));

	return namespace ? item(look, namespace, text(look, name)) : NULL;
}

bool look_begin(struct look *look)
{
	look->held = PyList_New(0);
	if (!look->held)
		return false;
	look->used = hold(look, PySet_New(NULL));
	look->dicts = hold(look, PyList_New(0));
	look->pins = hold(look, PyDict_New());
	look->stdlib = hold(look, Py_XNewRef(PySys_GetObject("stdlib_module_names")));
	look->loaded = PyImport_GetModuleDict();
	look->pattern = type_named(look, "re", "Pattern");
	for (size_t i = 0; i < WRAPPINGS; i++)
		look->wrappers[i] = type_named(look, wrappings[i].module, wrappings[i].name);
	return look->used && look->dicts && look->pins;
}

/*
 * parts.c - are the parts of a metadata module still what they were?
 *
 * Asked before each answer, so all is compared by identity, and a namespace in one pass:
 * a dict keeps its order while values are replaced and put back. What is noticed that
 * way may be harmless; _metadata_module.py then looks at it anew.
 */
#include "libquery/python/native/native.h"

static bool is_any(PyObject *value)
{
	return value == Py_Ellipsis;
}

/* Does @dict hold these keys and values, (key, value, key, value, ...), and no others? */
static bool holds_in_order(PyObject *dict, PyObject *items)
{
	Py_ssize_t position = 0, at = 0, count = PyTuple_Size(items);
	PyObject *key, *value;

	while (PyDict_Next(dict, &position, &key, &value)) {
		PyObject *expected;

		if (at >= count || PyTuple_GetItem(items, at) != key)
			return false;
		expected = PyTuple_GetItem(items, at + 1);
		if (expected != value && !is_any(expected))
			return false;
		at += 2;
	}
	return at == count;
}

static bool is_same_namespace(PyObject *part)
{
	PyObject *dict = PyTuple_GetItem(part, 0);
	bool same;

	BEGIN_CRITICAL_SECTION(dict);
	same = holds_in_order(dict, PyTuple_GetItem(part, 1));
	END_CRITICAL_SECTION();
	return same;
}

static bool is_same_place(PyObject *part)
{
	PyObject *expected = PyTuple_GetItem(part, 2), *found;
	bool same;

	BEGIN_CRITICAL_SECTION(PyTuple_GetItem(part, 0));
	found = PyDict_GetItemWithError(PyTuple_GetItem(part, 0), PyTuple_GetItem(part, 1));
	same = found ? found == expected : is_any(expected);
	END_CRITICAL_SECTION();
	return same;
}

static bool is_same_attribute(PyObject *part)
{
	PyObject *found = PyObject_GetAttr(PyTuple_GetItem(part, 0), PyTuple_GetItem(part, 1));

	Py_XDECREF(found); /* its owner holds it, or it is not the same */
	return found == PyTuple_GetItem(part, 2);
}

static bool all_of(PyObject *parts, bool (*is_same)(PyObject *part))
{
	Py_ssize_t count = PyTuple_Size(parts);

	for (Py_ssize_t i = 0; i < count; i++)
		if (!is_same(PyTuple_GetItem(parts, i)))
			return false;
	return true;
}

bool all_same(PyObject *parts)
{
	bool same = all_of(PyTuple_GetItem(parts, 0), is_same_namespace) &&
	            all_of(PyTuple_GetItem(parts, 1), is_same_place) &&
	            all_of(PyTuple_GetItem(parts, 2), is_same_attribute);

	PyErr_Clear();
	return same;
}

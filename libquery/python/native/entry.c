/*
 * entry.c - entry points as Python objects.
 *
 * Made as the class itself would make them, without running its Python code: which
 * the package only asks for where it knows the class (see _stock.py).
 */
#include <string.h>

#include "native.h"

bool maker_init(struct maker *maker, const struct state *state, PyObject *type, PyObject *empty)
{
	PyTypeObject *base = &PyBaseObject_Type;

	if (!PyType_Check(type)) {
		PyErr_SetString(PyExc_TypeError, "an EntryPoint class is expected");
		return false;
	}
	*maker = (struct maker){.state = state, .type = type, .empty = empty};
	maker->is_tuple = PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type);
	if (maker->is_tuple)
		base = &PyTuple_Type;
	maker->construct = (newfunc)PyType_GetSlot(base, Py_tp_new);
	return true;
}

/* As EntryPoint(name, value, group)._for(dist) of 3.10. */
static PyObject *make_tuple(const struct maker *maker, PyObject *row, PyObject *dist)
{
	PyObject *arguments = PyTuple_Pack(1, row);
	PyObject *made = NULL;

	if (arguments)
		made = maker->construct((PyTypeObject *)maker->type, arguments, NULL);
	Py_XDECREF(arguments);
	if (made && PyObject_SetAttr(made, maker->state->dist, dist) < 0)
		Py_CLEAR(made);
	return made;
}

/* The same since 3.11, where the class forbids the setting of attributes. */
static PyObject *make_object(const struct maker *maker, PyObject *row, PyObject *dist)
{
	const struct state *state = maker->state;
	PyObject *made = maker->construct((PyTypeObject *)maker->type, maker->empty, NULL);
	PyObject *fields = made ? PyObject_GenericGetDict(made, NULL) : NULL;

	if (!fields || PyDict_SetItem(fields, state->name, PyTuple_GetItem(row, 0)) < 0 ||
	    PyDict_SetItem(fields, state->value, PyTuple_GetItem(row, 1)) < 0 ||
	    PyDict_SetItem(fields, state->group, PyTuple_GetItem(row, 2)) < 0 ||
	    PyDict_SetItem(fields, state->dist, dist) < 0)
		Py_CLEAR(made);
	Py_XDECREF(fields);
	return made;
}

PyObject *make(const struct maker *maker, PyObject *row, PyObject *dist)
{
	return maker->is_tuple ? make_tuple(maker, row, dist) : make_object(maker, row, dist);
}

static PyObject *text_of(const entrydb_entry *entry, enum entrydb_field field)
{
	size_t length;
	const char *text = entrydb_entry_text(entry, field, &length);

	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "strict");
}

static bool same_group(const entrydb_entry *a, const entrydb_entry *b)
{
	size_t a_length, b_length;
	const char *a_text = entrydb_entry_text(a, ENTRYDB_GROUP, &a_length);
	const char *b_text = entrydb_entry_text(b, ENTRYDB_GROUP, &b_length);

	return a_length == b_length && memcmp(a_text, b_text, a_length) == 0;
}

/* The group of an entry; neighbours in a group share one object, as with stock. */
static PyObject *group_of(const entrydb_set *set, size_t index, PyObject *row_before)
{
	const entrydb_entry *entry = entrydb_set_get(set, index);

	if (row_before && same_group(entry, entrydb_set_get(set, index - 1)))
		return Py_NewRef(PyTuple_GetItem(row_before, 2));
	return text_of(entry, ENTRYDB_GROUP);
}

PyObject *row_of(const entrydb_set *set, size_t index, PyObject *row_before)
{
	const entrydb_entry *entry = entrydb_set_get(set, index);
	PyObject *name = text_of(entry, ENTRYDB_NAME);
	PyObject *value = text_of(entry, ENTRYDB_VALUE);
	PyObject *group = group_of(set, index, row_before);
	PyObject *row = name && value && group ? PyTuple_Pack(3, name, value, group) : NULL;

	Py_XDECREF(name);
	Py_XDECREF(value);
	Py_XDECREF(group);
	return row;
}

PyObject *make_all(const struct state *state, PyObject *type, PyObject *rows, PyObject *dist)
{
	Py_ssize_t count = PyTuple_Size(rows);
	PyObject *empty = PyTuple_New(0), *list = NULL;
	struct maker maker;

	if (count >= 0 && empty && maker_init(&maker, state, type, empty))
		list = PyList_New(count);
	for (Py_ssize_t i = 0; list && i < count; i++) {
		PyObject *made = make(&maker, PyTuple_GetItem(rows, i), dist);

		if (!made || PyList_SetItem(list, i, made) < 0)
			Py_CLEAR(list);
	}
	Py_XDECREF(empty);
	return list;
}

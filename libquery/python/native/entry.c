/*
 * entry.c - entry points as Python objects.
 *
 * Made as the class itself would make them, without running its Python code: which
 * the package only asks for where it knows the class (see _metadata_module.py).
 */
#include <string.h>

#include "libquery/python/native/native.h"

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
static PyObject *make_tuple(const struct maker *maker, struct fields fields, PyObject *dist)
{
	PyObject *arguments = Py_BuildValue("((OOO))", fields.name, fields.value, fields.group);
	PyObject *made = NULL;

	if (arguments)
		made = maker->construct((PyTypeObject *)maker->type, arguments, NULL);
	Py_XDECREF(arguments);
	if (made && PyObject_SetAttr(made, maker->state->dist, dist) < 0)
		Py_CLEAR(made);
	return made;
}

/* As the class parses its value: its own code, since the result is kept in the object. */
static bool parse(const struct maker *maker, PyObject *made)
{
	PyObject *module = PyObject_GetAttr(made, maker->state->module);

	Py_XDECREF(module);
	return module != NULL;
}

/* The same since 3.11, where the class forbids the setting of attributes. */
static PyObject *make_object(const struct maker *maker, struct fields fields, PyObject *dist)
{
	const struct state *state = maker->state;
	PyObject *made = maker->construct((PyTypeObject *)maker->type, maker->empty, NULL);
	PyObject *attributes = made ? PyObject_GenericGetDict(made, NULL) : NULL;

	if (!attributes || PyDict_SetItem(attributes, state->name, fields.name) < 0 ||
	    PyDict_SetItem(attributes, state->value, fields.value) < 0 ||
	    PyDict_SetItem(attributes, state->group, fields.group) < 0 ||
	    (maker->parses && !parse(maker, made)) ||
	    PyDict_SetItem(attributes, state->dist, dist) < 0)
		Py_CLEAR(made);
	Py_XDECREF(attributes);
	return made;
}

PyObject *make(const struct maker *maker, struct fields fields, PyObject *dist)
{
	return maker->is_tuple ? make_tuple(maker, fields, dist) : make_object(maker, fields, dist);
}

static PyObject *field_text(const entrydb_entry_point *entry_point, enum entrydb_field field)
{
	size_t length;
	const char *text = entrydb_entry_point_text(entry_point, field, &length);

	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "strict");
}

static bool same_group(const entrydb_entry_point *a, const entrydb_entry_point *b)
{
	size_t a_length, b_length;
	const char *a_text = entrydb_entry_point_text(a, ENTRYDB_FIELD_GROUP, &a_length);
	const char *b_text = entrydb_entry_point_text(b, ENTRYDB_FIELD_GROUP, &b_length);

	return a_length == b_length && memcmp(a_text, b_text, a_length) == 0;
}

bool fields_of(const entrydb_entry_point *entry_point, const entrydb_entry_point *before,
               PyObject *group, struct fields *out)
{
	*out = (struct fields){
	        .name = field_text(entry_point, ENTRYDB_FIELD_NAME),
	        .value = field_text(entry_point, ENTRYDB_FIELD_VALUE),
	};
	if (before && same_group(entry_point, before))
		out->group = Py_NewRef(group);
	else
		out->group = field_text(entry_point, ENTRYDB_FIELD_GROUP);
	if (out->name && out->value && out->group)
		return true;
	Py_XDECREF(out->name);
	Py_XDECREF(out->value);
	Py_XDECREF(out->group);
	return false;
}

struct fields fields_at(PyObject *tuple, Py_ssize_t at)
{
	return (struct fields){
	        .name = PyTuple_GetItem(tuple, at),
	        .value = PyTuple_GetItem(tuple, at + 1),
	        .group = PyTuple_GetItem(tuple, at + 2),
	};
}

void fields_put(PyObject *tuple, Py_ssize_t at, struct fields fields)
{
	PyTuple_SetItem(tuple, at, fields.name);
	PyTuple_SetItem(tuple, at + 1, fields.value);
	PyTuple_SetItem(tuple, at + 2, fields.group);
}

PyObject *make_all(const struct state *state, PyObject *type, PyObject *rows, PyObject *dist,
                   bool parses)
{
	Py_ssize_t count = PyTuple_Size(rows) / FIELDS;
	PyObject *empty = PyTuple_New(0), *list = NULL;
	struct maker maker;

	if (empty && maker_init(&maker, state, type, empty))
		list = PyList_New(count);
	maker.parses = parses;
	for (Py_ssize_t i = 0; list && i < count; i++) {
		PyObject *made = make(&maker, fields_at(rows, FIELDS * i), dist);

		if (!made || PyList_SetItem(list, i, made) < 0)
			Py_CLEAR(list);
	}
	Py_XDECREF(empty);
	return list;
}

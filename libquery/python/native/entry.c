/*
 * entry.c - entry points as Python objects.
 *
 * The objects equal those of the class's own constructor, but its Python code is not run. This is
 * used only for known classes (see _metadata_module.py).
 */
#include "libquery/python/native/native.h"

bool maker_init(struct maker *maker, const struct state *state, PyObject *type, bool parses)
{
	PyTypeObject *base = &PyBaseObject_Type;

	if (!PyType_Check(type)) {
		PyErr_SetString(PyExc_TypeError, "an EntryPoint class is expected");
		return false;
	}
	*maker = (struct maker){.state = state, .type = (PyTypeObject *)type, .parses = parses};
	maker->is_tuple = PyType_IsSubtype(maker->type, &PyTuple_Type);
	if (maker->is_tuple)
		base = &PyTuple_Type;
	maker->construct = (newfunc)PyType_GetSlot(base, Py_tp_new);
	return true;
}

/* Equals EntryPoint(name, value, group)._for(dist) of 3.10. */
static PyObject *make_tuple(const struct maker *maker, PyObject *items, Py_ssize_t at,
                            PyObject *dist)
{
	PyObject *arguments = Py_BuildValue("(N)", PyTuple_GetSlice(items, at, at + FIELDS));
	PyObject *made = arguments ? maker->construct(maker->type, arguments, NULL) : NULL;

	Py_XDECREF(arguments);
	if (made && PyObject_SetAttr(made, maker->state->names[DIST], dist) < 0)
		Py_CLEAR(made);
	return made;
}

/* Run the class's own code to parse the value: it stores the result in the object. */
static bool parse(const struct maker *maker, PyObject *made)
{
	PyObject *module = PyObject_GetAttr(made, maker->state->names[MODULE]);

	Py_XDECREF(module);
	return module != NULL;
}

/* The same for 3.11 and later, whose class forbids setting attributes. */
static PyObject *make_object(const struct maker *maker, PyObject *items, Py_ssize_t at,
                             PyObject *dist)
{
	const struct state *state = maker->state;
	PyObject *none = PyTuple_New(0);
	PyObject *made = none ? maker->construct(maker->type, none, NULL) : NULL;
	PyObject *attributes = made ? PyObject_GenericGetDict(made, NULL) : NULL;

	if (!attributes ||
	    PyDict_SetItem(attributes, state->names[NAME], PyTuple_GetItem(items, at)) < 0 ||
	    PyDict_SetItem(attributes, state->names[VALUE], PyTuple_GetItem(items, at + 1)) < 0 ||
	    PyDict_SetItem(attributes, state->names[GROUP], PyTuple_GetItem(items, at + 2)) < 0 ||
	    (maker->parses && !parse(maker, made)) ||
	    PyDict_SetItem(attributes, state->names[DIST], dist) < 0)
		Py_CLEAR(made);
	Py_XDECREF(attributes);
	Py_XDECREF(none);
	return made;
}

PyObject *make_all(const struct maker *maker, PyObject *items, Py_ssize_t step, dist_of *find,
                   void *payload)
{
	Py_ssize_t count = PyTuple_Size(items) / step;
	PyObject *list = PyList_New(count);
	PyObject *(*const make)(const struct maker *, PyObject *, Py_ssize_t, PyObject *) =
	        maker->is_tuple ? make_tuple : make_object;

	for (Py_ssize_t i = 0; list && i < count; i++) {
		PyObject *dist = find(payload, items, i * step);
		PyObject *made = dist ? make(maker, items, i * step, dist) : NULL;

		if (!made || PyList_SetItem(list, i, made) < 0)
			Py_CLEAR(list);
	}
	return list;
}

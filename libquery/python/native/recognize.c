/*
 * recognize.c - identifies a metadata module, unless it contains foreign code (look.h).
 */
#include "libquery/python/native/look.h"

/* Is @name the package, or a module in it? */
static bool is_in_package(const struct look *look, PyObject *name)
{
	Py_ssize_t length = PyUnicode_GetLength(look->package);

	return name && PyUnicode_Check(name) &&
	       PyUnicode_Tailmatch(name, look->package, 0, PY_SSIZE_T_MAX, -1) == 1 &&
	       (PyUnicode_GetLength(name) == length || PyUnicode_ReadChar(name, length) == '.');
}

/* Also pin the bases of a class, from which it inherits attributes. */
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

/* Collect the module and the modules and classes of the package reachable from it. */
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

static bool gather(struct look *look)
{
	look->package = PyModule_Check(look->module) ? get(look, look->module, "__name__") : NULL;
	return look->stdlib && look->package && PyUnicode_Check(look->package) &&
	       gather_owners(look);
}

PyObject *recognize(PyObject *self, PyObject *arguments)
{
	const struct state *state = PyModule_GetState(self);
	struct look look = {.watcher = state->watcher};
	unsigned long long since = last_change(), answering = 0;
	PyObject *made = NULL;

	if (!PyArg_ParseTuple(arguments, "OO!:recognize", &look.module, &PyDict_Type,
	                      &look.replaced))
		return NULL;
	if (look_begin(&look)) {
		if (gather(&look) && is_all_own(&look))
			answering = digest_answers(&look);
		PyErr_Clear(); /* what is foreign may raise anything */
		made = Py_BuildValue("(KKNO)", answering, answering ? digest_naming(&look) : 0,
		                     make_same(look.dicts, look.pins, since),
		                     answering ? look.owners[0].copy : Py_None);
	}
	Py_XDECREF(look.held);
	return made;
}

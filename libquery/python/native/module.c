/*
 * module.c - the module entrydb._native; see native.h.
 */
#include "libquery/python/native/own.h"

/* Module slots that the limited API of 3.10 does not know yet; see PyInit__native(). */
#define SLOT_MULTIPLE_INTERPRETERS 3 /* since 3.12 */
#define SLOT_GIL                   4 /* since 3.13 */

PyDoc_STRVAR(recognise_doc,
             "recognise(module, originals, ours, /)\n--\n\n"
             "(digest, seen, seen reading) of a metadata module: a number for what the\n"
             "parts do that make its answers; and as Parts, all that these rest upon, and what\n"
             "the reading of one distribution does. None if a part of it, or of what\n"
             "it reads the disk with, is not its own. originals: a dict from (class, name) to\n"
             "what acceleration has replaced; ours: a tuple of what it has put in.");

static PyObject *recognise_package(struct own *own, PyObject *originals, const struct state *state)
{
	unsigned long long digest;
	PyObject *seen, *made = NULL;

	if (!digest_parts(own, originals, &digest) || !own_check(own))
		return NULL;
	seen = take_snapshot(own, state);
	if (seen)
		made = Py_BuildValue("(KOO)", digest, PyTuple_GetItem(seen, 0),
		                     PyTuple_GetItem(seen, 1));
	Py_XDECREF(seen);
	return made;
}

static PyObject *recognise(PyObject *self, PyObject *arguments)
{
	PyObject *module, *originals, *ours, *made = NULL;
	struct own own;

	if (!PyArg_ParseTuple(arguments, "OO!O!:recognise", &module, &PyDict_Type, &originals,
	                      &PyTuple_Type, &ours))
		return NULL;
	if (own_init(&own, module, ours))
		made = recognise_package(&own, originals, PyModule_GetState(self));
	own_clear(&own);
	if (made || (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)))
		return made;
	PyErr_Clear(); /* what is foreign may raise anything */
	Py_RETURN_NONE;
}

PyDoc_STRVAR(module_doc, "libentrydb for Python; see the package entrydb.");

static PyMethodDef module_methods[] = {
        {"recognise", recognise, METH_VARARGS, recognise_doc},
        {0},
};

static int module_exec(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	state->name = PyUnicode_InternFromString("name");
	state->value = PyUnicode_InternFromString("value");
	state->group = PyUnicode_InternFromString("group");
	state->dist = PyUnicode_InternFromString("dist");
	state->path = PyUnicode_InternFromString("_path");
	state->find = PyUnicode_InternFromString("find");
	state->module = PyUnicode_InternFromString("module");
	if (!state->name || !state->value || !state->group || !state->dist || !state->path ||
	    !state->find || !state->module)
		return -1;
	state->watcher = watch_begin();
	state->database = (PyTypeObject *)PyType_FromModuleAndSpec(module, &database_spec, NULL);
	state->parts = (PyTypeObject *)PyType_FromModuleAndSpec(module, &parts_spec, NULL);
	state->walker = (PyTypeObject *)PyType_FromModuleAndSpec(module, &walker_spec, NULL);
	if (!state->database || !state->parts || !state->walker ||
	    PyModule_AddType(module, state->database) < 0 ||
	    PyModule_AddType(module, state->parts) < 0 ||
	    PyModule_AddType(module, state->walker) < 0 ||
	    PyModule_AddIntConstant(module, "IM_10_1", ENTRYDB_IM_10_1) < 0)
		return -1;
	return PyModule_AddStringConstant(module, "version", entrydb_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	const struct state *state = PyModule_GetState(module);

	Py_VISIT(state->database);
	Py_VISIT(state->parts);
	Py_VISIT(state->walker);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	Py_CLEAR(state->database);
	Py_CLEAR(state->parts);
	Py_CLEAR(state->walker);
	Py_CLEAR(state->path);
	Py_CLEAR(state->find);
	Py_CLEAR(state->module);
	Py_CLEAR(state->name);
	Py_CLEAR(state->value);
	Py_CLEAR(state->group);
	Py_CLEAR(state->dist);
	return 0;
}

static void module_free(void *module)
{
	module_clear(module);
}

/*
 * All state is the module's own, so each interpreter may have it, and its own lock.
 * An interpreter refuses slots that are newer than itself: hence three tables.
 */
static PyModuleDef_Slot slots_3_13[] = {
        {SLOT_MULTIPLE_INTERPRETERS, (void *)2 /* each with a lock of its own */},
        {SLOT_GIL, (void *)1 /* not used */},
        {Py_mod_exec, (void *)module_exec},
        {0, NULL},
};
static PyModuleDef_Slot slots_3_12[] = {
        {SLOT_MULTIPLE_INTERPRETERS, (void *)2},
        {Py_mod_exec, (void *)module_exec},
        {0, NULL},
};
static PyModuleDef_Slot slots_3_10[] = {
        {Py_mod_exec, (void *)module_exec},
        {0, NULL},
};

static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,          .m_name = "entrydb._native", .m_doc = module_doc,
        .m_size = sizeof(struct state), .m_methods = module_methods, .m_slots = slots_3_10,
        .m_traverse = module_traverse,  .m_clear = module_clear,     .m_free = module_free,
};

PyMODINIT_FUNC PyInit__native(void)
{
	long minor = minor_version();

	watch_forks();
	if (minor >= 13)
		definition.m_slots = slots_3_13;
	else if (minor == 12)
		definition.m_slots = slots_3_12;
	return PyModuleDef_Init(&definition);
}

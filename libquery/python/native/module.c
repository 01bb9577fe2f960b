/*
 * module.c - the module entrydb._native; see native.h.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "libquery/python/native/native.h"

/* Module slots newer than the limited API of 3.10; see PyInit__native(). */
#define SLOT_MULTIPLE_INTERPRETERS 3 /* since 3.12 */
#define SLOT_GIL                   4 /* since 3.13 */

PyDoc_STRVAR(
        recognize_doc,
        "recognize(module, replaced, /)\n--\n\n"
        "Return (digest, naming, same, names) of a metadata module: the digest of its functions\n"
        "for entry points, or 0 if a part of it, or of its means to read the disk, is foreign;\n"
        "the digest of its functions that find a distribution by name, or 0; a function that\n"
        "returns False after a change; and a copy of its namespace. replaced: a dict\n"
        "from a name (for a function of the module, its own) to (function, its code, the original\n"
        "function), of those that entrydb has replaced.");

PyDoc_STRVAR(
        walker_doc,
        "walker(kind, path_type, EntryPoint, EntryPoints, same, walks, fallback, parses, /)\n--\n\n"
        "Return a function from a distribution to its entry points. It uses\n"
        "walks[directory].find(file), or fallback(distribution) if that is None, if the\n"
        "distribution or its _path is not exactly of these types, if it has further attributes,\n"
        "or if same() is false. parses: parse each value when its object is made.");

PyDoc_STRVAR(is_directory_doc, "is_directory(path, /)\n--\n\n"
                               "Like os.path.isdir(), which programs and tests may replace.");

static PyObject *is_directory(PyObject *Py_UNUSED(self), PyObject *path)
{
	PyObject *bytes;
	struct stat status;
	bool is;

	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	is = stat(PyBytes_AsString(bytes), &status) == 0 && S_ISDIR(status.st_mode);
	Py_DECREF(bytes);
	return PyBool_FromLong(is);
}

PyDoc_STRVAR(headers_doc,
             "headers(file, /)\n--\n\n"
             "Return (name, version) of a metadata directory; None if Python must read it.");

static PyObject *headers(PyObject *Py_UNUSED(self), PyObject *file)
{
	PyObject *bytes, *found;
	char *name = NULL, *version = NULL;
	PyThreadState *thread;
	int code;

	if (!PyUnicode_FSConverter(file, &bytes)) {
		PyErr_Clear();
		Py_RETURN_NONE;
	}
	thread = enter_library();
	code = entrydb_read_metadata(PyBytes_AsString(bytes), &name, &version, NULL);
	leave_library(thread);
	Py_DECREF(bytes);
	if (code < 0)
		Py_RETURN_NONE;
	found = Py_BuildValue("(zz)", name, version);
	free(name);
	free(version);
	return found;
}

PyDoc_STRVAR(module_doc, "libentrydb for Python; see the package entrydb.");

static PyMethodDef module_methods[] = {
        {"headers", headers, METH_O, headers_doc},
        {"is_directory", is_directory, METH_O, is_directory_doc},
        {"recognize", recognize, METH_VARARGS, recognize_doc},
        {"walker", walker, METH_VARARGS, walker_doc},
        {0},
};

static const char *const names[NAMES] = {
        [NAME] = "name", [VALUE] = "value",   [GROUP] = "group",
        [DIST] = "dist", [MODULE] = "module", [PATH] = "_path",
        [TEXT] = "_str", [FIND] = "find",     [VIEW] = "view",
};

static int module_exec(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	for (size_t i = 0; i < NAMES; i++) {
		state->names[i] = PyUnicode_InternFromString(names[i]);
		if (!state->names[i])
			return -1;
	}
	state->watcher = watch_begin();
	state->database = (PyTypeObject *)PyType_FromModuleAndSpec(module, &database_spec, NULL);
	if (!state->database || PyModule_AddType(module, state->database) < 0 ||
	    PyModule_AddIntConstant(module, "IM_10_1", ENTRYDB_IM_10_1) < 0)
		return -1;
	return PyModule_AddStringConstant(module, "version", entrydb_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct state *state = PyModule_GetState(module);

	Py_VISIT(state->database);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	Py_CLEAR(state->database);
	for (size_t i = 0; i < NAMES; i++)
		Py_CLEAR(state->names[i]);
	return 0;
}

static void module_free(void *module)
{
	module_clear(module);
}

/*
 * All state is per module, so each interpreter can import it and have its own GIL. An interpreter
 * refuses slots newer than itself, so the list begins after those.
 */
static PyModuleDef_Slot slots[] = {
        {SLOT_GIL, (void *)1 /* not used */},
        {SLOT_MULTIPLE_INTERPRETERS, (void *)2 /* with a GIL each */},
        {Py_mod_exec, (void *)module_exec},
        {0, NULL},
};

static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,          .m_name = "entrydb._native", .m_doc = module_doc,
        .m_size = sizeof(struct state), .m_methods = module_methods, .m_slots = slots,
        .m_traverse = module_traverse,  .m_clear = module_clear,     .m_free = module_free,
};

PyMODINIT_FUNC PyInit__native(void)
{
	long minor = minor_version();

	watch_forks();
	definition.m_slots = &slots[minor >= 13 ? 0 : minor == 12 ? 1 : 2];
	return PyModuleDef_Init(&definition);
}

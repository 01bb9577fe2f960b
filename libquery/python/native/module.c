/*
 * module.c - the module entrydb._native; see native.h.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "libquery/python/native/native.h"

/* Module slots that the limited API of 3.10 does not know yet; see PyInit__native(). */
#define SLOT_MULTIPLE_INTERPRETERS 3 /* since 3.12 */
#define SLOT_GIL                   4 /* since 3.13 */

PyDoc_STRVAR(
        recognise_doc,
        "recognise(module, originals, ours, /)\n--\n\n"
        "(digest, digest, same, names) of a metadata module: a number for what its parts do\n"
        "that answer, or 0 if a part of it, or of what it reads the disk with, is not its own; "
        "one\n"
        "for those that find a distribution by its name, or 0; a function that tells whether all\n"
        "that was looked at is as it was; and a dict of the module's, as seen. originals: a dict\n"
        "from (class, name) to what acceleration has replaced; ours: a tuple of what it has put "
        "in.");

PyDoc_STRVAR(
        walker_doc,
        "walker(kind, path_type, EntryPoint, EntryPoints, same, walks, fallback, parses, /)\n--\n\n"
        "A function from a distribution to its entry points: from walks[directory].find(file), or\n"
        "from fallback(distribution) where that is None, or the distribution or its _path\n"
        "are not exactly of these types, or it has other attributes of its own, or same() is\n"
        "false. parses: each value at once.");

PyDoc_STRVAR(is_directory_doc,
             "is_directory(path, /)\n--\n\n"
             "As os.path.isdir(), which a program may have replaced, and tests do.");

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
             "(name, version) of a metadata directory; None where Python has to read.");

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
        {"recognise", recognise, METH_VARARGS, recognise_doc},
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
 * All state is the module's own, so each interpreter may have it, and its own lock. An
 * interpreter refuses slots that are newer than itself, and begins after these.
 */
static PyModuleDef_Slot slots[] = {
        {SLOT_GIL, (void *)1 /* not used */},
        {SLOT_MULTIPLE_INTERPRETERS, (void *)2 /* each with a lock of its own */},
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

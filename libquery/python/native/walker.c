/*
 * walker.c - Walker: the property entry_points of importlib.metadata's distributions.
 *
 * Whoever walks all distributions asks for it hundreds of times: so all that is done
 * each time is done here, and the rest, once for a directory, in _accelerated.py.
 */
#include "libquery/python/native/native.h"

/* --- Walker --- */

/* All of them owned; what they are for says walker_doc. */
struct walker {
	PyObject_HEAD PyObject *kind, *path_type, *entry_point, *entry_points, *parts, *walks,
	        *fallback;
	int parses;
};

PyDoc_STRVAR(
        walker_doc,
        "Walker(kind, path_type, EntryPoint, EntryPoints, parts, walks, fallback, parses)\n--\n\n"
        "Called with a distribution: its entry points, from walks[directory].find(file), or\n"
        "from fallback(distribution) where that is None, or the distribution or its _path\n"
        "are not exactly of these types, or one of the parts is no longer the same. parses: each "
        "value at once.");

static PyObject *walker_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"kind",  "path_type", "EntryPoint", "EntryPoints", "parts",
	                        "walks", "fallback",  "parses",     NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	const struct state *state = PyType_GetModuleState(type);
	struct walker *walker = (struct walker *)allocate(type, 0);

	if (!walker)
		return NULL;
	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO!OO!OOp:Walker", names,
	                                 &walker->kind, &walker->path_type, &PyType_Type,
	                                 &walker->entry_point, &walker->entry_points, state->parts,
	                                 &walker->parts, &walker->walks, &walker->fallback,
	                                 &walker->parses)) {
		walker->kind = walker->path_type = walker->entry_point = NULL;
		walker->entry_points = walker->parts = walker->walks = walker->fallback = NULL;
		Py_DECREF(walker);
		return NULL;
	}
	Py_INCREF(walker->kind);
	Py_INCREF(walker->path_type);
	Py_INCREF(walker->entry_point);
	Py_INCREF(walker->entry_points);
	Py_INCREF(walker->parts);
	Py_INCREF(walker->walks);
	Py_INCREF(walker->fallback);
	return (PyObject *)walker;
}

static int walker_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct walker *walker = (struct walker *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(walker->kind);
	Py_VISIT(walker->path_type);
	Py_VISIT(walker->entry_point);
	Py_VISIT(walker->entry_points);
	Py_VISIT(walker->parts);
	Py_VISIT(walker->walks);
	Py_VISIT(walker->fallback);
	return 0;
}

static int walker_clear(PyObject *self)
{
	struct walker *walker = (struct walker *)self;

	Py_CLEAR(walker->kind);
	Py_CLEAR(walker->path_type);
	Py_CLEAR(walker->entry_point);
	Py_CLEAR(walker->entry_points);
	Py_CLEAR(walker->parts);
	Py_CLEAR(walker->walks);
	Py_CLEAR(walker->fallback);
	return 0;
}

static void walker_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	PyObject_GC_UnTrack(self);
	walker_clear(self);
	release(self);
	Py_DECREF(type);
}

/* What stands before the last slash; the root directory keeps its own. */
static PyObject *directory_of(PyObject *file)
{
	Py_ssize_t length = PyUnicode_GetLength(file);
	Py_ssize_t slash = length < 0 ? -2 : PyUnicode_FindChar(file, '/', 0, length, -1);

	if (slash == -2)
		return NULL;
	if (slash < 0)
		return PyUnicode_FromString("");
	return PyUnicode_Substring(file, 0, slash ? slash : 1);
}

/* (name, value, group) tuples, or None; a new reference. */
static PyObject *rows_of_file(const struct walker *walker, const struct state *state,
                              PyObject *path)
{
	PyObject *file = PyObject_Str(path);
	PyObject *directory = file ? directory_of(file) : NULL;
	PyObject *walk = directory ? PyObject_GetItem(walker->walks, directory) : NULL;
	PyObject *rows = walk ? PyObject_CallMethodObjArgs(walk, state->find, file, NULL) : NULL;

	Py_XDECREF(walk);
	Py_XDECREF(directory);
	Py_XDECREF(file);
	return rows;
}

static PyObject *rows_of_distribution(const struct walker *walker, const struct state *state,
                                      PyObject *distribution)
{
	PyObject *path, *rows = NULL;

	if ((PyObject *)Py_TYPE(distribution) != walker->kind)
		Py_RETURN_NONE;
	path = PyObject_GetAttr(distribution, state->path);
	if (path && ((PyObject *)Py_TYPE(path) != walker->path_type || !all_same(walker->parts)))
		rows = Py_NewRef(Py_None);
	else if (path)
		rows = rows_of_file(walker, state, path);
	Py_XDECREF(path);
	return rows;
}

static PyObject *walker_call(PyObject *self, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
	const struct walker *walker = (struct walker *)self;
	const struct state *state = PyType_GetModuleState(Py_TYPE(self));
	PyObject *distribution, *rows, *list, *found = NULL;

	if (!PyArg_ParseTuple(arguments, "O:Walker", &distribution))
		return NULL;
	rows = rows_of_distribution(walker, state, distribution);
	if (!rows)
		return NULL;
	if (rows == Py_None) {
		Py_DECREF(rows);
		return PyObject_CallFunctionObjArgs(walker->fallback, distribution, NULL);
	}
	list = make_all(state, walker->entry_point, rows, distribution, walker->parses);
	if (list)
		found = PyObject_CallFunctionObjArgs(walker->entry_points, list, NULL);
	Py_XDECREF(list);
	Py_DECREF(rows);
	return found;
}

static PyType_Slot walker_slots[] = {
        {Py_tp_doc, (void *)walker_doc},
        {Py_tp_new, (void *)walker_new},
        {Py_tp_traverse, (void *)walker_traverse},
        {Py_tp_clear, (void *)walker_clear},
        {Py_tp_dealloc, (void *)walker_dealloc},
        {Py_tp_call, (void *)walker_call},
        {0, NULL},
};

PyType_Spec walker_spec = {
        .name = "entrydb._native.Walker",
        .basicsize = sizeof(struct walker),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = walker_slots,
};

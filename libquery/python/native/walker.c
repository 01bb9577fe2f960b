/*
 * walker.c - Walker: the property entry_points of importlib.metadata's distributions.
 *
 * Whoever walks all distributions asks for it hundreds of times: so all that is done
 * each time is done here, and the rest, once for a directory, in _accelerated.py.
 */
#include "libquery/python/native/native.h"

/*
 * Of the directory that was asked about last, as long as the database has it as it is: those
 * who walk stay in it. All of them owned, or NULL.
 */
struct view {
	PyObject *directory, *database;
	PyObject *rows;            /* a dict, by file */
	unsigned long long number; /* of the database, then */
	unsigned fork_depth;       /* of the process whose database it is */
};

/* All of them owned; what they are for says walker_doc. */
struct walker {
	PyObject_HEAD PyObject *kind, *path_type, *entry_point, *entry_points, *parts, *walks,
	        *fallback;
	int parses;
	struct view view;
};

PyDoc_STRVAR(
        walker_doc,
        "Walker(kind, path_type, EntryPoint, EntryPoints, parts, walks, fallback, parses)\n--\n\n"
        "Called with a distribution: its entry points, from walks[directory].find(file), or\n"
        "from fallback(distribution) where that is None, or the distribution or its _path\n"
        "are not exactly of these types, or it has other attributes of its own, or one of the\n"
        "parts is no longer the same. parses: each value at once.");

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

static void view_clear(struct view *view)
{
	Py_CLEAR(view->directory);
	Py_CLEAR(view->database);
	Py_CLEAR(view->rows);
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
	Py_VISIT(walker->view.database);
	Py_VISIT(walker->view.rows);
	return 0;
}

static int walker_clear(PyObject *self)
{
	struct walker *walker = (struct walker *)self;

	view_clear(&walker->view);
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

/* --- files --- */

/* The file name of a path; it has been asked for already where it was made by lookup.c. */
static PyObject *file_of_path(const struct state *state, PyObject *path)
{
	PyObject *file = PyObject_GetAttr(path, state->text);

	if (file && PyUnicode_CheckExact(file))
		return file;
	Py_XDECREF(file);
	PyErr_Clear();
	return PyObject_Str(path);
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

static bool is_in(PyObject *file, PyObject *directory)
{
	Py_ssize_t length = PyUnicode_GetLength(directory);

	return PyUnicode_FindChar(file, '/', 0, PyUnicode_GetLength(file), -1) == length &&
	       PyUnicode_Tailmatch(file, directory, 0, length, -1) == 1;
}

/* --- the view --- */

/* A copy, with references of its own; false where the file is in another directory. */
static bool take_view(struct walker *walker, PyObject *file, struct view *view)
{
	bool is;

	BEGIN_CRITICAL_SECTION(walker);
	*view = walker->view;
	is = view->directory && view->fork_depth == fork_depth() && is_in(file, view->directory);
	if (is) {
		Py_INCREF(view->directory);
		Py_INCREF(view->database);
		Py_INCREF(view->rows);
	}
	END_CRITICAL_SECTION();
	return is;
}

/* What a Walk answers from: (database, number, rows). */
static bool view_of_walk(const struct state *state, PyObject *walk, struct view *view)
{
	PyObject *found = PyObject_GetAttr(walk, state->view);
	bool done = found && PyArg_ParseTuple(found, "O!KO!", state->database, &view->database,
	                                      &view->number, &PyDict_Type, &view->rows);

	if (!done)
		view->database = view->rows = NULL;
	Py_XINCREF(view->database);
	Py_XINCREF(view->rows);
	view->fork_depth = fork_depth();
	Py_XDECREF(found);
	return done;
}

static void keep_view(struct walker *walker, const struct state *state, PyObject *walk,
                      PyObject *directory)
{
	struct view view = {.directory = Py_NewRef(directory)}, before = {0};

	if (view_of_walk(state, walk, &view)) {
		BEGIN_CRITICAL_SECTION(walker);
		before = walker->view;
		walker->view = view;
		END_CRITICAL_SECTION();
		view = before;
	}
	view_clear(&view);
	PyErr_Clear();
}

/* (name, value, group, name, ...); None where the database has no such file. NULL: no view of it.
 */
static PyObject *rows_in_view(struct walker *walker, PyObject *file)
{
	unsigned long long number;
	PyObject *rows = NULL;
	struct view view;

	if (!take_view(walker, file, &view))
		return NULL;
	if (database_number(view.database, &number) && number == view.number) {
		rows = item_of(view.rows, file);
		if (!rows && !PyErr_Occurred())
			rows = Py_NewRef(Py_None);
	}
	view_clear(&view);
	return rows;
}

/* --- Walker --- */

/* The same from walks[directory], in any case. */
static PyObject *rows_of_file(struct walker *walker, const struct state *state, PyObject *file)
{
	PyObject *directory = directory_of(file);
	PyObject *walk = directory ? PyObject_GetItem(walker->walks, directory) : NULL;
	PyObject *rows = walk ? PyObject_CallMethodObjArgs(walk, state->find, file, NULL) : NULL;

	if (rows && rows != Py_None)
		keep_view(walker, state, walk, directory);
	Py_XDECREF(walk);
	Py_XDECREF(directory);
	return rows;
}

static PyObject *rows_of_path(struct walker *walker, const struct state *state, PyObject *path)
{
	PyObject *file = file_of_path(state, path);
	PyObject *rows = file ? rows_in_view(walker, file) : NULL;

	if (file && !rows && !PyErr_Occurred())
		rows = rows_of_file(walker, state, file);
	Py_XDECREF(file);
	return rows;
}

/* It has nothing but its path: a read_text() of its own, say, is what Python would call. */
static bool is_plain(PyObject *distribution)
{
	PyObject *attributes = PyObject_GenericGetDict(distribution, NULL);
	bool is = attributes && PyDict_Size(attributes) == 1;

	Py_XDECREF(attributes);
	PyErr_Clear();
	return is;
}

static PyObject *rows_of_distribution(struct walker *walker, const struct state *state,
                                      PyObject *distribution)
{
	PyObject *path, *rows = NULL;

	if ((PyObject *)Py_TYPE(distribution) != walker->kind || !is_plain(distribution))
		Py_RETURN_NONE;
	path = PyObject_GetAttr(distribution, state->path);
	if (path && ((PyObject *)Py_TYPE(path) != walker->path_type || !all_same(walker->parts)))
		rows = Py_NewRef(Py_None);
	else if (path)
		rows = rows_of_path(walker, state, path);
	Py_XDECREF(path);
	return rows;
}

static PyObject *walker_call(PyObject *self, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
	struct walker *walker = (struct walker *)self;
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

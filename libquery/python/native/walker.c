/*
 * walker.c - the property entry_points of importlib.metadata's distributions.
 *
 * An iteration over all distributions calls it hundreds of times: so the work for each call is
 * done here in C, and the work for each directory in _accelerated.py.
 */
#include "libquery/python/native/native.h"

/* Items of the tuple that is the function's self: the module, then the arguments of walker(). */
enum given { HOME, KIND, PATH_TYPE, ENTRY_POINT, ENTRY_POINTS, SAME, WALKS, FALLBACK, PARSES };

static PyObject *given(PyObject *self, enum given which)
{
	return PyTuple_GetItem(self, which);
}

/* A path caches its text after the first str(). */
static PyObject *file_of_path(const struct state *state, PyObject *path)
{
	PyObject *file = PyObject_GetAttr(path, state->names[TEXT]);

	if (file && PyUnicode_CheckExact(file))
		return file;
	Py_XDECREF(file);
	PyErr_Clear();
	return PyObject_Str(path);
}

/* The part before the last slash; "/" for files in the root directory. */
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

/*
 * (name, value, group, name, ...); None if the database has no such file. @view: (database, number,
 * rows by file). NULL if @view is not a tuple or the directory has changed.
 */
static PyObject *rows_in_view(const struct state *state, PyObject *view, PyObject *file)
{
	unsigned long long number, known;
	PyObject *database, *rows = NULL;

	if (!PyTuple_CheckExact(view))
		return NULL;
	database = PyTuple_GetItem(view, 0);
	known = PyLong_AsUnsignedLongLong(PyTuple_GetItem(view, 1));
	if (!PyErr_Occurred() && PyObject_TypeCheck(database, state->database) &&
	    database_number(database, &number) && number == known) {
		rows = item_of(PyTuple_GetItem(view, 2), file);
		if (!rows && !PyErr_Occurred())
			rows = Py_NewRef(Py_None);
	}
	PyErr_Clear();
	return rows;
}

/* The same from walks[directory], which reads the database again if necessary. */
static PyObject *rows_of_file(PyObject *self, const struct state *state, PyObject *file)
{
	PyObject *directory = directory_of(file);
	PyObject *walk = directory ? PyObject_GetItem(given(self, WALKS), directory) : NULL;
	PyObject *view = walk ? PyObject_GetAttr(walk, state->names[VIEW]) : NULL;
	PyObject *rows = view ? rows_in_view(state, view, file) : NULL;

	if (view && !rows)
		rows = PyObject_CallMethodObjArgs(walk, state->names[FIND], file, NULL);
	Py_XDECREF(view);
	Py_XDECREF(walk);
	Py_XDECREF(directory);
	return rows;
}

/* Its only attribute is _path: a read_text() set on the object, for instance, must be called. */
static bool is_plain(PyObject *distribution)
{
	PyObject *attributes = PyObject_GenericGetDict(distribution, NULL);
	bool is = attributes && PyDict_Size(attributes) == 1;

	Py_XDECREF(attributes);
	PyErr_Clear();
	return is;
}

static PyObject *rows_of_distribution(PyObject *self, const struct state *state,
                                      PyObject *distribution)
{
	PyObject *path, *file, *rows;

	if ((PyObject *)Py_TYPE(distribution) != given(self, KIND) || !is_plain(distribution))
		Py_RETURN_NONE;
	path = PyObject_GetAttr(distribution, state->names[PATH]);
	if (!path)
		return NULL;
	if ((PyObject *)Py_TYPE(path) != given(self, PATH_TYPE) || !all_same(given(self, SAME))) {
		Py_DECREF(path);
		Py_RETURN_NONE;
	}
	file = file_of_path(state, path);
	rows = file ? rows_of_file(self, state, file) : NULL;
	Py_XDECREF(file);
	Py_DECREF(path);
	return rows;
}

static PyObject *the_distribution(void *distribution, PyObject *Py_UNUSED(rows),
                                  Py_ssize_t Py_UNUSED(at))
{
	return distribution;
}

static PyObject *entry_points(PyObject *self, PyObject *distribution)
{
	const struct state *state = PyModule_GetState(given(self, HOME));
	PyObject *rows = rows_of_distribution(self, state, distribution), *list = NULL, *found;
	struct maker maker;

	if (!rows)
		return NULL;
	if (rows == Py_None) {
		Py_DECREF(rows);
		return PyObject_CallFunctionObjArgs(given(self, FALLBACK), distribution, NULL);
	}
	if (maker_init(&maker, state, given(self, ENTRY_POINT), given(self, PARSES) == Py_True))
		list = make_all(&maker, rows, FIELDS, the_distribution, distribution);
	Py_DECREF(rows);
	found = list ? PyObject_CallFunctionObjArgs(given(self, ENTRY_POINTS), list, NULL) : NULL;
	Py_XDECREF(list);
	return found;
}

static PyMethodDef entry_points_method = {"entry_points", entry_points, METH_O, NULL};

PyObject *walker(PyObject *module, PyObject *arguments)
{
	PyObject *kind, *path_type, *entry_point, *made, *same, *walks, *fallback, *self, *function;
	int parses;

	if (!PyArg_ParseTuple(arguments, "OOO!OO!OOp:walker", &kind, &path_type, &PyType_Type,
	                      &entry_point, &made, &PyCFunction_Type, &same, &walks, &fallback,
	                      &parses))
		return NULL;
	self = PyTuple_Pack(PARSES + 1, module, kind, path_type, entry_point, made,
	                    PyCFunction_GetSelf(same), walks, fallback,
	                    parses ? Py_True : Py_False);
	function = self ? PyCFunction_New(&entry_points_method, self) : NULL;
	Py_XDECREF(self);
	return function;
}

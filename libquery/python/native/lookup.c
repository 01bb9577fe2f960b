/*
 * lookup.c - Filler: what metadata a directory holds, as a Lookup of importlib.metadata's.
 *
 * Whoever walks over all distributions, or asks for one, makes it list each directory anew that
 * has changed, and look at each name: that takes longer than all entry points from the
 * database. Here the same is made of the same listing: the same dicts, lists and paths, under
 * the same keys. A path is built from one that Python has made; its text, which Python makes at
 * the first need, it has from the start. Whatever is not usual is left to Python: zips, eggs,
 * names that are not ASCII.
 */
#include <string.h>

#include "libquery/python/native/native.h"

#define NAME_LENGTH_MAX 255 /* of a child of a directory */

/* All of them owned; what they are for says filler_doc. */
struct filler {
	PyObject_HEAD PyObject *lookup, *fast_path, *path_type, *dict, *list_directory, *parts;
	int is_raw;
};

PyDoc_STRVAR(
        filler_doc,
        "Filler(Lookup, FastPath, path_type, FreezableDefaultDict, listdir, parts, is_raw)\n--\n\n"
        "Called with a Lookup and a FastPath: does what Lookup.__init__() would; False where that\n"
        "has to do it, because it is no plain directory, or one of the parts is no longer the\n"
        "same. is_raw: a path is kept as what it was made of, and not taken apart at once.");

/* --- which children are metadata --- */

/* In no locale. */
static Py_UCS4 lower(Py_UCS4 letter)
{
	return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
}

static bool ends_as(const char *name, size_t length, const char *end)
{
	size_t end_length = strlen(end);

	if (length < end_length)
		return false;
	name += length - end_length;
	while (*end && lower((unsigned char)*name) == (unsigned char)*end)
		name++, end++;
	return !*end;
}

static size_t length_of_suffix(const char *name, size_t length)
{
	static const char *const suffixes[] = {".dist-info", ".egg-info"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (ends_as(name, length, suffixes[i]))
			return strlen(suffixes[i]);
	return 0;
}

/* As Prepared.normalize() of what stands before the first hyphen. */
static PyObject *normalized(const char *name, size_t length)
{
	char text[NAME_LENGTH_MAX];
	size_t used = 0;

	for (size_t i = 0; i < length && name[i] != '-'; i++) {
		bool joins = name[i] == '_' || name[i] == '.';

		if (joins && used > 0 && text[used - 1] == '_')
			continue;
		text[used++] = joins ? '_' : (char)lower((unsigned char)name[i]);
	}
	return PyUnicode_FromStringAndSize(text, (Py_ssize_t)used);
}

/* The key of a child: NULL for one that is no metadata, or where *usual becomes false. */
static PyObject *key_of(PyObject *child, bool *usual)
{
	Py_ssize_t bytes;
	const char *name =
	        PyUnicode_CheckExact(child) ? PyUnicode_AsUTF8AndSize(child, &bytes) : NULL;
	size_t length, suffix;

	PyErr_Clear(); /* a lone surrogate */
	*usual = name && bytes <= NAME_LENGTH_MAX;
	if (!*usual)
		return NULL;
	length = (size_t)bytes;
	suffix = length_of_suffix(name, length);
	if (!suffix)
		return NULL;
	*usual = PyUnicode_GetLength(child) == bytes;
	return *usual ? normalized(name, length - suffix) : NULL;
}

/* --- paths --- */

/* What the paths of one directory have in common. */
struct model {
	const struct filler *filler;
	const struct state *state;
	newfunc construct;
	PyObject *empty;
	PyObject *root;                /* as it is spelled */
	PyObject *start;               /* of the text of a path */
	PyObject *drive, *top, *parts; /* unless paths are raw: of the first one */
};

static PyObject *start_of(PyObject *path, PyObject *child)
{
	PyObject *text = PyObject_Str(path), *start = NULL;

	if (text && PyUnicode_Tailmatch(text, child, 0, PY_SSIZE_T_MAX, 1) == 1)
		start = PyUnicode_Substring(text, 0,
		                            PyUnicode_GetLength(text) - PyUnicode_GetLength(child));
	Py_XDECREF(text);
	return start;
}

/* From the path of a child that Python has made. */
static bool model_init(struct model *model, PyObject *path, PyObject *child)
{
	const struct state *state = model->state;

	model->empty = PyTuple_New(0);
	model->construct = (newfunc)PyType_GetSlot(&PyBaseObject_Type, Py_tp_new);
	model->start = start_of(path, child);
	if (!model->filler->is_raw) {
		model->drive = PyObject_GetAttr(path, state->drive);
		model->top = PyObject_GetAttr(path, state->top);
		model->parts = PyObject_GetAttr(path, state->parts_of_path);
		PyErr_Clear(); /* there are none */
	}
	return model->empty && model->start &&
	       (model->filler->is_raw ||
	        (model->drive && model->top && model->parts && PyList_CheckExact(model->parts)));
}

static void model_clear(struct model *model)
{
	Py_XDECREF(model->empty);
	Py_XDECREF(model->start);
	Py_XDECREF(model->drive);
	Py_XDECREF(model->top);
	Py_XDECREF(model->parts);
}

static bool set_raw(const struct model *model, PyObject *path, PyObject *child)
{
	PyObject *raw = PyList_New(2);
	bool done;

	if (raw) {
		PyList_SetItem(raw, 0, Py_NewRef(model->root));
		PyList_SetItem(raw, 1, Py_NewRef(child));
	}
	done = raw && PyObject_SetAttr(path, model->state->raw_paths, raw) == 0;
	Py_XDECREF(raw);
	return done;
}

static bool set_parts(const struct model *model, PyObject *path, PyObject *child)
{
	const struct state *state = model->state;
	PyObject *parts = PyList_GetSlice(model->parts, 0, PyList_Size(model->parts)),
	         *last = child;
	bool done;

	Py_INCREF(last);
	PyUnicode_InternInPlace(&last);
	done = parts && PyList_SetItem(parts, PyList_Size(parts) - 1, last) == 0 &&
	       PyObject_SetAttr(path, state->drive, model->drive) == 0 &&
	       PyObject_SetAttr(path, state->top, model->top) == 0 &&
	       PyObject_SetAttr(path, state->parts_of_path, parts) == 0;
	if (!parts)
		Py_DECREF(last);
	Py_XDECREF(parts);
	return done;
}

/* As Path(root, child). */
static PyObject *make_path(const struct model *model, PyObject *child)
{
	PyObject *path =
	        model->construct((PyTypeObject *)model->filler->path_type, model->empty, NULL);
	PyObject *text = path ? PyUnicode_Concat(model->start, child) : NULL;
	bool done = text && PyObject_SetAttr(path, model->state->text, text) == 0 &&
	            (model->filler->is_raw ? set_raw(model, path, child)
	                                   : set_parts(model, path, child));

	Py_XDECREF(text);
	if (!done)
		Py_CLEAR(path);
	return path;
}

/* The first path is Python's work, by which the others are made. */
static PyObject *path_of(struct model *model, PyObject *fast_path, PyObject *child)
{
	PyObject *path;

	if (model->start)
		return make_path(model, child);
	path = PyObject_CallMethodObjArgs(fast_path, model->state->joinpath, child, NULL);
	if (path && ((PyObject *)Py_TYPE(path) != model->filler->path_type ||
	             !model_init(model, path, child)))
		Py_CLEAR(path);
	return path;
}

/* --- a directory --- */

static bool add_path(PyObject *infos, PyObject *key, PyObject *path)
{
	PyObject *paths = PyDict_GetItemWithError(infos, key);
	bool done;

	if (paths)
		return PyList_Append(paths, path) == 0;
	paths = PyErr_Occurred() ? NULL : PyList_New(0);
	done = paths && PyList_Append(paths, path) == 0 && PyDict_SetItem(infos, key, paths) == 0;
	Py_XDECREF(paths);
	return done;
}

static bool add_child(struct model *model, PyObject *fast_path, PyObject *child, PyObject *infos)
{
	bool usual, done;
	PyObject *key = key_of(child, &usual), *path;

	if (!key)
		return usual && !PyErr_Occurred();
	path = path_of(model, fast_path, child);
	done = path && add_path(infos, key, path);
	Py_XDECREF(path);
	Py_DECREF(key);
	return done;
}

/* NULL where something is not usual. */
static PyObject *infos_of(struct model *model, PyObject *fast_path, PyObject *names)
{
	PyObject *infos =
	        PyObject_CallFunctionObjArgs(model->filler->dict, (PyObject *)&PyList_Type, NULL);
	bool done = infos && PyDict_Check(infos);

	for (Py_ssize_t i = 0; done && i < PyList_Size(names); i++)
		done = add_child(model, fast_path, PyList_GetItem(names, i), infos);
	if (!done)
		Py_CLEAR(infos);
	return infos;
}

static bool freeze(const struct state *state, PyObject *dict)
{
	PyObject *answer = PyObject_CallMethodObjArgs(dict, state->freeze, NULL);

	Py_XDECREF(answer);
	return answer != NULL;
}

/* Into the Lookup; what has been put there already Python puts there anew. */
static bool put(const struct filler *filler, const struct state *state, PyObject *lookup,
                PyObject *infos)
{
	PyObject *eggs = PyObject_CallFunctionObjArgs(filler->dict, (PyObject *)&PyList_Type, NULL);
	bool done = eggs && freeze(state, infos) && freeze(state, eggs) &&
	            PyObject_SetAttr(lookup, state->infos, infos) == 0 &&
	            PyObject_SetAttr(lookup, state->eggs, eggs) == 0;

	Py_XDECREF(eggs);
	return done;
}

/* The root of a FastPath that nobody has changed, a new reference; its lookup() is a cache's. */
static PyObject *plain_root(const struct state *state, PyObject *fast_path)
{
	PyObject *attributes = PyObject_GenericGetDict(fast_path, NULL);
	PyObject *root = attributes ? item_of(attributes, state->root) : NULL;
	Py_ssize_t others = attributes ? PyDict_Size(attributes) - 1 : 0;

	if (root && others > 0 && PyDict_GetItemWithError(attributes, state->lookup))
		others--;
	if (root && (others > 0 || !PyUnicode_CheckExact(root)))
		Py_CLEAR(root);
	Py_XDECREF(attributes);
	PyErr_Clear(); /* it has no attributes */
	return root;
}

static bool is_egg(PyObject *root)
{
	static const char end[] = ".egg";
	Py_ssize_t length = PyUnicode_GetLength(root), from = length - (Py_ssize_t)strlen(end);

	for (Py_ssize_t i = 0; from >= 0 && i < (Py_ssize_t)strlen(end); i++) {
		if (lower(PyUnicode_ReadChar(root, from + i)) != (Py_UCS4)end[i])
			return false;
	}
	return from >= 0;
}

static PyObject *list_directory(const struct filler *filler, PyObject *root)
{
	PyObject *here = PyUnicode_FromString("."), *names = NULL;

	if (here)
		names = PyObject_CallFunctionObjArgs(filler->list_directory,
		                                     PyUnicode_GetLength(root) ? root : here, NULL);
	Py_XDECREF(here);
	PyErr_Clear(); /* it will fail for Python, too, and be told */
	if (names && !PyList_CheckExact(names))
		Py_CLEAR(names);
	return names;
}

static bool fill(const struct filler *filler, const struct state *state, PyObject *lookup,
                 PyObject *fast_path)
{
	struct model model = {.filler = filler, .state = state};
	PyObject *names = NULL, *infos = NULL;
	bool done;

	model.root = plain_root(state, fast_path);
	if (model.root && !is_egg(model.root))
		names = list_directory(filler, model.root);
	if (names)
		infos = infos_of(&model, fast_path, names);
	done = infos && put(filler, state, lookup, infos);
	Py_XDECREF(infos);
	Py_XDECREF(names);
	model_clear(&model);
	Py_XDECREF(model.root);
	return done;
}

static PyObject *filler_call(PyObject *self, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
	const struct filler *filler = (struct filler *)self;
	const struct state *state = PyType_GetModuleState(Py_TYPE(self));
	PyObject *lookup, *fast_path;
	bool done;

	if (!PyArg_ParseTuple(arguments, "OO:Filler", &lookup, &fast_path))
		return NULL;
	done = (PyObject *)Py_TYPE(lookup) == filler->lookup &&
	       (PyObject *)Py_TYPE(fast_path) == filler->fast_path && all_same(filler->parts) &&
	       fill(filler, state, lookup, fast_path);
	/* Of a handler of a signal, which runs wherever a function of Python's does. */
	return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}

/* --- Filler --- */

static PyObject *filler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"Lookup",  "FastPath", "path_type", "FreezableDefaultDict",
	                        "listdir", "parts",    "is_raw",    NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	const struct state *state = PyType_GetModuleState(type);
	struct filler given, *filler;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO!OOO!p:Filler", names,
	                                 &given.lookup, &given.fast_path, &PyType_Type,
	                                 &given.path_type, &given.dict, &given.list_directory,
	                                 state->parts, &given.parts, &given.is_raw))
		return NULL;
	filler = (struct filler *)allocate(type, 0);
	if (!filler)
		return NULL;
	filler->lookup = Py_NewRef(given.lookup);
	filler->fast_path = Py_NewRef(given.fast_path);
	filler->path_type = Py_NewRef(given.path_type);
	filler->dict = Py_NewRef(given.dict);
	filler->list_directory = Py_NewRef(given.list_directory);
	filler->parts = Py_NewRef(given.parts);
	filler->is_raw = given.is_raw;
	return (PyObject *)filler;
}

static int filler_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct filler *filler = (struct filler *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(filler->lookup);
	Py_VISIT(filler->fast_path);
	Py_VISIT(filler->path_type);
	Py_VISIT(filler->dict);
	Py_VISIT(filler->list_directory);
	Py_VISIT(filler->parts);
	return 0;
}

static int filler_clear(PyObject *self)
{
	struct filler *filler = (struct filler *)self;

	Py_CLEAR(filler->lookup);
	Py_CLEAR(filler->fast_path);
	Py_CLEAR(filler->path_type);
	Py_CLEAR(filler->dict);
	Py_CLEAR(filler->list_directory);
	Py_CLEAR(filler->parts);
	return 0;
}

static void filler_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	PyObject_GC_UnTrack(self);
	filler_clear(self);
	release(self);
	Py_DECREF(type);
}

static PyType_Slot filler_slots[] = {
        {Py_tp_doc, (void *)filler_doc},
        {Py_tp_new, (void *)filler_new},
        {Py_tp_traverse, (void *)filler_traverse},
        {Py_tp_clear, (void *)filler_clear},
        {Py_tp_dealloc, (void *)filler_dealloc},
        {Py_tp_call, (void *)filler_call},
        {0, NULL},
};

PyType_Spec filler_spec = {
        .name = "entrydb._native.Filler",
        .basicsize = sizeof(struct filler),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = filler_slots,
};

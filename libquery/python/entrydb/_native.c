/*
 * _native.c - libentrydb for Python, no more than the package needs of it.
 *
 * A Database is a handle on path entries. It answers with objects of a class
 * that it is given, stock's own EntryPoint or the package's, so that nothing is
 * built twice. Whatever cannot be vouched for is answered by None: then the
 * caller asks stock. Uses the limited API of CPython 3.10.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "entrydb.h"

/* Module slots that the limited API of 3.10 does not know yet; see module_slots(). */
#define SLOT_MULTIPLE_INTERPRETERS 3 /* since 3.12 */
#define SLOT_GIL                   4 /* since 3.13 */

struct state {
	PyTypeObject *database, *walker;
	PyObject *name, *value, *group, *dist; /* interned: the attributes of an entry point */
	PyObject *path, *find;                 /* "_path" and "find" */
};

struct database {
	PyObject_HEAD entrydb *db;
	pid_t pid; /* whose handle it is: a child must not touch it */
};

/* --- making entry points --- */

/* How to make objects of an EntryPoint class; all pointers are borrowed. */
struct maker {
	const struct state *state;
	PyObject *type;
	PyObject *empty; /* () */
	bool is_tuple;   /* a named tuple, as in 3.10; else its instances have a __dict__ */
	newfunc construct;
};

static bool maker_init(struct maker *maker, const struct state *state, PyObject *type,
                       PyObject *empty)
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
static PyObject *make_tuple(const struct maker *maker, PyObject *row, PyObject *dist)
{
	PyObject *arguments = PyTuple_Pack(1, row);
	PyObject *made = NULL;

	if (arguments)
		made = maker->construct((PyTypeObject *)maker->type, arguments, NULL);
	Py_XDECREF(arguments);
	if (made && PyObject_SetAttr(made, maker->state->dist, dist) < 0)
		Py_CLEAR(made);
	return made;
}

/* The same since 3.11, where the class forbids the setting of attributes. */
static PyObject *make_object(const struct maker *maker, PyObject *row, PyObject *dist)
{
	const struct state *state = maker->state;
	PyObject *made = maker->construct((PyTypeObject *)maker->type, maker->empty, NULL);
	PyObject *fields = made ? PyObject_GenericGetDict(made, NULL) : NULL;

	if (!fields || PyDict_SetItem(fields, state->name, PyTuple_GetItem(row, 0)) < 0 ||
	    PyDict_SetItem(fields, state->value, PyTuple_GetItem(row, 1)) < 0 ||
	    PyDict_SetItem(fields, state->group, PyTuple_GetItem(row, 2)) < 0 ||
	    PyDict_SetItem(fields, state->dist, dist) < 0)
		Py_CLEAR(made);
	Py_XDECREF(fields);
	return made;
}

/* @row: a tuple (name, value, group). */
static PyObject *make(const struct maker *maker, PyObject *row, PyObject *dist)
{
	return maker->is_tuple ? make_tuple(maker, row, dist) : make_object(maker, row, dist);
}

static PyObject *text_of(const entrydb_entry *entry, enum entrydb_field field)
{
	size_t length;
	const char *text = entrydb_entry_text(entry, field, &length);

	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "strict");
}

static bool same_group(const entrydb_entry *a, const entrydb_entry *b)
{
	size_t a_length, b_length;
	const char *a_text = entrydb_entry_text(a, ENTRYDB_GROUP, &a_length);
	const char *b_text = entrydb_entry_text(b, ENTRYDB_GROUP, &b_length);

	return a_length == b_length && memcmp(a_text, b_text, a_length) == 0;
}

/* The group of an entry; neighbours in a group share one object, as with stock. */
static PyObject *group_of(const entrydb_set *set, size_t index, PyObject *row_before)
{
	const entrydb_entry *entry = entrydb_set_get(set, index);

	if (row_before && same_group(entry, entrydb_set_get(set, index - 1)))
		return Py_NewRef(PyTuple_GetItem(row_before, 2));
	return text_of(entry, ENTRYDB_GROUP);
}

/* (name, value, group) of an entry; @row_before: of the one before it, or NULL. */
static PyObject *row_of(const entrydb_set *set, size_t index, PyObject *row_before)
{
	const entrydb_entry *entry = entrydb_set_get(set, index);
	PyObject *name = text_of(entry, ENTRYDB_NAME);
	PyObject *value = text_of(entry, ENTRYDB_VALUE);
	PyObject *group = group_of(set, index, row_before);
	PyObject *row = name && value && group ? PyTuple_Pack(3, name, value, group) : NULL;

	Py_XDECREF(name);
	Py_XDECREF(value);
	Py_XDECREF(group);
	return row;
}

/* --- distributions of entry points --- */

/* What locate(path, file) gave for the distributions met so far, by file. */
struct locator {
	PyObject *locate, *known;
};

static PyObject *locate(struct locator *locator, const entrydb_entry *entry)
{
	const char *path = entrydb_entry_path(entry), *file = entrydb_entry_file(entry);
	PyObject *key = PyUnicode_DecodeFSDefault(file);
	PyObject *dist = key ? PyDict_GetItemWithError(locator->known, key) : NULL;
	PyObject *spelled;

	Py_XINCREF(dist);
	if (!key || dist || PyErr_Occurred()) {
		Py_XDECREF(key);
		return dist;
	}
	spelled = PyUnicode_DecodeFSDefault(path);
	if (spelled)
		dist = PyObject_CallFunctionObjArgs(locator->locate, spelled, key, NULL);
	if (dist && PyDict_SetItem(locator->known, key, dist) < 0)
		Py_CLEAR(dist);
	Py_XDECREF(spelled);
	Py_DECREF(key);
	return dist;
}

/* *row: of the entry before, is replaced by this one's. */
static PyObject *make_entry(const struct maker *maker, struct locator *locator,
                            const entrydb_set *set, size_t index, PyObject **row)
{
	PyObject *dist = locate(locator, entrydb_set_get(set, index));
	PyObject *before = *row, *made;

	*row = dist ? row_of(set, index, before) : NULL;
	made = *row ? make(maker, *row, dist) : NULL;
	Py_XDECREF(before);
	Py_XDECREF(dist);
	return made;
}

static PyObject *make_entries(const struct maker *maker, struct locator *locator,
                              const entrydb_set *set)
{
	size_t count = entrydb_set_count(set);
	PyObject *list = PyList_New((Py_ssize_t)count), *row = NULL;

	for (size_t i = 0; list && i < count; i++) {
		PyObject *made = make_entry(maker, locator, set, i, &row);

		if (!made || PyList_SetItem(list, (Py_ssize_t)i, made) < 0)
			Py_CLEAR(list);
	}
	Py_XDECREF(row);
	return list;
}

/* --- forks --- */

/*
 * Threads are in the library without Python's lock, and may hold one of the library's or
 * of SQLite's; a child that is forked at that moment would wait for it for ever. So
 * fork() waits until they are out, in whichever thread or interpreter they are.
 */
static pthread_rwlock_t in_library;
static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;

static void init_in_library(void)
{
	pthread_rwlockattr_t how;

	/* New threads do not keep a fork waiting. */
	pthread_rwlockattr_init(&how);
	pthread_rwlockattr_setkind_np(&how, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&in_library, &how);
	pthread_rwlockattr_destroy(&how);
}

static void before_fork(void)
{
	pthread_rwlock_wrlock(&in_library);
}

static void after_fork_in_parent(void)
{
	pthread_rwlock_unlock(&in_library);
}

static void watch_forks(void)
{
	init_in_library();
	pthread_atfork(before_fork, after_fork_in_parent, init_in_library);
}

/* Without Python's lock: a scan may take long, and the disk may be far away. */
static PyThreadState *enter_library(void)
{
	PyThreadState *thread = PyEval_SaveThread();

	pthread_rwlock_rdlock(&in_library);
	return thread;
}

static void leave_library(PyThreadState *thread)
{
	pthread_rwlock_unlock(&in_library);
	PyEval_RestoreThread(thread);
}

/* --- Database --- */

/* Out of memory is raised; any other failure is "not vouched for": *out is a new None. */
static PyObject *not_vouched(int code, entrydb_error *error)
{
	entrydb_error_clear(error);
	if (code == ENTRYDB_ENOMEM)
		return PyErr_NoMemory();
	Py_RETURN_NONE;
}

/*
 * A str that can be asked for, as UTF-8, into *out; NULL for None. False: no group
 * or name of a database can be equal to it, or an error is set.
 */
static bool text_argument(PyObject *object, const char **out)
{
	Py_ssize_t length;

	*out = NULL;
	if (object == Py_None)
		return true;
	*out = PyUnicode_AsUTF8AndSize(object, &length);
	if (!*out && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
		PyErr_Clear(); /* a lone surrogate */
	return *out && strlen(*out) == (size_t)length;
}

PyDoc_STRVAR(select_doc, "select(group, name, type, locate, /)\n--\n\n"
                         "The entry points of a group and a name (None: any), as a list of\n"
                         "objects of type, whose dist is what locate(path entry, metadata\n"
                         "directory) returns; None where stock has to be asked.");

static PyObject *database_select(PyObject *self, PyObject *arguments)
{
	struct database *database = (struct database *)self;
	const struct state *state = PyType_GetModuleState(Py_TYPE(self));
	PyObject *group, *name, *type, *function, *empty, *list = NULL;
	const char *group_text, *name_text;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_set *set = NULL;
	PyThreadState *thread;
	struct maker maker;
	int code;

	if (!PyArg_ParseTuple(arguments, "OOOO:select", &group, &name, &type, &function))
		return NULL;
	if (!text_argument(group, &group_text) || !text_argument(name, &name_text))
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	thread = enter_library();
	code = entrydb_select(database->db, group_text, name_text, &set, &error);
	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	if (entrydb_set_problem_count(set) > 0) {
		entrydb_set_free(set);
		Py_RETURN_NONE;
	}
	empty = PyTuple_New(0);
	if (empty && maker_init(&maker, state, type, empty)) {
		struct locator locator = {function, PyDict_New()};

		if (locator.known)
			list = make_entries(&maker, &locator, set);
		Py_XDECREF(locator.known);
	}
	Py_XDECREF(empty);
	entrydb_set_free(set);
	return list;
}

PyDoc_STRVAR(refresh_doc, "refresh()\n--\n\n"
                          "Look at the disk. A number that stays as long as the database has all\n"
                          "path entries as they are; None where something has to be scanned.");

/* Do all path entries that are there stand in a database, unchanged? */
static bool is_indexed(entrydb *db)
{
	size_t count = entrydb_root_count(db);
	entrydb_root root;

	for (size_t i = 0; i < count; i++)
		if (entrydb_root_get(db, i, &root, NULL) < 0 || strcmp(root.state, "fresh") != 0)
			return false;
	return true;
}

static PyObject *database_refresh(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	unsigned long long number = 0;
	PyThreadState *thread;
	bool indexed = false;
	int code;

	thread = enter_library();
	code = entrydb_refresh(database->db, &number, &error);
	if (code == 0)
		indexed = is_indexed(database->db);
	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	if (!indexed)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLongLong(number);
}

PyDoc_STRVAR(survey_doc,
             "survey()\n--\n\n"
             "Every distribution: a dict from the file name of its metadata to a tuple\n"
             "of (name, value, group) tuples, or to None where stock would raise.");

static PyObject *rows_of(const entrydb_set *set, const entrydb_distribution *distribution)
{
	PyObject *rows;

	if (distribution->problem)
		Py_RETURN_NONE;
	rows = PyTuple_New((Py_ssize_t)distribution->count);
	for (size_t i = 0; rows && i < distribution->count; i++) {
		PyObject *row = row_of(set, distribution->first + i,
		                       i ? PyTuple_GetItem(rows, (Py_ssize_t)i - 1) : NULL);

		if (!row || PyTuple_SetItem(rows, (Py_ssize_t)i, row) < 0)
			Py_CLEAR(rows);
	}
	return rows;
}

static bool put_distribution(PyObject *dict, const entrydb_set *set,
                             const entrydb_distribution *distribution)
{
	PyObject *file = PyUnicode_DecodeFSDefault(distribution->file);
	PyObject *rows = file ? rows_of(set, distribution) : NULL;
	bool done = rows && PyDict_SetItem(dict, file, rows) == 0;

	Py_XDECREF(rows);
	Py_XDECREF(file);
	return done;
}

static PyObject *database_survey(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_set *set = NULL;
	PyThreadState *thread;
	PyObject *dict;
	int code;

	thread = enter_library();
	code = entrydb_survey(database->db, &set, &error);
	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	dict = PyDict_New();
	for (size_t i = 0; dict && i < entrydb_set_distribution_count(set); i++)
		if (!put_distribution(dict, set, entrydb_set_distribution(set, i)))
			Py_CLEAR(dict);
	entrydb_set_free(set);
	return dict;
}

PyDoc_STRVAR(roots_doc, "roots()\n--\n\n"
                        "(path entry, database or None, state, reason) of each path entry, as of\n"
                        "the last answer.");

static PyObject *database_roots(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	size_t count = entrydb_root_count(database->db);
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < count; i++) {
		entrydb_root root;
		PyObject *item;

		if (entrydb_root_get(database->db, i, &root, NULL) < 0)
			continue;
		item = Py_BuildValue("(NNss)", PyUnicode_DecodeFSDefault(root.path),
		                     root.database ? PyUnicode_DecodeFSDefault(root.database)
		                                   : Py_NewRef(Py_None),
		                     root.state, root.reason);
		if (!item || PyList_Append(list, item) < 0)
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	return list;
}

/* The path entries as the file system spells them, in a new tuple of bytes. */
static PyObject *encode_path(PyObject *path)
{
	Py_ssize_t count = PyTuple_Size(path);
	PyObject *encoded = count < 0 ? NULL : PyTuple_New(count);

	for (Py_ssize_t i = 0; encoded && i < count; i++) {
		PyObject *bytes = PyUnicode_EncodeFSDefault(PyTuple_GetItem(path, i));

		if (!bytes || PyTuple_SetItem(encoded, i, bytes) < 0)
			Py_CLEAR(encoded);
	}
	return encoded;
}

static int open_path(PyObject *encoded, int rules, entrydb **out, entrydb_error *error)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	Py_ssize_t count = PyTuple_Size(encoded);
	const char **path = PyMem_Malloc((size_t)(count + 1) * sizeof(*path));
	int code = path ? 0 : ENTRYDB_ENOMEM;

	options.rules = (enum entrydb_rules)rules;
	for (Py_ssize_t i = 0; code == 0 && i < count; i++) {
		char *entry;

		/* A NUL inside is refused, with ValueError. */
		if (PyBytes_AsStringAndSize(PyTuple_GetItem(encoded, i), &entry, NULL) < 0)
			code = ENTRYDB_EINVAL;
		else
			path[i] = entry;
	}
	if (code == 0) {
		PyThreadState *thread = enter_library();

		code = entrydb_open(path, (size_t)count, &options, out, error);
		leave_library(thread);
	}
	PyMem_Free(path);
	return code;
}

static PyObject *raise(int code, entrydb_error *error)
{
	if (PyErr_Occurred())
		return NULL;
	if (code == ENTRYDB_ENOMEM)
		PyErr_NoMemory();
	else
		PyErr_SetString(PyExc_OSError, entrydb_error_message(error));
	entrydb_error_clear(error);
	return NULL;
}

static PyObject *database_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"path", "rules", NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	entrydb_error error = ENTRYDB_ERROR_INIT;
	int rules = ENTRYDB_RULES_DEFAULT, code;
	struct database *database;
	PyObject *path, *encoded;
	entrydb *db = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!|i:Database", names, &PyTuple_Type,
	                                 &path, &rules))
		return NULL;
	encoded = encode_path(path);
	if (!encoded)
		return NULL;
	code = open_path(encoded, rules, &db, &error);
	Py_DECREF(encoded);
	if (code < 0)
		return raise(code, &error);
	database = (struct database *)allocate(type, 0);
	if (!database) {
		entrydb_close(db);
		return NULL;
	}
	database->db = db;
	database->pid = getpid();
	return (PyObject *)database;
}

/* In a child, the parent's handle is left alone: another thread may have held its lock. */
static void database_dealloc(PyObject *self)
{
	struct database *database = (struct database *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	if (database->pid == getpid()) {
		pthread_rwlock_rdlock(&in_library);
		entrydb_close(database->db);
		pthread_rwlock_unlock(&in_library);
	}
	release(self);
	Py_DECREF(type);
}

static PyMethodDef database_methods[] = {
        {"select", database_select, METH_VARARGS, select_doc},
        {"refresh", database_refresh, METH_NOARGS, refresh_doc},
        {"survey", database_survey, METH_NOARGS, survey_doc},
        {"roots", database_roots, METH_NOARGS, roots_doc},
        {0},
};

PyDoc_STRVAR(database_doc, "Database(path, rules=0)\n--\n\n"
                           "A handle on a tuple of path entries. Threads may share it; a child of\n"
                           "fork() may not.");

static PyType_Slot database_slots[] = {
        {Py_tp_doc, (void *)database_doc},
        {Py_tp_new, (void *)database_new},
        {Py_tp_dealloc, (void *)database_dealloc},
        {Py_tp_methods, database_methods},
        {0, NULL},
};

static PyType_Spec database_spec = {
        .name = "entrydb._native.Database",
        .basicsize = sizeof(struct database),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = database_slots,
};

/* --- what a program may have replaced --- */

/* A class's namespace is a proxy, a module's is a dict. */
static bool is_same(PyObject *part)
{
	PyObject *found = PyObject_GetItem(PyTuple_GetItem(part, 0), PyTuple_GetItem(part, 1));

	Py_XDECREF(found); /* its namespace holds it */
	return found && found == PyTuple_GetItem(part, 2);
}

static bool all_same(PyObject *parts)
{
	Py_ssize_t count = PyTuple_Size(parts);

	for (Py_ssize_t i = 0; i < count; i++)
		if (!is_same(PyTuple_GetItem(parts, i))) {
			PyErr_Clear(); /* it is gone */
			return false;
		}
	return true;
}

PyDoc_STRVAR(same_doc, "same(parts, /)\n--\n\n"
                       "Is place[name] still value, for each (place, name, value)?");

static PyObject *same(PyObject *Py_UNUSED(module), PyObject *parts)
{
	if (!PyTuple_Check(parts)) {
		PyErr_SetString(PyExc_TypeError, "a tuple is expected");
		return NULL;
	}
	return PyBool_FromLong(all_same(parts));
}

/* --- Walker --- */

/* All of them owned; what they are for says walker_doc. */
struct walker {
	PyObject_HEAD PyObject *kind, *path_type, *entry_point, *entry_points, *parts, *walks,
	        *fallback;
};

PyDoc_STRVAR(walker_doc,
             "Walker(kind, path_type, EntryPoint, EntryPoints, parts, walks, fallback)\n--\n\n"
             "Called with a distribution: its entry points, from walks[directory].find(file), or\n"
             "from fallback(distribution) where that is None, or the distribution or its _path\n"
             "are not exactly of these types, or one of the parts is no longer the same.");

static PyObject *walker_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"kind",  "path_type", "EntryPoint", "EntryPoints",
	                        "parts", "walks",     "fallback",   NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct walker *walker = (struct walker *)allocate(type, 0);

	if (!walker)
		return NULL;
	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO!OO!OO:Walker", names,
	                                 &walker->kind, &walker->path_type, &PyType_Type,
	                                 &walker->entry_point, &walker->entry_points, &PyTuple_Type,
	                                 &walker->parts, &walker->walks, &walker->fallback)) {
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

/* A list of entry points made from rows, all of the distribution @dist. */
static PyObject *build(const struct state *state, PyObject *type, PyObject *rows, PyObject *dist)
{
	Py_ssize_t count = PyTuple_Size(rows);
	PyObject *empty = PyTuple_New(0), *list = NULL;
	struct maker maker;

	if (count >= 0 && empty && maker_init(&maker, state, type, empty))
		list = PyList_New(count);
	for (Py_ssize_t i = 0; list && i < count; i++) {
		PyObject *made = make(&maker, PyTuple_GetItem(rows, i), dist);

		if (!made || PyList_SetItem(list, i, made) < 0)
			Py_CLEAR(list);
	}
	Py_XDECREF(empty);
	return list;
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
	list = build(state, walker->entry_point, rows, distribution);
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

static PyType_Spec walker_spec = {
        .name = "entrydb._native.Walker",
        .basicsize = sizeof(struct walker),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = walker_slots,
};

/* --- the module --- */

PyDoc_STRVAR(digest_doc, "digest(text, /)\n--\n\n"
                         "The 64-bit FNV-1a hash of a text, the same in every process.");

static PyObject *digest(PyObject *Py_UNUSED(module), PyObject *text)
{
	unsigned long long hash = 0xcbf29ce484222325;
	Py_ssize_t length;
	const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);

	if (!bytes)
		return NULL;
	for (Py_ssize_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3;
	return PyLong_FromUnsignedLongLong(hash);
}

PyDoc_STRVAR(module_doc, "libentrydb for Python; see the package entrydb.");

static PyMethodDef module_methods[] = {
        {"digest", digest, METH_O, digest_doc},
        {"same", same, METH_O, same_doc},
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
	if (!state->name || !state->value || !state->group || !state->dist || !state->path ||
	    !state->find)
		return -1;
	state->database = (PyTypeObject *)PyType_FromModuleAndSpec(module, &database_spec, NULL);
	state->walker = (PyTypeObject *)PyType_FromModuleAndSpec(module, &walker_spec, NULL);
	if (!state->database || !state->walker || PyModule_AddType(module, state->database) < 0 ||
	    PyModule_AddType(module, state->walker) < 0 ||
	    PyModule_AddIntConstant(module, "IM_10_1", ENTRYDB_IM_10_1) < 0)
		return -1;
	return PyModule_AddStringConstant(module, "version", entrydb_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	const struct state *state = PyModule_GetState(module);

	Py_VISIT(state->database);
	Py_VISIT(state->walker);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	Py_CLEAR(state->database);
	Py_CLEAR(state->walker);
	Py_CLEAR(state->path);
	Py_CLEAR(state->find);
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

/* "3.13.0 (main, ...": the minor version of the interpreter that runs. */
static long minor_version(void)
{
	return strtol(Py_GetVersion() + strlen("3."), NULL, 10);
}

PyMODINIT_FUNC PyInit__native(void)
{
	long minor = minor_version();

	pthread_once(&forks_are_watched, watch_forks);
	if (minor >= 13)
		definition.m_slots = slots_3_13;
	else if (minor == 12)
		definition.m_slots = slots_3_12;
	return PyModuleDef_Init(&definition);
}

/*
 * database.c - Database: a handle of libentrydb's on path entries.
 *
 * It answers with objects of a class that it is given, so that nothing is built
 * twice. Whatever cannot be vouched for is answered by None: then stock is asked.
 */
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "native.h"

struct database {
	PyObject_HEAD entrydb *db;
	pid_t pid; /* whose handle it is: a child must not touch it */
};

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

/* --- answers --- */

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
		hold_forks();
		entrydb_close(database->db);
		release_forks();
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

PyType_Spec database_spec = {
        .name = "entrydb._native.Database",
        .basicsize = sizeof(struct database),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = database_slots,
};

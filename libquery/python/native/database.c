/*
 * database.c - Database: a handle of libentrydb for path entries.
 *
 * It returns objects of a given class, so that they are built only once. The answer is None where
 * the library is not sure: then importlib.metadata answers.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "libquery/python/native/native.h"

struct database {
	PyObject_HEAD entrydb *db;
	pid_t pid;      /* the owner of the handle: a child must not use it */
	PyObject *kept; /* cache: query -> (state of the disk, answer) */
	atomic_bool asked;
};

#define KEPT_MAX 256 /* queries */

/* The results of locate(path, file) so far, by file. */
struct locator {
	PyObject *locate, *known;
};

static PyObject *located(void *payload, PyObject *items, Py_ssize_t at)
{
	const struct locator *locator = payload;
	PyObject *path = PyTuple_GetItem(items, at + FIELDS),
	         *file = PyTuple_GetItem(items, at + FIELDS + 1);
	PyObject *dist = PyDict_GetItemWithError(locator->known, file), *made;

	if (dist || PyErr_Occurred())
		return dist;
	made = PyObject_CallFunctionObjArgs(locator->locate, path, file, NULL);
	if (made && PyDict_SetItem(locator->known, file, made) == 0)
		dist = made;
	Py_XDECREF(made); /* the dict holds it */
	return dist;
}

/* Raise MemoryError if out of memory; any other failure means "not sure": None. */
static PyObject *not_vouched(int code, entrydb_error *error)
{
	entrydb_error_clear(error);
	if (code == ENTRYDB_ENOMEM)
		return PyErr_NoMemory();
	Py_RETURN_NONE;
}

/* Raise the exception for a failure; OSError by default. */
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

/*
 * Convert a str to UTF-8 in *out; NULL for None. False: no group or name in a database can equal
 * it, or an error is set.
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

/* The cached answer for that state, a new reference; NULL: not cached. */
static PyObject *kept_answer(const struct database *database, PyObject *key,
                             unsigned long long state)
{
	PyObject *kept = item_of(database->kept, key), *answer = NULL;

	if (kept && PyLong_AsUnsignedLongLong(PyTuple_GetItem(kept, 0)) == state)
		answer = Py_NewRef(PyTuple_GetItem(kept, 1));
	Py_XDECREF(kept);
	return answer;
}

static bool keep(const struct database *database, PyObject *key, unsigned long long state,
                 PyObject *answer)
{
	PyObject *kept = Py_BuildValue("(KO)", state, answer);
	bool done;

	if (PyDict_Size(database->kept) >= KEPT_MAX)
		PyDict_Clear(database->kept);
	done = kept && PyDict_SetItem(database->kept, key, kept) == 0;
	Py_XDECREF(kept);
	return done;
}

/* The weakest state of any path entry: fresh, checked or scanned. */
static int ask_state(entrydb *db, enum entrydb_path_state *least, entrydb_error *error)
{
	entrydb_path *path = NULL;
	int code = entrydb_describe_path(db, &path, error);

	*least = ENTRYDB_PATH_FRESH;
	for (size_t i = 0; code == 0 && i < entrydb_path_count(path); i++) {
		enum entrydb_path_state state = entrydb_path_entry_state(entrydb_path_get(path, i));

		if (state != ENTRYDB_PATH_FRESH && *least != ENTRYDB_PATH_SCANNED)
			*least = state == ENTRYDB_PATH_CHECKED ? state : ENTRYDB_PATH_SCANNED;
	}
	entrydb_path_free(path);
	return code;
}

/* A query of the library and the conversion of its answer; None if Python must answer. */
struct question {
	const char *group, *name;
	int (*ask)(entrydb *db, const char *group, const char *name, entrydb_set **out,
	           entrydb_error *error);
	PyObject *(*tell)(const entrydb_set *set);
};

static PyObject *ask_library(struct database *database, const struct question *question)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	PyThreadState *thread = enter_library();
	entrydb_set *set = NULL;
	int code = question->ask(database->db, question->group, question->name, &set, &error);
	PyObject *answer;

	leave_library(thread);
	answer = code < 0 ? not_vouched(code, &error) : question->tell(set);
	entrydb_set_free(set);
	return answer;
}

/*
 * The same, with a cache: @key and the state of the disk. With policy rules nothing is cached,
 * since the state does not include them. Nor is the first answer: it may come from a scan that is
 * needed again, and many processes make a single query.
 */
static PyObject *ask(struct database *database, PyObject *key, const struct question *question)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	unsigned long long state = 0;
	int has_policy = 0, code;
	PyThreadState *thread;
	PyObject *answer;

	if (!atomic_exchange(&database->asked, true))
		return ask_library(database, question);
	thread = enter_library();
	code = entrydb_refresh(database->db, &state, &error);
	if (code == 0)
		code = entrydb_has_policy(database->db, &has_policy, &error);
	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	answer = has_policy ? NULL : kept_answer(database, key, state);
	if (answer || PyErr_Occurred())
		return answer;
	answer = ask_library(database, question);
	if (answer && answer != Py_None && !has_policy && !keep(database, key, state, answer))
		Py_CLEAR(answer);
	return answer;
}

PyDoc_STRVAR(select_doc,
             "select(group, name, type, locate, parses=False, /)\n--\n\n"
             "Return the allowed entry points of a group and a name (None: any), as a list\n"
             "of objects of type; dist is set to locate(path entry, metadata directory).\n"
             "None if importlib.metadata must answer. parses: parse each value when its\n"
             "object is made.");

static PyObject *database_select(PyObject *self, PyObject *arguments)
{
	struct question question = {.ask = entrydb_select_allowed, .tell = items_of_set};
	PyObject *group, *name, *type, *key, *items, *list = NULL;
	struct locator locator;
	struct maker maker;
	int parses = 0;

	if (!PyArg_ParseTuple(arguments, "OOOO|p:select", &group, &name, &type, &locator.locate,
	                      &parses) ||
	    !maker_init(&maker, PyType_GetModuleState(Py_TYPE(self)), type, parses))
		return NULL;
	if (!text_argument(group, &question.group) || !text_argument(name, &question.name))
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	key = PyTuple_Pack(2, group, name);
	items = key ? ask((struct database *)self, key, &question) : NULL;
	Py_XDECREF(key);
	if (!items || items == Py_None)
		return items;
	locator.known = PyDict_New();
	if (locator.known)
		list = make_all(&maker, items, PLACED, located, &locator);
	Py_XDECREF(locator.known);
	Py_DECREF(items);
	return list;
}

PyDoc_STRVAR(refresh_doc, "refresh()\n--\n\n"
                          "Check the disk. Return a number that stays the same while the database\n"
                          "is fresh for all path entries; None if one has to be scanned.");

/*
 * *indexed: is a database fresh for every path entry? A path entry that had to be compared, because
 * it was copied for instance, is fresh at the second check, unless it has just changed.
 */
static int refresh_indexed(entrydb *db, unsigned long long *number, bool *indexed,
                           entrydb_error *error)
{
	enum entrydb_path_state state = ENTRYDB_PATH_CHECKED;
	int code = 0;

	for (int look = 0; code == 0 && look < 2 && state == ENTRYDB_PATH_CHECKED; look++) {
		code = entrydb_refresh(db, number, error);
		if (code == 0)
			code = ask_state(db, &state, error);
	}
	*indexed = state == ENTRYDB_PATH_FRESH;
	return code;
}

static PyObject *database_refresh(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	unsigned long long number = 0;
	PyThreadState *thread = enter_library();
	bool indexed = false;
	int code = refresh_indexed(database->db, &number, &indexed, &error);

	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	if (!indexed)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLongLong(number);
}

/* The number changes when the source of any path entry does: their states need no check. */
bool database_number(PyObject *self, unsigned long long *number)
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	PyThreadState *thread = enter_library();
	int code = entrydb_refresh(database->db, number, &error);

	leave_library(thread);
	entrydb_error_clear(&error);
	return code == 0;
}

PyDoc_STRVAR(find_doc,
             "find(name, /)\n--\n\n"
             "Return (path entry, metadata directory) of the distribution of that name; None\n"
             "if importlib.metadata must answer.");

static PyObject *place_of(const entrydb_set *set)
{
	const entrydb_distribution *found = entrydb_set_distribution(set, 0);

	if (!found)
		Py_RETURN_NONE;
	return Py_BuildValue("(NN)", PyUnicode_DecodeFSDefault(entrydb_distribution_path(found)),
	                     PyUnicode_DecodeFSDefault(entrydb_distribution_file(found)));
}

static int find(entrydb *db, const char *Py_UNUSED(group), const char *name, entrydb_set **out,
                entrydb_error *error)
{
	return entrydb_find(db, name, out, error);
}

static PyObject *database_find(PyObject *self, PyObject *name)
{
	struct question question = {.ask = find, .tell = place_of};

	if (!text_argument(name, &question.name) || !question.name)
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	return ask((struct database *)self, name, &question);
}

PyDoc_STRVAR(survey_doc,
             "survey()\n--\n\n"
             "Return all distributions: a dict from the metadata directory to a tuple (name,\n"
             "value, group, name, value, group, ...), or to None if Python would raise.");

static bool put_distribution(PyObject *dict, const entrydb_distribution *distribution)
{
	PyObject *file = PyUnicode_DecodeFSDefault(entrydb_distribution_file(distribution));
	PyObject *rows = file ? items_of_distribution(distribution) : NULL;
	bool done = rows && PyDict_SetItem(dict, file, rows) == 0;

	Py_XDECREF(rows);
	Py_XDECREF(file);
	return done;
}

static PyObject *database_survey(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	PyThreadState *thread = enter_library();
	entrydb_set *set = NULL;
	int code = entrydb_survey(database->db, &set, &error);
	PyObject *dict;

	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	dict = PyDict_New();
	for (size_t i = 0; dict && i < entrydb_set_distribution_count(set); i++)
		if (!put_distribution(dict, entrydb_set_distribution(set, i)))
			Py_CLEAR(dict);
	entrydb_set_free(set);
	return dict;
}

PyDoc_STRVAR(all_parse_doc, "all_parse()\n--\n\n"
                            "Return True if the values of all entry points can be parsed.");

static PyObject *set_parses(const entrydb_set *set)
{
	bool all = entrydb_set_problem_count(set) == 0;

	for (size_t i = 0; all && i < entrydb_set_count(set); i++)
		all = entrydb_entry_point_text(entrydb_set_get(set, i), ENTRYDB_FIELD_MODULE,
		                               NULL) != NULL;
	return PyBool_FromLong(all);
}

static PyObject *database_all_parse(PyObject *self, PyObject *Py_UNUSED(unused))
{
	return ask((struct database *)self, Py_None,
	           &(const struct question){.ask = entrydb_select, .tell = set_parses});
}

PyDoc_STRVAR(path_entries_doc, "path_entries()\n--\n\n"
                               "Return (path entry, database or None, state, reason) of each path\n"
                               "entry, as of the last answer.");

static PyObject *tell_path_entry(const entrydb_path_entry *entry)
{
	const char *file = entrydb_path_entry_database(entry);

	return Py_BuildValue("(NNss)", PyUnicode_DecodeFSDefault(entrydb_path_entry_path(entry)),
	                     file ? PyUnicode_DecodeFSDefault(file) : Py_NewRef(Py_None),
	                     entrydb_path_state_name(entrydb_path_entry_state(entry)),
	                     entrydb_path_entry_reason(entry));
}

static PyObject *database_path_entries(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	PyThreadState *thread = enter_library();
	entrydb_path *path = NULL;
	int code = entrydb_describe_path(database->db, &path, &error);
	PyObject *list;

	leave_library(thread);
	if (code < 0)
		return raise(code, &error);
	list = PyList_New((Py_ssize_t)entrydb_path_count(path));
	for (size_t i = 0; list && i < entrydb_path_count(path); i++) {
		PyObject *item = tell_path_entry(entrydb_path_get(path, i));

		if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
			Py_CLEAR(list);
	}
	entrydb_path_free(path);
	return list;
}

PyDoc_STRVAR(allowed_doc,
             "allowed(group, name, distribution=None, path=None, /)\n--\n\n"
             "Return (whether the entry point may be loaded, the deciding rule or None).");

static PyObject *database_allowed(PyObject *self, PyObject *arguments)
{
	struct database *database = (struct database *)self;
	const char *group, *name, *distribution = NULL;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_verdict *verdict = NULL;
	PyObject *answer, *entry = Py_None, *path = NULL;
	PyThreadState *thread;
	int code;

	if (!PyArg_ParseTuple(arguments, "ss|zO:allowed", &group, &name, &distribution, &entry) ||
	    (entry != Py_None && !PyUnicode_FSConverter(entry, &path)))
		return NULL;
	thread = enter_library();
	code = entrydb_check_policy(database->db, group, name, distribution,
	                            path ? PyBytes_AsString(path) : NULL, &verdict, &error);
	leave_library(thread);
	Py_XDECREF(path);
	if (code < 0)
		return raise(code, &error);
	answer = Py_BuildValue("(Nz)", PyBool_FromLong(entrydb_verdict_allowed(verdict)),
	                       entrydb_verdict_reason(verdict));
	entrydb_verdict_free(verdict);
	return answer;
}

PyDoc_STRVAR(has_policy_doc, "has_policy()\n--\n\n"
                             "Return True if there are policy rules.");

static PyObject *database_has_policy(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	PyThreadState *thread = enter_library();
	int has = 0, code = entrydb_has_policy(database->db, &has, &error);

	leave_library(thread);
	return code < 0 ? raise(code, &error) : PyBool_FromLong(has);
}

/* --- opening --- */

/* Open a handle for path entries in the file system encoding. ValueError for an embedded NUL. */
static int open_path(PyObject *path, const entrydb_options *options, entrydb **out,
                     entrydb_error *error)
{
	Py_ssize_t count = PyTuple_Size(path);
	const char **entries = PyMem_Calloc((size_t)count + 1, sizeof(*entries));
	PyObject *held = PyList_New(0), *bytes;
	int code = entries && held ? 0 : ENTRYDB_ENOMEM;
	PyThreadState *thread;

	for (Py_ssize_t i = 0; code == 0 && i < count; i++) {
		bytes = NULL;
		if (!PyUnicode_FSConverter(PyTuple_GetItem(path, i), &bytes) ||
		    PyList_Append(held, bytes) < 0)
			code = ENTRYDB_EINVAL;
		else
			entries[i] = PyBytes_AsString(bytes);
		Py_XDECREF(bytes);
	}
	if (code == 0) {
		thread = enter_library();
		code = entrydb_open(entries, (size_t)count, options, out, error);
		leave_library(thread);
	}
	Py_XDECREF(held);
	PyMem_Free(entries);
	return code;
}

static PyObject *database_new(PyTypeObject *type, PyObject *arguments,
                              PyObject *Py_UNUSED(keywords))
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	int rules = ENTRYDB_RULES_DEFAULT, code;
	struct database *database;
	PyObject *path;
	entrydb *db = NULL;

	if (!PyArg_ParseTuple(arguments, "O!|iz:Database", &PyTuple_Type, &path, &rules,
	                      &options.program))
		return NULL;
	options.rules = (enum entrydb_rules)rules;
	options.omit = ENTRYDB_OMIT_METADATA; /* distribution objects read it on demand */
	code = open_path(path, &options, &db, &error);
	if (code < 0)
		return raise(code, &error);
	database = (struct database *)allocate(type, 0);
	if (!database) {
		entrydb_close(db);
		return NULL;
	}
	database->db = db;
	database->pid = getpid();
	database->kept = PyDict_New();
	if (!database->kept)
		Py_CLEAR(database);
	return (PyObject *)database;
}

/* A child does not close the parent's handle: another thread may have held its lock. */
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
	Py_XDECREF(database->kept);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef database_methods[] = {
        {"select", database_select, METH_VARARGS, select_doc},
        {"refresh", database_refresh, METH_NOARGS, refresh_doc},
        {"find", database_find, METH_O, find_doc},
        {"survey", database_survey, METH_NOARGS, survey_doc},
        {"all_parse", database_all_parse, METH_NOARGS, all_parse_doc},
        {"path_entries", database_path_entries, METH_NOARGS, path_entries_doc},
        {"allowed", database_allowed, METH_VARARGS, allowed_doc},
        {"has_policy", database_has_policy, METH_NOARGS, has_policy_doc},
        {0},
};

PyDoc_STRVAR(database_doc,
             "Database(path, rules=0, program=None)\n--\n\n"
             "A handle for a tuple of path entries. Thread-safe; unusable in a child\n"
             "of fork().");

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

/*
 * database.c - Database: a handle of libentrydb's on path entries.
 *
 * It answers with objects of a class that it is given, so that nothing is built
 * twice. Whatever cannot be vouched for is answered by None: then importlib.metadata is
 * asked.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "libquery/python/native/native.h"

struct database {
	PyObject_HEAD entrydb *db;
	pid_t pid; /* whose handle it is: a child must not touch it */
	/* Whether all values can be parsed, and when that was looked at. */
	pthread_mutex_t looking;
	unsigned long long state;
	bool looked, all_parse;
	atomic_bool indexed; /* at the last question, all path entries stood in databases */
	/* The items of questions: from (group, name) to (state, items). */
	PyObject *kept;
};

#define KEPT_MAX 256 /* questions */

/* --- from a set to what is kept of it --- */

static bool same_distribution(const entrydb_entry_point *a, const entrydb_entry_point *b)
{
	return strcmp(entrydb_entry_point_file(a), entrydb_entry_point_file(b)) == 0 &&
	       strcmp(entrydb_entry_point_path(a), entrydb_entry_point_path(b)) == 0;
}

#define ITEM (FIELDS + 2) /* name, value, group, path entry, metadata directory */

/* @before: the one before it, if it is of the same distribution: they share its strings. */
static bool put_place(PyObject *items, Py_ssize_t at, const entrydb_entry_point *entry_point,
                      const entrydb_entry_point *before)
{
	PyObject *path, *file;

	if (before) {
		path = Py_NewRef(PyTuple_GetItem(items, at - ITEM));
		file = Py_NewRef(PyTuple_GetItem(items, at - ITEM + 1));
	} else {
		path = PyUnicode_DecodeFSDefault(entrydb_entry_point_path(entry_point));
		file = PyUnicode_DecodeFSDefault(entrydb_entry_point_file(entry_point));
	}
	PyTuple_SetItem(items, at, path);
	PyTuple_SetItem(items, at + 1, file);
	return path && file;
}

/* (name, value, group, path entry, metadata directory, name, ...) */
static PyObject *items_of_set(const entrydb_set *set)
{
	size_t count = entrydb_set_count(set);
	PyObject *items = PyTuple_New((Py_ssize_t)count * ITEM), *group = NULL;
	const entrydb_entry_point *before = NULL;

	for (size_t i = 0; items && i < count; i++) {
		const entrydb_entry_point *entry_point = entrydb_set_get(set, i);
		Py_ssize_t at = (Py_ssize_t)i * ITEM;
		struct fields fields;

		if (before && !same_distribution(entry_point, before))
			before = NULL;
		if (!fields_of(entry_point, before, group, &fields)) {
			Py_CLEAR(items);
			break;
		}
		group = fields.group;
		fields_put(items, at, fields);
		if (!put_place(items, at + FIELDS, entry_point, before))
			Py_CLEAR(items);
		before = entry_point;
	}
	return items;
}

/* --- from there to entry points --- */

/* What locate(path, file) gave for the distributions met so far, by file. */
struct locator {
	PyObject *locate, *known;
};

/* A borrowed reference. */
static PyObject *locate(struct locator *locator, PyObject *path, PyObject *file)
{
	PyObject *dist = PyDict_GetItemWithError(locator->known, file), *made;

	if (dist || PyErr_Occurred())
		return dist;
	made = PyObject_CallFunctionObjArgs(locator->locate, path, file, NULL);
	if (made && PyDict_SetItem(locator->known, file, made) == 0)
		dist = made;
	Py_XDECREF(made); /* the dict holds it */
	return dist;
}

static PyObject *make_entries(const struct maker *maker, struct locator *locator, PyObject *items)
{
	Py_ssize_t count = PyTuple_Size(items) / ITEM;
	PyObject *list = PyList_New(count);

	for (Py_ssize_t i = 0; list && i < count; i++) {
		Py_ssize_t at = i * ITEM, place = at + FIELDS;
		PyObject *dist = locate(locator, PyTuple_GetItem(items, place),
		                        PyTuple_GetItem(items, place + 1));
		PyObject *made = dist ? make(maker, fields_at(items, at), dist) : NULL;

		if (!made || PyList_SetItem(list, i, made) < 0)
			Py_CLEAR(list);
	}
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

/* Raise what failed. That entrydb cannot vouch for an answer is not a failure. */
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

PyDoc_STRVAR(select_doc,
             "select(group, name, type, locate, parses=False, /)\n--\n\n"
             "The entry points of a group and a name (None: any), as a list of\n"
             "objects of type, whose dist is what locate(path entry, metadata\n"
             "directory) returns, without those that a rule forbids; None where\n"
             "importlib.metadata has to be asked. parses: each value when its object is made.");

/* What the question was answered by in that state, a new reference; NULL: it is not known. */
static PyObject *kept_items(const struct database *database, PyObject *question,
                            unsigned long long state)
{
	PyObject *kept = item_of(database->kept, question), *items = NULL;

	if (kept && PyLong_AsUnsignedLongLong(PyTuple_GetItem(kept, 0)) == state)
		items = Py_NewRef(PyTuple_GetItem(kept, 1));
	Py_XDECREF(kept);
	return items;
}

static bool keep(const struct database *database, PyObject *question, unsigned long long state,
                 PyObject *items)
{
	PyObject *kept = Py_BuildValue("(KO)", state, items);
	bool done;

	if (PyDict_Size(database->kept) >= KEPT_MAX)
		PyDict_Clear(database->kept);
	done = kept && PyDict_SetItem(database->kept, question, kept) == 0;
	Py_XDECREF(kept);
	return done;
}

/* The least that is true of all path entries: as in a database, at one look or after comparing. */
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

/* Ask the library; items, or None, or NULL. */
static PyObject *select_items(struct database *database, const char *group, const char *name)
{
	enum entrydb_path_state least = ENTRYDB_PATH_SCANNED;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	PyThreadState *thread = enter_library();
	entrydb_set *set = NULL;
	int code = entrydb_select_allowed(database->db, group, name, &set, &error);
	PyObject *items;

	if (code == 0)
		code = ask_state(database->db, &least, &error);
	leave_library(thread);
	if (code < 0) {
		entrydb_set_free(set);
		return not_vouched(code, &error);
	}
	database->indexed = least != ENTRYDB_PATH_SCANNED;
	items = entrydb_set_problem_count(set) > 0 ? Py_NewRef(Py_None) : items_of_set(set);
	entrydb_set_free(set);
	return items;
}

/*
 * The same, or what was kept in this state of the disk. Where there are rules about what
 * may be loaded nothing is kept: they are another state. And what has just been scanned may
 * have to be at each look: so nothing is looked at twice that did not stand in a database.
 */
static PyObject *find_items(struct database *database, PyObject *question, const char *group,
                            const char *name)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	unsigned long long state = 0;
	PyThreadState *thread;
	int has_policy = 0, code;
	PyObject *items;

	if (!database->indexed)
		return select_items(database, group, name);
	thread = enter_library();
	code = entrydb_refresh(database->db, &state, &error);
	if (code == 0)
		code = entrydb_has_policy(database->db, &has_policy, &error);
	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	items = has_policy ? NULL : kept_items(database, question, state);
	if (items || PyErr_Occurred())
		return items;
	items = select_items(database, group, name);
	if (items && items != Py_None && !has_policy && !keep(database, question, state, items))
		Py_CLEAR(items);
	return items;
}

static PyObject *make_answer(const struct maker *maker, PyObject *locate, PyObject *items)
{
	struct locator locator = {locate, PyDict_New()};
	PyObject *list = locator.known ? make_entries(maker, &locator, items) : NULL;

	Py_XDECREF(locator.known);
	return list;
}

static PyObject *database_select(PyObject *self, PyObject *arguments)
{
	struct database *database = (struct database *)self;
	const struct state *state = PyType_GetModuleState(Py_TYPE(self));
	PyObject *group, *name, *type, *function, *empty, *question, *answer = NULL;
	const char *group_text, *name_text;
	struct maker maker;
	int parses = 0;

	if (!PyArg_ParseTuple(arguments, "OOOO|p:select", &group, &name, &type, &function, &parses))
		return NULL;
	if (!text_argument(group, &group_text) || !text_argument(name, &name_text))
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	question = PyTuple_Pack(2, group, name);
	answer = question ? find_items(database, question, group_text, name_text) : NULL;
	Py_XDECREF(question);
	if (!answer || answer == Py_None)
		return answer;
	empty = PyTuple_New(0);
	if (empty && maker_init(&maker, state, type, empty)) {
		PyObject *items = answer;

		maker.parses = parses;
		answer = make_answer(&maker, function, items);
		Py_DECREF(items);
	} else {
		Py_CLEAR(answer);
	}
	Py_XDECREF(empty);
	return answer;
}

PyDoc_STRVAR(refresh_doc, "refresh()\n--\n\n"
                          "Look at the disk. A number that stays as long as the database has all\n"
                          "path entries as they are; None where something has to be scanned.");

/*
 * *indexed: does every path entry stand in a database, unchanged? What had to be compared,
 * since it was carried, say, does so at the second look, unless it has just changed.
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
	PyThreadState *thread;
	bool indexed = false;
	int code;

	thread = enter_library();
	code = refresh_indexed(database->db, &number, &indexed, &error);
	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	if (!indexed)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLongLong(number);
}

/* The number grows with each path entry that is answered from elsewhere: none needs to be asked. */
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
             "(path entry, metadata directory) of the distribution of that name; None where\n"
             "importlib.metadata has to be asked.");

static PyObject *place_of(const entrydb_set *set)
{
	const entrydb_distribution *found = entrydb_set_distribution(set, 0);

	if (!found)
		Py_RETURN_NONE;
	return Py_BuildValue("(NN)", PyUnicode_DecodeFSDefault(entrydb_distribution_path(found)),
	                     PyUnicode_DecodeFSDefault(entrydb_distribution_file(found)));
}

/* What was found is kept as long as the disk stays as it is. */
static PyObject *database_find(PyObject *self, PyObject *name)
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	unsigned long long state = 0;
	entrydb_set *set = NULL;
	PyThreadState *thread;
	const char *text;
	PyObject *place;
	int code;

	if (!text_argument(name, &text) || !text)
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	thread = enter_library();
	code = entrydb_refresh(database->db, &state, &error);
	leave_library(thread);
	place = code < 0 ? NULL : kept_items(database, name, state);
	if (place || PyErr_Occurred())
		return place;
	thread = enter_library();
	if (code == 0)
		code = entrydb_find(database->db, text, &set, &error);
	leave_library(thread);
	if (code < 0)
		return not_vouched(code, &error);
	place = place_of(set);
	entrydb_set_free(set);
	if (place && !keep(database, name, state, place))
		Py_CLEAR(place);
	return place;
}

PyDoc_STRVAR(survey_doc,
             "survey()\n--\n\n"
             "Every distribution: a dict from the file name of its metadata to a tuple (name,\n"
             "value, group, name, value, group, ...), or to None where Python would raise.");

static PyObject *rows_of(const entrydb_distribution *distribution)
{
	size_t count = entrydb_distribution_count(distribution);
	const entrydb_entry_point *before = NULL;
	PyObject *rows, *group = NULL;

	if (entrydb_distribution_problem(distribution))
		Py_RETURN_NONE;
	rows = PyTuple_New((Py_ssize_t)count * FIELDS);
	for (size_t i = 0; rows && i < count; i++) {
		const entrydb_entry_point *entry_point = entrydb_distribution_get(distribution, i);
		struct fields fields;

		if (fields_of(entry_point, before, group, &fields)) {
			fields_put(rows, (Py_ssize_t)i * FIELDS, fields);
			group = fields.group;
			before = entry_point;
		} else {
			Py_CLEAR(rows);
		}
	}
	return rows;
}

static bool put_distribution(PyObject *dict, const entrydb_distribution *distribution)
{
	PyObject *file = PyUnicode_DecodeFSDefault(entrydb_distribution_file(distribution));
	PyObject *rows = file ? rows_of(distribution) : NULL;
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
		if (!put_distribution(dict, entrydb_set_distribution(set, i)))
			Py_CLEAR(dict);
	entrydb_set_free(set);
	return dict;
}

PyDoc_STRVAR(all_parse_doc, "all_parse()\n--\n\n"
                            "Can the value of every entry point be parsed?");

static bool set_parses(const entrydb_set *set)
{
	for (size_t i = 0; i < entrydb_set_count(set); i++)
		if (!entrydb_entry_point_text(entrydb_set_get(set, i), ENTRYDB_FIELD_MODULE, NULL))
			return false;
	return entrydb_set_problem_count(set) == 0;
}

/* Look at all there is, if it is not what it was when that was done last. */
static int look_whether_all_parse(struct database *database, unsigned long long state,
                                  entrydb_error *error)
{
	entrydb_set *set = NULL;
	int code;

	if (database->looked && database->state == state)
		return 0;
	code = entrydb_select(database->db, NULL, NULL, &set, error);
	database->all_parse = set && set_parses(set);
	database->looked = code == 0;
	database->state = state;
	entrydb_set_free(set);
	return code;
}

static PyObject *database_all_parse(PyObject *self, PyObject *Py_UNUSED(unused))
{
	struct database *database = (struct database *)self;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	unsigned long long state = 0;
	PyThreadState *thread;
	bool all_parse;
	int code;

	thread = enter_library();
	code = entrydb_refresh(database->db, &state, &error);
	pthread_mutex_lock(&database->looking);
	if (code == 0)
		code = look_whether_all_parse(database, state, &error);
	all_parse = database->all_parse;
	pthread_mutex_unlock(&database->looking);
	leave_library(thread);
	return code < 0 ? not_vouched(code, &error) : PyBool_FromLong(all_parse);
}

PyDoc_STRVAR(path_entries_doc, "path_entries()\n--\n\n"
                               "(path entry, database or None, state, reason) of each path entry,\n"
                               "as of the last answer.");

static PyObject *file_name_or_none(const char *file)
{
	return file ? PyUnicode_DecodeFSDefault(file) : Py_NewRef(Py_None);
}

static PyObject *tell_path_entry(const entrydb_path_entry *entry)
{
	return Py_BuildValue("(NNss)", PyUnicode_DecodeFSDefault(entrydb_path_entry_path(entry)),
	                     file_name_or_none(entrydb_path_entry_database(entry)),
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

PyDoc_STRVAR(allowed_doc, "allowed(group, name, distribution=None, path=None, /)\n--\n\n"
                          "May this entry point be loaded? (bool, the rule that decided or None).");

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
                             "Is there any rule about what may be loaded?");

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

static int open_path(PyObject *encoded, int rules, const char *program, entrydb **out,
                     entrydb_error *error)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	Py_ssize_t count = PyTuple_Size(encoded);
	const char **path = PyMem_Malloc((size_t)(count + 1) * sizeof(*path));
	int code = path ? 0 : ENTRYDB_ENOMEM;

	options.rules = (enum entrydb_rules)rules;
	options.program = program;
	options.omit = ENTRYDB_OMIT_METADATA; /* a distribution is an object that asks for itself */
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

static PyObject *database_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"path", "rules", "program", NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	entrydb_error error = ENTRYDB_ERROR_INIT;
	int rules = ENTRYDB_RULES_DEFAULT, code;
	struct database *database;
	const char *program = NULL;
	PyObject *path, *encoded, *kept;
	entrydb *db = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!|iz:Database", names,
	                                 &PyTuple_Type, &path, &rules, &program))
		return NULL;
	encoded = encode_path(path);
	if (!encoded)
		return NULL;
	code = open_path(encoded, rules, program, &db, &error);
	Py_DECREF(encoded);
	if (code < 0)
		return raise(code, &error);
	kept = PyDict_New();
	database = kept ? (struct database *)allocate(type, 0) : NULL;
	if (!database) {
		Py_XDECREF(kept);
		entrydb_close(db);
		return NULL;
	}
	database->db = db;
	database->pid = getpid();
	database->kept = kept;
	pthread_mutex_init(&database->looking, NULL);
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
		pthread_mutex_destroy(&database->looking);
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

PyDoc_STRVAR(database_doc, "Database(path, rules=0, program=None)\n--\n\n"
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

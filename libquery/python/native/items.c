/*
 * items.c - entry points as strings in a tuple.
 */
#include <string.h>

#include "libquery/python/native/native.h"

static PyObject *field_text(const entrydb_entry_point *entry_point, enum entrydb_field field)
{
	size_t length;
	const char *text = entrydb_entry_point_text(entry_point, field, &length);

	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "strict");
}

static bool same_group(const entrydb_entry_point *a, const entrydb_entry_point *b)
{
	size_t a_length, b_length;
	const char *a_text = entrydb_entry_point_text(a, ENTRYDB_FIELD_GROUP, &a_length);
	const char *b_text = entrydb_entry_point_text(b, ENTRYDB_FIELD_GROUP, &b_length);

	return a_length == b_length && memcmp(a_text, b_text, a_length) == 0;
}

/*
 * Put the fields of an entry point into a new tuple; false with an error set. Neighbours in a group
 * share its string, as in importlib.metadata: the fields of @before (or NULL) are @step items
 * before.
 */
static bool put_fields(PyObject *items, Py_ssize_t at, const entrydb_entry_point *entry_point,
                       const entrydb_entry_point *before, Py_ssize_t step)
{
	PyObject *const fields[FIELDS] = {
	        field_text(entry_point, ENTRYDB_FIELD_NAME),
	        field_text(entry_point, ENTRYDB_FIELD_VALUE),
	        before && same_group(entry_point, before)
	                ? Py_NewRef(PyTuple_GetItem(items, at - step + 2))
	                : field_text(entry_point, ENTRYDB_FIELD_GROUP),
	};
	bool done = true;

	for (Py_ssize_t i = 0; i < FIELDS; i++) {
		PyTuple_SetItem(items, at + i, fields[i]);
		done = done && fields[i];
	}
	return done;
}

static bool same_distribution(const entrydb_entry_point *a, const entrydb_entry_point *b)
{
	return strcmp(entrydb_entry_point_file(a), entrydb_entry_point_file(b)) == 0 &&
	       strcmp(entrydb_entry_point_path(a), entrydb_entry_point_path(b)) == 0;
}

/* @before: the previous one if it has the same distribution: they share its strings. */
static bool put_place(PyObject *items, Py_ssize_t at, const entrydb_entry_point *entry_point,
                      const entrydb_entry_point *before)
{
	PyObject *path, *file;

	if (before) {
		path = Py_NewRef(PyTuple_GetItem(items, at - PLACED));
		file = Py_NewRef(PyTuple_GetItem(items, at - PLACED + 1));
	} else {
		path = PyUnicode_DecodeFSDefault(entrydb_entry_point_path(entry_point));
		file = PyUnicode_DecodeFSDefault(entrydb_entry_point_file(entry_point));
	}
	PyTuple_SetItem(items, at, path);
	PyTuple_SetItem(items, at + 1, file);
	return path && file;
}

PyObject *items_of_set(const entrydb_set *set)
{
	size_t count = entrydb_set_count(set);
	const entrydb_entry_point *before = NULL;
	PyObject *items;

	if (entrydb_set_problem_count(set) > 0)
		Py_RETURN_NONE;
	items = PyTuple_New((Py_ssize_t)count * PLACED);
	for (size_t i = 0; items && i < count; i++) {
		const entrydb_entry_point *entry_point = entrydb_set_get(set, i);
		Py_ssize_t at = (Py_ssize_t)i * PLACED;

		if (before && !same_distribution(entry_point, before))
			before = NULL;
		if (!put_fields(items, at, entry_point, before, PLACED) ||
		    !put_place(items, at + FIELDS, entry_point, before))
			Py_CLEAR(items);
		before = entry_point;
	}
	return items;
}

PyObject *items_of_distribution(const entrydb_distribution *distribution)
{
	size_t count = entrydb_distribution_count(distribution);
	const entrydb_entry_point *before = NULL;
	PyObject *items;

	if (entrydb_distribution_problem(distribution))
		Py_RETURN_NONE;
	items = PyTuple_New((Py_ssize_t)count * FIELDS);
	for (size_t i = 0; items && i < count; i++) {
		const entrydb_entry_point *entry_point = entrydb_distribution_get(distribution, i);

		if (!put_fields(items, (Py_ssize_t)i * FIELDS, entry_point, before, FIELDS))
			Py_CLEAR(items);
		before = entry_point;
	}
	return items;
}

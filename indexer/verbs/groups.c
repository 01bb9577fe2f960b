/*
 * groups.c - each group with the number of its entry points, sorted by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/json.h"
#include "indexer/command.h"
#include "indexer/suggest.h"
#include "indexer/table.h"
#include "indexer/verb.h"

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A group, and how many of the sorted names are its. */
typedef void group_function(void *payload, const char *group, size_t count);

static int walk_groups(const entrydb_set *set, group_function *each, void *payload,
                       struct error *error)
{
	size_t total = entrydb_set_count(set);
	CLEANUP(cleanup_free) const char **names = calloc(total + 1, sizeof(*names));

	if (!names)
		return error_nomem(error);
	for (size_t i = 0; i < total; i++)
		names[i] = entrydb_entry_point_group(entrydb_set_get(set, i));
	qsort(names, total, sizeof(*names), compare);
	for (size_t i = 0, n; i < total; i += n) {
		for (n = 1; i + n < total && strcmp(names[i], names[i + n]) == 0; n++)
			;
		each(payload, names[i], n);
	}
	return 0;
}

/* --- JSON --- */

static void print_object(void *payload, const char *group, size_t count)
{
	struct json *json = payload;

	json_text(json, 0, slice_of(group));
	json_number(json, 1, (int64_t)count);
	json_write(json, stdout);
}

static int print_objects(const entrydb_set *set, struct error *error)
{
	static const char *const keys[] = {"group", "count"};
	struct json *json;
	int code = json_open(keys, 2, &json, error);

	if (code < 0)
		return code;
	code = walk_groups(set, print_object, json, error);
	json_close(json);
	return code;
}

/* --- text --- */

static void put_row(void *payload, const char *group, size_t count)
{
	char number[24];

	snprintf(number, sizeof(number), "%zu", count);
	table_cell(payload, slice_of(group));
	table_cell(payload, slice_of(number));
}

static int print_text(const entrydb_set *set, struct error *error)
{
	static const struct table_column columns[] = {{"GROUP", STYLE_NAME},
	                                              {"COUNT", STYLE_PLAIN}};
	struct table table = table_begin(columns, 2);
	int code = walk_groups(set, put_row, &table, error);
	int end = table_end(&table, error);

	return code < 0 ? code : end;
}

enum status command_groups(const struct options *options)
{
	struct error error = {0};
	entrydb *db;
	entrydb_set *set;
	enum status status;
	int code;

	if (select_by(options, NULL, NULL, &db, &set, &error) < 0)
		return fail(&error);
	status = entrydb_set_count(set) > 0 ? STATUS_DONE : STATUS_NOT_FOUND;
	code = options->json ? print_objects(set, &error) : print_text(set, &error);
	if (code < 0)
		status = fail(&error);
	report_problems(set);
	if (status == STATUS_NOT_FOUND)
		advise_on_nothing(options, db);
	entrydb_set_free(set);
	entrydb_close(db);
	return status;
}

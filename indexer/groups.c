/*
 * groups.c - each group with its count, in the order of their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "command.h"
#include "json.h"

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int print_group(struct json *json, const char *group, size_t count, struct error *error)
{
	if (!json) {
		print_escaped(slice_of(group));
		printf("\t%zu\n", count);
		return 0;
	}
	json_text(json, 0, slice_of(group));
	json_number(json, 1, (int64_t)count);
	return json_write(json, stdout, error);
}

static int print_groups(const struct options *options, const entrydb_set *set, struct error *error)
{
	static const char *const keys[] = {"group", "count"};
	size_t total = entrydb_set_count(set);
	CLEANUP(cleanup_free) const char **names = calloc(total + 1, sizeof(*names));
	struct json *json = NULL;
	int code = 0;

	if (!names)
		return error_nomem(error);
	if (options->json)
		code = json_open(keys, 2, &json, error);
	for (size_t i = 0; i < total; i++)
		names[i] = entrydb_entry_group(entrydb_set_get(set, i));
	qsort(names, total, sizeof(*names), compare);
	for (size_t i = 0, n; code == 0 && i < total; i += n) {
		for (n = 1; i + n < total && strcmp(names[i], names[i + n]) == 0; n++)
			;
		code = print_group(json, names[i], n, error);
	}
	json_close(json);
	return code;
}

enum status command_groups(const struct options *options)
{
	struct error error = {0};
	entrydb *db;
	entrydb_set *set;
	enum status status;

	if (select_by(options, NULL, NULL, &db, &set, &error) < 0)
		return fail(&error);
	status = entrydb_set_count(set) > 0 ? STATUS_DONE : STATUS_NOT_FOUND;
	if (print_groups(options, set, &error) < 0)
		status = fail(&error);
	report_problems(set);
	entrydb_set_free(set);
	entrydb_close(db);
	return status;
}

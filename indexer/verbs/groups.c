/*
 * groups.c - lists each group with the number of its entry points, sorted by name.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "indexer/verb.h"

static const struct column columns[] = {
        COLUMN("group", "GROUP", STYLE_NAME),
        COLUMN("count", "COUNT", STYLE_PLAIN),
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int put_groups(const struct options *options, const entrydb_set *set, struct error *error)
{
	size_t total = entrydb_set_count(set);
	CLEANUP(cleanup_free) const char **names = calloc(total + 1, sizeof(*names));
	struct output output = OUTPUT_BEGIN(columns, options->json);

	if (!names)
		return error_nomem(error);
	for (size_t i = 0; i < total; i++)
		names[i] = entrydb_entry_point_group(entrydb_set_get(set, i));
	qsort(names, total, sizeof(*names), compare);
	for (size_t i = 0, n; i < total; i += n) {
		for (n = 1; i + n < total && strcmp(names[i], names[i + n]) == 0; n++)
			;
		output_string(&output, names[i]);
		output_number(&output, (int64_t)n);
	}
	return output_end(&output, error);
}

int command_groups(const struct options *options, struct error *error)
{
	CLEANUP(question_free) struct question found = {0};
	int code = select_by(options, entrydb_select, NULL, NULL, &found, error);

	if (code == 0)
		code = put_groups(options, found.set, error);
	if (code < 0)
		return code;
	report_problems(found.set);
	if (entrydb_set_count(found.set) > 0)
		return STATUS_DONE;
	advise_on_nothing(options, found.db);
	return STATUS_NOT_FOUND;
}

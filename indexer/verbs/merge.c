/*
 * merge.c - see merge.h. A row that is dropped keeps its place until the end: to close
 * the gap each time would take time with the square of the rows.
 */
#include "indexer/verbs/merge.h"

#include "db/base/array.h"
#include "libquery/disk/tree/distname.h"

struct merge_row {
	struct distribution_record row; /* first: see merge_drop() */
	uint32_t older;                 /* of the same name, or NAME_MAP_NONE */
	bool is_dropped;
};

/* The name by which an installer replaces: METADATA's, else the directory's. */
static struct slice installed_name(struct merge *merge, const struct distribution_record *row,
                                   bool *failed)
{
	struct slice name = slice_is_null(row->name) ? row->normalized_name : row->name;

	if (slice_is_null(name))
		return SLICE("");
	return distname_normalize_in(&merge->names, name, failed);
}

int merge_add(struct merge *merge, const struct distribution_record *row, struct error *error)
{
	uint32_t number = (uint32_t)merge->count;
	bool failed = false;
	struct slice name = installed_name(merge, row, &failed);

	if (failed || !array_grow(&merge->rows, merge->count, sizeof(*merge->rows), &merge->room))
		return error_nomem(error);
	merge->rows[merge->count++] =
	        (struct merge_row){.row = *row, .older = name_map_get(&merge->by_name, name)};
	name_map_set(&merge->by_name, name, number, &failed);
	name_map_set(&merge->by_directory, row->directory, number, &failed);
	return failed ? error_nomem(error) : 0;
}

struct distribution_record *merge_find(struct merge *merge, struct slice directory)
{
	uint32_t number = name_map_get(&merge->by_directory, directory);

	if (number == NAME_MAP_NONE || merge->rows[number].is_dropped)
		return NULL;
	return &merge->rows[number].row;
}

void merge_drop(struct distribution_record *row)
{
	((struct merge_row *)row)->is_dropped = true;
}

int merge_drop_replaced(struct merge *merge, const struct distribution_record *row,
                        struct error *error)
{
	bool failed = false;
	struct slice name = installed_name(merge, row, &failed);
	uint32_t number = failed ? NAME_MAP_NONE : name_map_get(&merge->by_name, name);

	for (; number != NAME_MAP_NONE; number = merge->rows[number].older)
		merge->rows[number].is_dropped = true;
	if (!failed)
		name_map_set(&merge->by_name, name, NAME_MAP_NONE, &failed);
	return failed ? error_nomem(error) : 0;
}

int merge_finish(struct merge *merge, struct distribution_record **rows, size_t *count,
                 struct error *error)
{
	struct distribution_record *left = calloc(merge->count + 1, sizeof(*left));

	if (!left)
		return error_nomem(error);
	*count = 0;
	for (size_t i = 0; i < merge->count; i++)
		if (!merge->rows[i].is_dropped)
			left[(*count)++] = merge->rows[i].row;
	*rows = left;
	return 0;
}

void merge_free(struct merge *merge)
{
	name_map_free(&merge->by_directory);
	name_map_free(&merge->by_name);
	free(merge->rows);
	arena_free(&merge->names);
	*merge = (struct merge){0};
}

/*
 * merge.h - the rows that a site directory is to have, while they are put together.
 *
 * Rows are added in their order; each is found by its directory, and those of one name
 * are dropped together, as an installer replaces what is installed under a name.
 */
#ifndef INDEXER_VERBS_MERGE_H
#define INDEXER_VERBS_MERGE_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/name_map.h"
#include "db/record.h"

struct merge_row;

struct merge {
	struct merge_row *rows;
	size_t count, room;
	struct name_map by_directory, by_name; /* -> the row that was added last */
	struct arena names;
};

/* Add a copy of @row, whose texts must stay. The only error is ERROR_NOMEM. */
int merge_add(struct merge *merge, const struct distribution_record *row, struct error *error);

/* The row of that directory, or NULL; it stays until the next is added. */
struct distribution_record *merge_find(struct merge *merge, struct slice directory);

/* Drop a row that merge_find() gave. */
void merge_drop(struct distribution_record *row);

/* Drop the rows that installing @row would uninstall. The only error is ERROR_NOMEM. */
int merge_drop_replaced(struct merge *merge, const struct distribution_record *row,
                        struct error *error);

/* Those that are left, in the order in which they were added; *rows is the caller's, to be freed.
 */
int merge_finish(struct merge *merge, struct distribution_record **rows, size_t *count,
                 struct error *error);

void merge_free(struct merge *merge);

#endif

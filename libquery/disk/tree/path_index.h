/*
 * path_index.h - paths in order, so that those with one beginning are found at once.
 */
#ifndef LIBQUERY_DISK_TREE_PATH_INDEX_H
#define LIBQUERY_DISK_TREE_PATH_INDEX_H

#include "db/base/slice.h"

struct path_index {
	struct slice *paths; /* borrowed texts */
	size_t count, room;
};

/* Add @path, whose text must stay; false without memory. */
bool path_index_add(struct path_index *index, struct slice path);

/* To be called when all are added, and before anything is looked for. */
void path_index_sort(struct path_index *index);

/*
 * The place of the first path that starts with @site followed by @prefix: those that do
 * stand together. If there is none, path_index_has() is false for the place.
 */
size_t path_index_first(const struct path_index *index, struct slice site, struct slice prefix);

/* Is there a path at @place, and does it start so? */
bool path_index_has(const struct path_index *index, size_t place, struct slice site,
                    struct slice prefix);

void path_index_free(struct path_index *index);

#endif

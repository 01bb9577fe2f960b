/*
 * path_index.h - paths in order, so that those with one beginning are found at once.
 */
#ifndef LIBQUERY_DISK_TREE_PATH_INDEX_H
#define LIBQUERY_DISK_TREE_PATH_INDEX_H

#include "db/base/arena.h"
#include "db/base/error.h"

struct path_index {
	struct slice *paths; /* borrowed texts */
	size_t count, room;
};

/* Add @path, whose text must stay; false without memory. */
bool path_index_add(struct path_index *index, struct slice path);

/* To be called when all are added, and before anything is looked for. */
void path_index_sort(struct path_index *index);

/*
 * Add the names in the directory @name, sorted; only those that are @wanted, unless that is NULL.
 * None where it cannot be listed; else a failure (error.h). Texts are in @arena.
 */
int path_index_list(struct path_index *index, int directory, const char *name,
                    bool (*wanted)(struct slice name), struct arena *arena, struct error *error);

/*
 * The next path that starts with @site followed by @prefix: those that do stand together. Begin
 * with *at 0, which becomes one more than its place. NULL: there is no more.
 */
const struct slice *path_index_next(const struct path_index *index, struct slice site,
                                    struct slice prefix, size_t *at);

void path_index_free(struct path_index *index);

#endif

/*
 * path_index.h - a sorted list of paths, searchable by prefix.
 */
#ifndef LIBQUERY_DISK_TREE_PATH_INDEX_H
#define LIBQUERY_DISK_TREE_PATH_INDEX_H

#include <dirent.h>

#include "db/base/arena.h"
#include "db/base/error.h"

struct path_index {
	struct slice *paths; /* borrowed texts */
	size_t count, room;
};

/* Add @path, whose text must outlive the index; false if out of memory. */
bool path_index_add(struct path_index *index, struct slice path);

/* Sort, after adding all paths and before searching. */
void path_index_sort(struct path_index *index);

/*
 * Add the names in the directory @name, which was just @opened, only those @wanted unless that is
 * NULL, and sort. NULL: by errno, it cannot be listed and adds none, or a transient failure
 * (error.h). Texts are in @arena.
 */
int path_index_list(struct path_index *index, DIR *opened, const char *name,
                    bool (*wanted)(struct slice name), struct arena *arena, struct error *error);

/*
 * The next path that starts with @site followed by @prefix; such paths are adjacent. Start with *at
 * 0, which becomes the result's index + 1. NULL at the end.
 */
const struct slice *path_index_next(const struct path_index *index, struct slice site,
                                    struct slice prefix, size_t *at);

void path_index_free(struct path_index *index);

#endif

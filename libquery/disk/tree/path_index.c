/*
 * path_index.c - a sorted array of paths with binary search.
 */
#include "libquery/disk/tree/path_index.h"

#include <errno.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"

bool path_index_add(struct path_index *index, struct slice path)
{
	if (!array_grow(&index->paths, index->count, sizeof(*index->paths), &index->room))
		return false;
	index->paths[index->count++] = path;
	return true;
}

static int by_bytes(const void *left, const void *right)
{
	return slice_compare(*(const struct slice *)left, *(const struct slice *)right);
}

void path_index_sort(struct path_index *index)
{
	if (index->count > 1)
		qsort(index->paths, index->count, sizeof(*index->paths), by_bytes);
}

int path_index_list(struct path_index *index, DIR *opened, const char *name,
                    bool (*wanted)(struct slice name), struct arena *arena, struct error *error)
{
	int left = opened ? 1 : errno_is_failure(errno) ? -1 : 0;
	bool failed = false;
	const char *child;

	while (!failed && left > 0 && (left = file_next(opened, &child)) > 0) {
		struct slice copy = slice_of(child);

		if (wanted && !wanted(copy))
			continue;
		copy = arena_copy(arena, copy, &failed);
		failed |= !path_index_add(index, copy);
	}
	if (left < 0)
		return error_errno(error, errno, "cannot list %s", name);
	path_index_sort(index);
	return failed ? error_nomem(error) : 0;
}

/* Does @path come before all that start with @site followed by @prefix? */
static bool is_before(struct slice path, struct slice site, struct slice prefix)
{
	int order =
	        slice_compare(slice_first(path, path.len < site.len ? path.len : site.len), site);

	if (order != 0)
		return order < 0;
	return slice_compare(slice_from(path, site.len), prefix) < 0;
}

const struct slice *path_index_next(const struct path_index *index, struct slice site,
                                    struct slice prefix, size_t *at)
{
	size_t low = *at, high = *at ? low : index->count;
	const struct slice *path;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_before(index->paths[middle], site, prefix))
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= index->count)
		return NULL;
	*at = low + 1;
	path = &index->paths[low];
	return slice_starts(*path, site) && slice_starts(slice_from(*path, site.len), prefix)
	               ? path
	               : NULL;
}

void path_index_free(struct path_index *index)
{
	free(index->paths);
	*index = (struct path_index){0};
}

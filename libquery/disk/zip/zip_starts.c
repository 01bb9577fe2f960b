/*
 * zip_starts.c - see zip_starts.h.
 */
#include "libquery/disk/zip/zip_starts.h"

#include <stdlib.h>

#define SORT_AFTER 8 /* reads for which sorting does not pay */

void zip_starts_init(struct zip_starts *starts)
{
	*starts = (struct zip_starts){0};
	pthread_mutex_init(&starts->lock, NULL);
}

void zip_starts_free(struct zip_starts *starts)
{
	pthread_mutex_destroy(&starts->lock);
	free(starts->sorted);
}

static int by_offset(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void sort(struct zip_starts *starts, const struct zip_directory *directory)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	uint64_t *sorted = reallocarray(NULL, directory->count, sizeof(*sorted));
	struct zip_member member;
	bool in_order = true; /* as is usual */
	size_t count = 0;

	if (!sorted)
		return;
	while (zip_directory_next(directory, &cursor, &member)) {
		if (member.header_offset == UINT64_MAX)
			continue;
		in_order &= count == 0 || sorted[count - 1] <= member.header_offset;
		sorted[count++] = member.header_offset;
	}
	if (!in_order)
		qsort(sorted, count, sizeof(*sorted), by_offset);
	starts->count = count;
	starts->sorted = sorted;
}

/* Count one more read; NULL as long as nothing is sorted. */
static const uint64_t *sorted_starts(struct zip_starts *starts,
                                     const struct zip_directory *directory)
{
	const uint64_t *sorted;

	pthread_mutex_lock(&starts->lock);
	if (starts->reads < SORT_AFTER && ++starts->reads == SORT_AFTER)
		sort(starts, directory);
	sorted = starts->sorted;
	pthread_mutex_unlock(&starts->lock);
	return sorted;
}

/* The first of the @count @sorted ones behind @offset; @count: there is none. */
static size_t search_next(const uint64_t *sorted, size_t count, uint64_t offset)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same by a walk. */
static uint64_t walk_to_next(const struct zip_directory *directory, uint64_t offset)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;
	uint64_t next = UINT64_MAX;

	while (zip_directory_next(directory, &cursor, &member))
		if (member.header_offset > offset && member.header_offset < next)
			next = member.header_offset;
	return next == UINT64_MAX ? directory->start : next;
}

uint64_t zip_starts_next(struct zip_starts *starts, const struct zip_directory *directory,
                         uint64_t offset)
{
	const uint64_t *sorted = sorted_starts(starts, directory);
	size_t next;

	if (!sorted)
		return walk_to_next(directory, offset);
	next = search_next(sorted, starts->count, offset);
	return next < starts->count ? sorted[next] : directory->start;
}

/*
 * Makes a root independent of the place and the moment in which it was read.
 */
#include "indexer/update/seal.h"

#include <stdlib.h>
#include <string.h>

#define SEALED_STAMP 1 /* no digest of times */

const struct timespec seal_time = {.tv_sec = 9000000000}; /* in the year 2255 */

static int by_directory(const void *a, const void *b)
{
	return slice_compare(((const struct distribution_record *)a)->directory,
	                     ((const struct distribution_record *)b)->directory);
}

void seal_root(struct root_record *root)
{
	if (root->distribution_count > 0)
		qsort(root->distributions, root->distribution_count, sizeof(*root->distributions),
		      by_directory);
	for (size_t i = 0; i < root->distribution_count; i++) {
		struct distribution_record *distribution = &root->distributions[i];

		distribution->position = (uint32_t)i;
		distribution->directory_stamp = 0;
		distribution->files_stamp = SEALED_STAMP;
		distribution->entry_points_txt.mtime = distribution->metadata.mtime = 0;
	}
	root->stamp = (struct stamp){0};
}

static int by_root_path(const void *a, const void *b)
{
	return strcmp(((const struct database_root *)a)->root_path,
	              ((const struct database_root *)b)->root_path);
}

void seal_order(struct databases *databases)
{
	for (size_t i = 0; i < databases->count; i++)
		if (databases->items[i].root_count > 0)
			qsort(databases->items[i].roots, databases->items[i].root_count,
			      sizeof(*databases->items[i].roots), by_root_path);
}

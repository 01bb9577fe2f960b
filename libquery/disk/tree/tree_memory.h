/*
 * tree_memory.h - distributions whose metadata files an archive reader has collected.
 */
#ifndef LIBQUERY_DISK_TREE_TREE_MEMORY_H
#define LIBQUERY_DISK_TREE_TREE_MEMORY_H

#include "libquery/disk/tree/tree.h"

/* A file of an archive: its path without "./"; its bytes, null where they were not kept. */
struct tree_file {
	struct slice path, bytes;
};

/* Files in memory, as if the archive were unpacked; they must stay. */
int tree_open_memory(const struct tree_file *files, size_t count, struct tree **out,
                     struct error *error);

#endif

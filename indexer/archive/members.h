/*
 * members.h - the files of an archive, as far as they matter here.
 *
 * All paths are kept, and the bytes of those files that say something about
 * distributions: the known files in *.dist-info and *.egg-info, what stands at the
 * top of a source distribution, and shared objects as far as there is room.
 */
#ifndef INDEXER_ARCHIVE_MEMBERS_H
#define INDEXER_ARCHIVE_MEMBERS_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/name_map.h"
#include "libquery/disk/tree/archive.h"

/* Bytes of paths and metadata, and of shared objects, that are kept of one archive. */
#define MEMBERS_METADATA_MAX ((size_t)512 << 20)
#define MEMBERS_OBJECTS_MAX  ((size_t)512 << 20)

struct members {
	struct tree_file *files; /* without "./"; bytes null where they were not kept */
	size_t count, room;
	const char *path;     /* of the archive, for messages; borrowed */
	size_t ignored;       /* members whose path is absolute or goes up, */
	struct slice example; /* and one of them */
	size_t metadata_bytes, object_bytes;
	struct name_map kept; /* path -> index in files: a later member replaces an earlier one */
	struct arena arena;
};

void members_free(struct members *members);

/* How many bytes of the member at @path, of @size bytes, to keep; see archive_file.h. */
size_t members_wanted(void *members, struct slice path, uint64_t size);

/* Add a file; its bytes are copied. ERROR_LIMIT, ERROR_NOMEM. See archive_file.h. */
int members_add(void *members, struct slice path, struct slice bytes, struct error *error);

/* The file at @path whose bytes were kept, or NULL. */
const struct tree_file *members_find(const struct members *members, struct slice path);

#endif

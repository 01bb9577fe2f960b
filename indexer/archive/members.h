/*
 * members.h - collects the relevant files of an archive.
 *
 * All paths are kept, and the content of files that describe distributions: known files in
 * *.dist-info and *.egg-info, files at the top of a source distribution, and shared objects up to a
 * limit.
 */
#ifndef INDEXER_ARCHIVE_MEMBERS_H
#define INDEXER_ARCHIVE_MEMBERS_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/name_map.h"
#include "libquery/disk/tree/archive.h"

/* Limits for one archive: bytes of paths and metadata; of shared objects. */
#define MEMBERS_METADATA_MAX ((size_t)512 << 20)
#define MEMBERS_OBJECTS_MAX  ((size_t)512 << 20)

struct members {
	struct tree_file *files; /* paths without "./"; bytes null if not kept */
	size_t count, room;
	const char *path;     /* of the archive, for messages; borrowed */
	size_t ignored;       /* links, and members with an absolute path or ".." */
	struct slice example; /* the first of them */
	size_t metadata_bytes, object_bytes;
	struct name_map kept; /* path -> index in files: a later member replaces an earlier one */
	struct arena arena;
};

void members_free(struct members *members);

/* The bytes to keep of the member at @path, of @size bytes; see archive_file.h. */
size_t members_wanted(void *members, struct slice path, uint64_t size);

/* Add a file; its bytes are copied. ERROR_LIMIT, ERROR_NOMEM. See archive_file.h. */
int members_add(void *members, struct slice path, struct slice bytes, struct error *error);

/* Add a wanted link: the file if it is a hard one to a kept file, else none; it replaces others. */
int members_link(void *members, struct slice path, struct slice target, struct error *error);

/* The file at @path, if its content was kept, or NULL. */
const struct tree_file *members_find(const struct members *members, struct slice path);

#endif

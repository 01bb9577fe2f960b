/*
 * metadata.h - parses Name and Version in METADATA and PKG-INFO.
 *
 * Python reads these files with its mail parser and takes the first header of each name. The result
 * equals msg["Name"] and msg["Version"], including odd cases, for text read with universal
 * newlines.
 */
#ifndef LIBQUERY_DISK_METADATA_METADATA_H
#define LIBQUERY_DISK_METADATA_METADATA_H

#include "db/base/arena.h"
#include "db/base/slice.h"

struct metadata {
	struct slice name;    /* null if there is no such header; it may be empty */
	struct slice version; /* likewise */
	bool complete;        /* further text cannot change the result */
};

/*
 * Parse @text, which may be the start of a file. If out->complete is false and the file continues,
 * read more and call again; at the end of the file the result is final.
 *
 * The slices point into @text, or into @arena for a folded value. Returns 0, or ERROR_NOMEM with
 * *out untouched. Python rejects files that are not valid UTF-8: callers check utf8_valid().
 */
int metadata_parse(struct slice text, struct arena *arena, struct metadata *out);

#endif

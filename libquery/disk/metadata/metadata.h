/*
 * metadata.h - the two headers of METADATA and PKG-INFO that this project needs.
 *
 * Python reads these files with its parser for mail and takes the first header of a
 * name. The result here is what msg["Name"] and msg["Version"] are there, odd cases
 * included, for text read with universal newlines.
 */
#ifndef LIBQUERY_DISK_METADATA_METADATA_H
#define LIBQUERY_DISK_METADATA_METADATA_H

#include "db/base/arena.h"
#include "db/base/slice.h"

struct metadata {
	struct slice name;    /* null when there is no such header; it may be empty */
	struct slice version; /* likewise */
	bool complete;        /* no text that follows can change the above */
};

/*
 * Read @text, which may be the beginning of a file. When out->complete is false and
 * the file goes on, read more and call again; at the end of the file the answer stands.
 *
 * The slices point into @text, or into @arena for a value on several lines. Returns 0,
 * or ERROR_NOMEM with *out untouched. Python fails on a file that is not valid UTF-8
 * throughout: that is for the caller to ask of utf8_valid().
 */
int metadata_parse(struct slice text, struct arena *arena, struct metadata *out);

#endif

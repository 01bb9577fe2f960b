/*
 * wheel_record.h - finds files of a distribution in its RECORD.
 *
 * RECORD is CSV: path, hash, size. It is searched rather than parsed: of thousands of lines a few
 * matter, and those are found without splitting the others. For many searches the paths are sorted
 * first (path_index.h). Nothing is copied. Paths that contain a quotation mark are skipped; no
 * module can have such a name.
 *
 * For an archive without RECORD, its own list of paths is searched in the same way.
 */
#ifndef LIBQUERY_DISK_TREE_WHEEL_RECORD_H
#define LIBQUERY_DISK_TREE_WHEEL_RECORD_H

#include "libquery/disk/tree/path_index.h"

struct wheel_record {
	struct slice text;              /* of RECORD; null: the paths of an archive, */
	struct slice site;              /* restricted to, and relative to, this directory */
	const struct path_index *index; /* all paths, sorted; NULL: search the text */
};

struct wheel_file {
	struct slice path;    /* as installed: without a wheel's x.data/platlib/ or purelib/ */
	struct slice spelled; /* as in RECORD, which is its name in a wheel */
	struct slice sha256;  /* "sha256=..." as in RECORD; null for none */
};

/* Is there neither a RECORD nor a list of paths? */
static inline bool wheel_record_is_null(const struct wheel_record *record)
{
	return slice_is_null(record->text) && !record->index;
}

/* Put the paths in @record's text into the empty @index, sorted; false if out of memory. */
bool wheel_record_index(const struct wheel_record *record, struct path_index *index);

/* The next file whose path starts with @prefix. Start with *at 0. False at the end. */
bool wheel_record_find(const struct wheel_record *record, struct slice prefix, size_t *at,
                       struct wheel_file *out);

/* The same for files whose path ends in ".so". */
bool wheel_record_find_object(const struct wheel_record *record, size_t *at,
                              struct wheel_file *out);

#endif

/*
 * wheel_record.h - the files of a distribution, from the bytes of its RECORD.
 *
 * RECORD is CSV: path, hash, size. It is searched rather than parsed: of
 * thousands of lines a few matter, and those are found without looking at the
 * others one by one. Where many are asked for, the paths are sorted first
 * (path_index.h). Nothing is copied. Paths that contain a quotation mark are
 * left out; no module can be called so.
 *
 * An archive without RECORD is asked for its own paths in the same way.
 */
#ifndef LIBQUERY_DISK_TREE_WHEEL_RECORD_H
#define LIBQUERY_DISK_TREE_WHEEL_RECORD_H

#include "libquery/disk/tree/path_index.h"

struct wheel_record {
	struct slice text;              /* of RECORD; null: the paths are an archive's own, */
	struct slice site;              /* of which those below this count, named from there */
	const struct path_index *index; /* all the paths; NULL: the text is searched */
};

struct wheel_file {
	struct slice path;    /* as installed: without a wheel's x.data/platlib/ or purelib/ */
	struct slice spelled; /* as it stands in RECORD, which is its name within a wheel */
	struct slice sha256;  /* "sha256=..." as it stands there; null when absent */
};

/* Is there neither a RECORD nor a list of paths? */
static inline bool wheel_record_is_null(const struct wheel_record *record)
{
	return slice_is_null(record->text) && !record->index;
}

/* Put the paths of @record's text into @index, which is empty; false without memory. */
bool wheel_record_index(const struct wheel_record *record, struct path_index *index);

/* The next file whose path starts with @prefix. Begin with *at 0. False when there is no more. */
bool wheel_record_find(const struct wheel_record *record, struct slice prefix, size_t *at,
                       struct wheel_file *out);

/* The same for the files whose path ends in ".so". */
bool wheel_record_find_object(const struct wheel_record *record, size_t *at,
                              struct wheel_file *out);

#endif

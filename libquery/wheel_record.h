/*
 * wheel_record.h - the files of a distribution, from the bytes of its RECORD.
 *
 * RECORD is CSV: path, hash, size. It is searched rather than parsed: of
 * thousands of lines a few matter, and those are found without looking at the
 * others one by one. Nothing is copied. Paths that contain a quotation mark are
 * left out; no module can be called so.
 */
#ifndef LIBQUERY_WHEEL_RECORD_H
#define LIBQUERY_WHEEL_RECORD_H

#include "slice.h"

struct wheel_file {
	struct slice path;    /* as installed: without a wheel's x.data/platlib/ or purelib/ */
	struct slice spelled; /* as it stands in RECORD, which is its name within a wheel */
	struct slice sha256;  /* "sha256=..." as it stands there; null when absent */
};

/*
 * The next file at or behind *at whose path starts with @prefix, which is not
 * empty; *at is moved behind it. Begin with *at 0. False when there is no more.
 */
bool wheel_record_find(struct slice record, struct slice prefix, size_t *at,
                       struct wheel_file *out);

/* The same for the files whose path ends in ".so". */
bool wheel_record_find_object(struct slice record, size_t *at, struct wheel_file *out);

#endif

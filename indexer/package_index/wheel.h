/*
 * wheel.h - a wheel on a server, of which only those bytes are known that have been fetched.
 *
 * It is read as a file is, by the reader of zips. Where that asks for a byte that is not there
 * yet, the reading ends, the bytes are fetched, and it begins again: a zip's directory stands at
 * its end, and by convention so does its metadata, so that mostly one piece will do.
 */
#ifndef INDEXER_PACKAGE_INDEX_WHEEL_H
#define INDEXER_PACKAGE_INDEX_WHEEL_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"

#define WHEEL_TAIL      ((uint64_t)48 << 10) /* bytes that are fetched first, from the end */
#define WHEEL_FETCH_MIN ((uint64_t)8 << 10)  /* bytes fetched at a time */
#define WHEEL_FETCH_MAX ((uint64_t)16 << 20) /* bytes of one wheel, all in all */
#define WHEEL_WHOLE_MAX ((uint64_t)4 << 20)  /* bytes of a wheel that a server gives only whole */
#define WHEEL_PIECES    8

struct wheel_piece {
	uint64_t at;
	struct slice bytes; /* of the wheel's arena */
};

struct wheel {
	uint64_t size; /* bytes of the whole; 0: not known yet */
	struct wheel_piece pieces[WHEEL_PIECES];
	size_t piece_count;
	uint64_t fetched;                     /* bytes */
	uint64_t missing_at, missing_size;    /* 0: nothing is */
	struct slice info;                    /* X.dist-info; of @arena, as the next two */
	struct slice name, version;           /* METADATA's */
	struct slice entry_points;            /* null: it has none */
	bool has_metadata, metadata_is_right; /* METADATA was read; its hash is the index's */
	struct arena arena;
};

/* Bytes that were fetched, which are copied. ERROR_LIMIT, ERROR_NOMEM. */
int wheel_add(struct wheel *wheel, uint64_t at, struct slice bytes, struct error *error);

/* METADATA as the index gives it by itself, or as it was read; @sha256: in hexadecimal, or null. */
int wheel_take_metadata(struct wheel *wheel, struct slice text, struct slice sha256,
                        struct error *error);

/*
 * Read it, as far as it can be. 1: all is read; 0: the bytes of missing_at are to be added first;
 * or why it is no wheel. @sha256: of METADATA, or null.
 */
int wheel_read(struct wheel *wheel, const char *name, struct slice sha256, struct error *error);

void wheel_free(struct wheel *wheel);

#endif

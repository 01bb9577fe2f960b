/*
 * wheel.h - a wheel on a server, of which only some parts have been fetched.
 *
 * It is read by the reader of zips. Where that needs a byte that is not there yet, the reading
 * ends, the byte and some of those behind it are fetched, and the reading begins again. A zip's
 * directory stands at its end, and by convention so does a wheel's metadata, so that one part is
 * mostly enough.
 */
#ifndef INDEXER_PACKAGE_INDEX_WHEEL_H
#define INDEXER_PACKAGE_INDEX_WHEEL_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/record.h"

#define WHEEL_TAIL      ((uint64_t)48 << 10) /* bytes that are fetched first, from the end */
#define WHEEL_FETCH_MIN ((uint64_t)16 << 10) /* bytes that are fetched at a time */
#define WHEEL_FETCH_MAX ((uint64_t)16 << 20) /* bytes of one wheel */
#define WHEEL_WHOLE_MAX ((uint64_t)4 << 20)  /* bytes of a wheel without ranges */
#define WHEEL_PIECES    8

struct wheel {
	const char *name; /* of the file, for messages; borrowed */
	uint64_t size;    /* bytes of the whole; 0: not known yet */
	struct {
		uint64_t at;
		struct slice bytes; /* in the wheel's arena */
	} pieces[WHEEL_PIECES];
	size_t piece_count;
	uint64_t missing_at, missing_size; /* what to fetch next */
	struct slice info;     /* X.dist-info; null before the directory has been read */
	struct slice metadata; /* METADATA; null before it has been read, or given by itself */
	struct arena arena;
};

/* Add bytes that were fetched, which are copied. ERROR_LIMIT, ERROR_NOMEM. */
int wheel_add(struct wheel *wheel, uint64_t at, struct slice bytes, struct error *error);

/*
 * Read what importlib.metadata would find if the wheel were installed into @out, with texts in
 * @arena. 1: done; 0: the bytes at missing_at must be added first; or why it is no wheel.
 */
int wheel_read(struct wheel *wheel, struct arena *arena, struct distribution_record *out,
               struct error *error);

static inline void wheel_free(struct wheel *wheel)
{
	arena_free(&wheel->arena); /* it can be freed again */
}

#endif

/*
 * wheel.h - reads a wheel on a server by fetching only parts of it.
 *
 * The zip reader runs on the parts fetched so far. If it needs a missing byte, it stops, that byte
 * and some following ones are fetched, and it starts again. A zip's directory is at its end, and by
 * convention a wheel's metadata, too, so one part is usually enough.
 */
#ifndef INDEXER_PACKAGE_INDEX_WHEEL_H
#define INDEXER_PACKAGE_INDEX_WHEEL_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/record.h"

#define WHEEL_TAIL      ((uint64_t)48 << 10) /* bytes of the first part, at the end */
#define WHEEL_FETCH_MIN ((uint64_t)16 << 10) /* minimal bytes of a further part */
#define WHEEL_FETCH_MAX ((uint64_t)16 << 20) /* bytes fetched of one wheel */
#define WHEEL_WHOLE_MAX ((uint64_t)4 << 20)  /* bytes of a wheel whose server lacks ranges */
#define WHEEL_PIECES    8

struct wheel {
	const char *name; /* the file name, for messages; borrowed */
	uint64_t size;    /* bytes of the wheel; 0: not yet known */
	struct {
		uint64_t at;
		struct slice bytes; /* in the wheel's arena */
	} pieces[WHEEL_PIECES];
	size_t piece_count;
	uint64_t missing_at, missing_size; /* what to fetch next */
	struct slice info;                 /* X.dist-info; null until the directory is read */
	struct slice metadata;             /* METADATA; null until it is read or set separately */
	struct arena arena;
};

/* Add fetched bytes, which are copied. ERROR_LIMIT, ERROR_NOMEM. */
int wheel_add(struct wheel *wheel, uint64_t at, struct slice bytes, struct error *error);

/*
 * Read the entry points and metadata into @out as importlib.metadata would after an installation,
 * with texts in @arena. 1: done; 0: the bytes at missing_at must be added first; or an error.
 */
int wheel_read(struct wheel *wheel, struct arena *arena, struct distribution_record *out,
               struct error *error);

static inline void wheel_free(struct wheel *wheel)
{
	arena_free(&wheel->arena); /* may be freed again */
}

#endif

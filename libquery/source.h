/*
 * source.h - the database files of a handle. Private to libquery/.
 */
#ifndef LIBQUERY_SOURCE_H
#define LIBQUERY_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "db/base/name_map.h"
#include "db/base/trust.h"
#include "db/reader.h"

#define SOURCE_NONE SIZE_MAX

#define CARRIED_UNKNOWN (-1)

/*
 * A database file, which may be missing, or be replaced at any time.
 *
 * Its owner decides for whom it is trusted: a file written by root or the effective user answers
 * for every path entry; one written by another user only for that user's path entries, and never
 * for what is loaded. So there may be several sources for one file.
 */
struct source {
	char *file;
	uint32_t older;        /* another source of the same file, or NAME_MAP_NONE */
	struct reader *reader; /* NULL: missing or unusable; see why */
	struct error why;
	struct carried carried; /* set by source_carried() */
	int was_carried;        /* 1, 0 or CARRIED_UNKNOWN */
	bool damaged;           /* the reader is only kept to detect a replacement */
	uid_t owner;            /* trusted besides root and the effective user: the file then */
	                        /* answers for this user's path entries only; or TRUST_NO_OTHER */
};

struct sources {
	struct source *items;
	size_t count, room;
	struct name_map by_file; /* to the one added last */
	unsigned generation;     /* counts files opened again or marked damaged */
};

/*
 * The index of the source for @file that answers for path entries of @owner; created and opened on
 * first use. SOURCE_NONE: out of memory.
 */
size_t sources_find(struct sources *sources, const char *file, uid_t owner);

/* Reopen files that were replaced, or have appeared, since. */
void sources_refresh(struct sources *sources);

/* Reopen files that could not be opened or read because of a transient failure (error.h). */
void sources_retry(struct sources *sources);

/*
 * Handle the result @code of a call on the reader of source @index, and return it. A damaged file
 * is not used until it is replaced; an unreadable one, until sources_retry(). *why is moved to the
 * source, so that it is handled once.
 */
int sources_check(struct sources *sources, size_t index, int code, struct error *why);

void sources_free(struct sources *sources);

/* The source's reader, or NULL if it is unusable. */
static inline struct reader *source_reader(const struct source *source)
{
	return source->damaged ? NULL : source->reader;
}

/* How the file was carried since its publication (carried.h); NULL: not carried, or unknown. */
const struct carried *source_carried(struct source *source);

/* Is the file marked stale (publish.h)? */
static inline bool source_is_marked(const struct source *source)
{
	return source->reader && reader_status(source->reader).is_marked_stale;
}

#endif

/*
 * source.h - the database files from which a handle answers. Private to libquery/.
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
 * A database file, which may be absent, or be replaced at any time.
 *
 * Whom it belongs to decides who may believe it: what root or the effective user wrote
 * answers for every path entry; what somebody else wrote answers for path entries of his
 * own only, and never for what is loaded. So there may be several sources of one file.
 */
struct source {
	char *file;
	uint32_t older;        /* another of the same file, or NAME_MAP_NONE */
	struct reader *reader; /* NULL: absent or unusable; see why */
	struct error why;
	struct carried carried; /* how it was, once source_carried() has been asked, */
	int was_carried;        /* and what it has answered; CARRIED_UNKNOWN */
	bool damaged;           /* the reader is kept only to see when the file is replaced */
	uid_t owner;            /* who may have written it besides root and the effective user, */
	/* and whose path entries alone it then answers for; or TRUST_NO_OTHER */
};

struct sources {
	struct source *items;
	size_t count, room;
	struct name_map by_file; /* -> the one that was added last */
	unsigned generation;     /* grows with each file that is opened, or given up */
};

/*
 * The index of the source for @file that may answer for a path entry of @owner, made and
 * opened at first mention; SOURCE_NONE: no memory.
 */
size_t sources_find(struct sources *sources, const char *file, uid_t owner);

/* Open again what was replaced, or has appeared, since. */
void sources_refresh(struct sources *sources);

/*
 * Open again what a failure (error.h) has kept from being opened or read: answers may
 * come from the disk instead, but not for good.
 */
void sources_retry(struct sources *sources);

/*
 * Look at what asking the reader of source @index has returned, and return it. A file
 * that turns out to be damaged is not used until it is replaced; one that could not be
 * read, until sources_retry(). *@why becomes the source's, so that nobody counts it twice.
 */
int sources_check(struct sources *sources, size_t index, int code, struct error *why);

void sources_free(struct sources *sources);

/* The source's reader, if it can be asked. */
static inline struct reader *source_reader(const struct source *source)
{
	return source->damaged ? NULL : source->reader;
}

/* How its file was carried since it was published; NULL: it was not, or nobody knows. */
const struct carried *source_carried(struct source *source);

/* Has a writer left a mark that it may be wrong (publish.h)? */
static inline bool source_is_marked(const struct source *source)
{
	return source->reader && reader_status(source->reader).is_marked_stale;
}

#endif

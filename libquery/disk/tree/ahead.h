/*
 * ahead.h - small files that will be wanted one after another, read several at once.
 *
 * A file system beyond a network, or a disk that has to look for each file, answers many
 * requests in the time that it takes for one. So a few threads read, or look, ahead of the
 * caller, who still gets the files one by one, in order.
 *
 * The threads are joined before ahead_end() returns. All signals are blocked in them: those
 * of a host are for its own threads. Where no thread can be made, the caller reads everything
 * itself.
 */
#ifndef LIBQUERY_DISK_TREE_AHEAD_H
#define LIBQUERY_DISK_TREE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define AHEAD_THREADS 16
#define AHEAD_WINDOW  128                 /* files that may be read and not taken yet */
#define AHEAD_BYTES   ((size_t)64 * 1024) /* a larger file is left to the caller */

/* What was found at a name. */
struct ahead_file {
	int errnum;         /* why it could not be opened or read; 0: it was */
	int answer;         /* for callers that look at files without reading them */
	bool left;          /* nothing was found out: read it yourself */
	struct stat status; /* where it was opened */
	char *bytes;        /* malloc'd, of a regular file; NULL: of none, or it is left */
	size_t len;
};

/* Find out about file number @index into *@out, zeroed; in any thread, in any order. */
typedef void ahead_read(const void *payload, size_t index, struct ahead_file *out);

struct ahead;

/*
 * Is it worth it? Once this many, and not less than half of all, were slow, and where this many
 * are still to come. From a cache a file takes 2 to 10 microseconds; to make the threads takes
 * as long as a few that are slow.
 */
#define AHEAD_SLOW        100000 /* nanoseconds */
#define AHEAD_SLOW_FILES  8
#define AHEAD_WORTH_FILES 16

struct ahead_pace {
	size_t timed, slow; /* files */
};

/* Note a file that was begun at @began (CLOCK_MONOTONIC) and is done: does it pay to read ahead
 * the @left ones after it? */
bool ahead_pays(struct ahead_pace *pace, int64_t began, size_t left);

/*
 * Read files @first to @count, by @read, which must not use what its caller changes
 * meanwhile. NULL: there will be no reading ahead. End it with ahead_end().
 */
struct ahead *ahead_begin(ahead_read *read, const void *payload, size_t first, size_t count);

/*
 * File number @index, which is not less than any that was taken before; those between are
 * dropped. Waits for it. out->bytes is the caller's.
 */
void ahead_take(struct ahead *ahead, size_t index, struct ahead_file *out);

/* Wait for the threads; NULL is accepted. */
void ahead_end(struct ahead *ahead);

#endif

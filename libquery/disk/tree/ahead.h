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

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"

#define AHEAD_THREADS 16
#define AHEAD_WINDOW  128                 /* files that may be read and not taken yet */
#define AHEAD_BYTES   ((size_t)64 * 1024) /* a larger file is left to the caller */

/* What was found out about a file. */
struct ahead_file {
	bool left;  /* nothing was: ask yourself */
	int answer; /* and what comes with it: */
	struct slice text;
	struct arena arena; /* of the text */
	struct error error;
};

static inline void ahead_file_free(struct ahead_file *file)
{
	arena_free(&file->arena);
	error_clear(&file->error);
}

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
 * dropped. Waits for it. The caller frees *@out.
 */
void ahead_take(struct ahead *ahead, size_t index, struct ahead_file *out);

/* Wait for the threads; NULL is accepted. */
void ahead_end(struct ahead *ahead);

#endif

/*
 * ahead.h - reads small files ahead with several threads, for file systems with high latency.
 *
 * A network file system, or a disk that seeks for each file, serves many requests in the time of
 * one. So a few threads read ahead of the caller, who still gets the files one by one, in order.
 *
 * The threads are joined before ahead_end() returns. They block all signals, which are for the
 * host's own threads. If no thread can be created, the caller reads everything itself.
 */
#ifndef LIBQUERY_DISK_TREE_AHEAD_H
#define LIBQUERY_DISK_TREE_AHEAD_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"

#define AHEAD_THREADS 16
#define AHEAD_WINDOW  128                 /* files read but not yet taken */
#define AHEAD_BYTES   ((size_t)64 * 1024) /* larger files are left to the caller */

/* The result for a file. */
struct ahead_file {
	bool left;  /* not read: left to the caller */
	int answer; /* 1, 0 or a code, with: */
	struct slice text;
	struct arena arena; /* of the text */
	struct error error;
};

static inline void ahead_file_free(struct ahead_file *file)
{
	arena_free(&file->arena);
	error_clear(&file->error);
}

/* Read file number @index into the zeroed *out; called in any thread, in any order. */
typedef void ahead_read(const void *payload, size_t index, struct ahead_file *out);

struct ahead;

/*
 * Reading ahead starts once AHEAD_SLOW_FILES files, and at least half of all, were slow, if
 * AHEAD_WORTH_FILES are still to come. A cached file takes 2 to 10 microseconds; creating the
 * threads takes as long as a few slow files.
 */
#define AHEAD_SLOW        100000 /* nanoseconds */
#define AHEAD_SLOW_FILES  8
#define AHEAD_WORTH_FILES 16

struct ahead_pace {
	size_t timed, slow; /* files */
};

/*
 * Record the time of a file started at @began (CLOCK_MONOTONIC): does reading ahead pay for the
 * @left files after it?
 */
bool ahead_pays(struct ahead_pace *pace, int64_t began, size_t left);

/*
 * Read files @first to @count with @read, which must not use data that the caller changes
 * meanwhile. NULL: no reading ahead. End with ahead_end().
 */
struct ahead *ahead_begin(ahead_read *read, const void *payload, size_t first, size_t count);

/*
 * Wait for file number @index; indexes must increase, and skipped files are dropped. The caller
 * frees *out.
 */
void ahead_take(struct ahead *ahead, size_t index, struct ahead_file *out);

/* Join the threads; NULL is accepted. */
void ahead_end(struct ahead *ahead);

#endif

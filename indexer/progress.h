/*
 * progress.h - a line on the terminal that says how far long work has come.
 *
 * Shown only if stderr is a terminal, --quiet is not given, and the work has
 * lasted a moment; it is erased at the end, so that what remains are results.
 */
#ifndef INDEXER_PROGRESS_H
#define INDEXER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	const char *what; /* such as "indexing", shown before the bar */
	bool enabled, shown;
	int64_t began, last; /* milliseconds */
};

struct progress progress_begin(const char *what, bool quiet);

/* @name (may be NULL) is what is being worked on; @done of @total. */
void progress_show(struct progress *progress, const char *name, size_t done, size_t total);

/*
 * For scans, which ask now and then: show how far it has come on @payload, a struct
 * progress (NULL: on none), and be non-zero if the user has interrupted.
 */
int progress_ask(void *payload, size_t done, size_t total);

/* Erase the line, before a message and at the end. */
void progress_erase(struct progress *progress);

#endif

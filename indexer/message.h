/*
 * message.h - output lines, terminal properties, exit statuses, interruption and progress.
 *
 * Results go to stdout, messages to stderr, one line each, starting with "entrydb: ".
 */
#ifndef INDEXER_MESSAGE_H
#define INDEXER_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/base/error.h"
#include "db/base/slice.h"
#include "libquery/entrydb.h"

enum status {
	STATUS_ERROR = -1,    /* and below: the code of an error not yet printed */
	STATUS_DONE = 0,      /* done or found */
	STATUS_NOT_FOUND = 1, /* not found, or differences found */
	STATUS_USAGE = 2,
	STATUS_COULD_NOT = 3,
};

/* --- terminals --- */

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_NAME, /* the main column */
	STYLE_GOOD,
	STYLE_BAD,
	STYLE_FAINT,
	STYLE_PROSE, /* of a column: a sentence on separate lines below its row */
	STYLE_COUNT,
	STYLE_WIDE = 16, /* a flag of a column: below its row if the terminal is too narrow */
};

/*
 * Set colours: "auto" (the default) means on terminals, unless NO_COLOR is set or TERM is dumb or
 * unset; "always"; "never". False for anything else.
 */
bool terminal_color(const char *when);

/* Is @stream, stdout or stderr, a terminal? */
bool terminal_is(FILE *stream);

/*
 * Write @text, in @style if @stream has colours; it is escaped (escape.h), without allocating,
 * unless @is_escaped.
 */
void terminal_put(FILE *stream, enum style style, struct slice text, bool is_escaped);

/* Write a paragraph wrapped to @room columns, of which the first @indent stay empty. */
void terminal_put_words(FILE *stream, const char *text, size_t indent, size_t room);

/* The width of the terminal; 80 if unknown. */
size_t terminal_columns(FILE *stream);

/* The width of @text, which has no control characters, in columns. */
size_t terminal_width(struct slice text);

/* --- lines --- */

/* A line on stderr, after "entrydb: ". */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line on stdout, escaped as a whole (escape.h), like messages. */
void print_line(enum style style, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Was a line of print_line() lost because memory ran out? */
bool results_were_lost(void);

/* Print the error's message, clear it, and return STATUS_COULD_NOT. */
enum status fail(struct error *error);

/* If @code is an error, move the library's error to @to; returns @code. */
int take_error(int code, entrydb_error *from, struct error *to);

/* Has SIGINT or SIGTERM been received? Long operations check this and stop cleanly. */
bool interrupted(void);

/* Clear the interruption, after it was handled. */
void interruption_over(void);

/*
 * Catch SIGINT, SIGTERM and SIGHUP: only the first one, so that the next ends the program; or all
 * of them with @for_good. Exceeding the file size limit becomes an error.
 */
void catch_signals(bool for_good);

/* --- progress --- */

/*
 * A progress bar. Shown only if stderr is a terminal, --quiet is not given, and the work has lasted
 * a moment; erased at the end.
 */
struct progress {
	const char *what; /* shown before the bar, such as "indexing" */
	bool enabled, shown;
	int64_t began, last; /* milliseconds */
};

struct progress progress_begin(const char *what, bool quiet);

/* Show @done of @total, and an estimate of long work; @name (may be NULL) is the current item. */
void progress_show(struct progress *progress, const char *name, size_t done, size_t total);

/*
 * Callback for scans: shows progress on @payload, a struct progress (NULL: none); non-zero if
 * interrupted.
 */
int progress_ask(void *payload, size_t done, size_t total);

/* Erase the bar, before a message and at the end. */
void progress_erase(struct progress *progress);

#endif

/*
 * message.h - lines on stdout and stderr, what is different where a person looks at them (colours,
 * and how wide a text is), the exit statuses, and whether the user has interrupted.
 *
 * Results go to stdout, messages to stderr, one line each, beginning with "entrydb: ".
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
	STATUS_ERROR = -1,    /* and below: the code of an error, which is not printed yet */
	STATUS_DONE = 0,      /* done, or found */
	STATUS_NOT_FOUND = 1, /* not found, or differences found */
	STATUS_USAGE = 2,
	STATUS_COULD_NOT = 3,
};

/* --- terminals --- */

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_NAME, /* what was asked for */
	STYLE_GOOD,
	STYLE_BAD,
	STYLE_FAINT,
	STYLE_PROSE, /* of a column: a sentence, which has lines of its own below its row */
	STYLE_COUNT,
	STYLE_WIDE = 16, /* a flag of a column: so where the terminal is too narrow for it */
};

/*
 * "auto", which is also what holds until this is called: colours on terminals, unless
 * NO_COLOR is set or TERM is dumb or unset; "always", "never". False for anything else.
 */
bool terminal_color(const char *when);

/* Is a person looking at what @stream, stdout or stderr, gets? */
bool terminal_is(FILE *stream);

/*
 * Write @text in that style, where @stream is to have colours; unless it @is_escaped, it is
 * (escape.h) on the way, which needs no memory.
 */
void terminal_put(FILE *stream, enum style style, struct slice text, bool is_escaped);

/*
 * Write a paragraph, with as many words on a line as there is room for: @room columns, of which the
 * first @indent stay empty.
 */
void terminal_put_words(FILE *stream, const char *text, size_t indent, size_t room);

/* How many columns that terminal has; 80 where it does not say. */
size_t terminal_columns(FILE *stream);

/* How many columns a terminal needs for @text, which has no control characters. */
size_t terminal_width(struct slice text);

/* --- lines --- */

/* A line on stderr, after "entrydb: ". */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line on stdout, escaped as a whole (escape.h), as messages are. */
void print_line(enum style style, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Was a line of print_line() lost for want of memory? */
bool results_were_lost(void);

/* Print the error's message, clear it, and return STATUS_COULD_NOT. */
enum status fail(struct error *error);

/* An error of the library's, if @code is one, as one of the program's; returns @code. */
int take_error(int code, entrydb_error *from, struct error *to);

/* Has Ctrl-C, or a request to terminate, come in? Long work asks, and stops cleanly. */
bool interrupted(void);

/* It was obeyed: what is done from now on is what the user waits for. */
void interruption_over(void);

/*
 * @for_good: not only the first of them, after which the next one ends the program as usual.
 * A file too large becomes an error.
 */
void catch_signals(bool for_good);

/* --- progress --- */

/*
 * A line on the terminal that says how far long work has come. Shown only if stderr is a terminal,
 * --quiet is not given, and the work has lasted a moment; it is erased at the end, so that what
 * remains are results.
 */
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

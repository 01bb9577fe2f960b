/*
 * message.h - lines on stdout and stderr, the exit statuses, and whether the user has interrupted.
 *
 * Results go to stdout, messages to stderr, one line each, beginning with "entrydb: ".
 */
#ifndef INDEXER_MESSAGE_H
#define INDEXER_MESSAGE_H

#include <stdbool.h>

#include "db/base/error.h"
#include "indexer/terminal.h"
#include "libquery/entrydb.h"

enum status {
	STATUS_DONE = 0,      /* done, or found */
	STATUS_NOT_FOUND = 1, /* not found, or differences found */
	STATUS_USAGE = 2,
	STATUS_COULD_NOT = 3,
};

/* A line on stderr, after "entrydb: ". */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line on stdout, escaped as a whole (escape.h), as messages are. */
void print_line(enum style style, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Was a line of print_line() lost for want of memory? */
bool results_were_lost(void);

/* Print the error's message, clear it, and return STATUS_COULD_NOT. */
enum status fail(struct error *error);

/* An error of the library's as one of the program's; returns @code. */
int take_error(int code, entrydb_error *from, struct error *to);

/* Has Ctrl-C, or a request to terminate, come in? Long work asks, and stops cleanly. */
bool interrupted(void);

/*
 * @for_good: not only the first of them, after which the next one ends the program as usual.
 * A file too large becomes an error.
 */
void catch_signals(bool for_good);

#endif

/*
 * worksheet.h - facts in memory, and questions about them in SQL.
 *
 * A private SQLite database that is made from a script of ours and filled by its owner.
 * What is put into it may be hostile: it is only ever bound to parameters. Used by one
 * thread at a time.
 */
#ifndef DB_WORKSHEET_H
#define DB_WORKSHEET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/base/error.h"
#include "db/base/slice.h"

struct worksheet;

/* A statement, which its worksheet owns. */
struct worksheet_query;

/* Make one from the statements of @script. */
int worksheet_open(const char *script, struct worksheet **out, struct error *error);
void worksheet_close(struct worksheet *worksheet); /* NULL is accepted */

static inline void cleanup_worksheet(struct worksheet **worksheet) /* for CLEANUP() */
{
	worksheet_close(*worksheet);
}

/*
 * The query of that text, without values; prepared once, so @text is to be one of few
 * literals. NULL, and the worksheet remembers why (worksheet_failure()), if it cannot be.
 */
struct worksheet_query *worksheet_ask(struct worksheet *worksheet, const char *text);

/*
 * The next value of the query, in the order of its parameters. Texts must stay until it is
 * run; the null slice is NULL. With a NULL query, nothing happens.
 */
void worksheet_text(struct worksheet_query *query, struct slice text);
void worksheet_number(struct worksheet_query *query, int64_t number);

/* Run one that gives no rows. What fails is remembered, and nothing is done after it. */
void worksheet_run(struct worksheet_query *query);

/* Step to the next row; false after the last one, or after a failure. */
bool worksheet_next(struct worksheet_query *query);

/* A column of the row, from 0; texts stay until the next step. NULL gives the null slice, 0. */
struct slice worksheet_column(struct worksheet_query *query, int column);
int64_t worksheet_integer(struct worksheet_query *query, int column);

/* The first failure since it was opened, or 0. */
int worksheet_failure(struct worksheet *worksheet, struct error *error);

/*
 * Write it as an SQLite database, for sqlite3; it can then only be closed. Whether all could
 * be written is asked of the stream.
 */
int worksheet_write(struct worksheet *worksheet, FILE *stream, struct error *error);

#endif

/*
 * worksheet.h - facts, in memory, and questions about them.
 *
 * A private SQLite database that is made from a script of ours and filled by its owner, who
 * names tables and views of the script and knows no SQL. What is put into it may be hostile:
 * it is only ever bound to parameters. Used by one thread at a time.
 */
#ifndef DB_WORKSHEET_H
#define DB_WORKSHEET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/base/error.h"
#include "db/base/slice.h"

struct worksheet;

/* The rows of a view or a table, which the worksheet owns; one walk of each at a time. */
struct worksheet_rows;

/* A value of a row; several are a row. */
struct fact {
	enum { FACT_END, FACT_NULL, FACT_TEXT, FACT_NUMBER } kind;
	struct slice text;
	int64_t number;
};

#define FACTS(...) ((const struct fact[]){__VA_ARGS__, {.kind = FACT_END}})

static inline struct fact fact_null(void)
{
	return (struct fact){.kind = FACT_NULL};
}

/* The null slice is NULL. */
static inline struct fact fact_text(struct slice text)
{
	return (struct fact){.kind = slice_is_null(text) ? FACT_NULL : FACT_TEXT, .text = text};
}

static inline struct fact fact_string(const char *text)
{
	return fact_text(slice_of(text));
}

static inline struct fact fact_number(int64_t number)
{
	return (struct fact){.kind = FACT_NUMBER, .number = number};
}

/* A slice, a string or a number. */
#define fact(value)                                                                                \
	_Generic((value), struct slice                                                             \
	         : fact_text, char *                                                               \
	         : fact_string, const char *                                                       \
	         : fact_string, default                                                            \
	         : fact_number)(value)

/* 0 is NULL: nothing has that identifier. */
static inline struct fact fact_id(int64_t id)
{
	return id ? fact_number(id) : fact_null();
}

/* Make one, in memory, from the statements of @script. */
int worksheet_open(const char *script, struct worksheet **out, struct error *error);
void worksheet_close(struct worksheet *worksheet); /* NULL is accepted */

static inline void cleanup_worksheet(struct worksheet **worksheet) /* for CLEANUP() */
{
	worksheet_close(*worksheet);
}

/*
 * Put a row into @table, with a value for each column. What fails is remembered, and nothing
 * is done after it.
 */
void worksheet_put(struct worksheet *worksheet, const char *table, const struct fact *row);

/*
 * All rows of @view, in its order; or, unless @key is NULL, those whose column "key" is that
 * one value, FACTS() of it, which must stay as long as the walk.
 */
struct worksheet_rows *worksheet_walk(struct worksheet *worksheet, const char *view,
                                      const struct fact *key);

/* Step to the next row; false after the last one, or after a failure. */
bool worksheet_next(struct worksheet_rows *rows);

/* A column of the row, from 0; texts stay until the next step. NULL gives the null slice, 0. */
struct slice worksheet_text(struct worksheet_rows *rows, int column);
int64_t worksheet_number(struct worksheet_rows *rows, int column);

/* The first failure since it was opened, or 0. */
int worksheet_failure(struct worksheet *worksheet, struct error *error);

/*
 * Write it as an SQLite database, for sqlite3; it can then only be read. Whether all could
 * be written is asked of the stream.
 */
int worksheet_write(struct worksheet *worksheet, FILE *stream, struct error *error);

#endif

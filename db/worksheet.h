/*
 * worksheet.h - a private scratch database for collected facts and queries about them.
 *
 * An SQLite database in memory that is created from a trusted SQL script; the owner fills
 * its tables and reads its views by name, without SQL. Values may be hostile: they are only bound
 * to parameters, and the work of each view is limited in proportion to the rows put before. For one
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

/* A cursor over a view or table, owned by the worksheet; one at a time for each. */
struct worksheet_rows;

/* A value; an array of them is a row. */
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

/* The null slice gives NULL. */
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

/* From a slice, a string or a number. */
#define fact(value)                                                                                \
	_Generic((value), struct slice                                                             \
	         : fact_text, char *                                                               \
	         : fact_string, const char *                                                       \
	         : fact_string, default                                                            \
	         : fact_number)(value)

/* From an identifier; 0 gives NULL. */
static inline struct fact fact_id(int64_t id)
{
	return id ? fact_number(id) : fact_null();
}

/* Create a worksheet, in memory, from the statements of @script. */
int worksheet_open(const char *script, struct worksheet **out, struct error *error);
void worksheet_close(struct worksheet *worksheet); /* NULL is accepted */

static inline void cleanup_worksheet(struct worksheet **worksheet) /* for CLEANUP() */
{
	worksheet_close(*worksheet);
}

/*
 * Insert a row into @table, with a value for each column. After the first failure, further calls do
 * nothing.
 */
void worksheet_put(struct worksheet *worksheet, const char *table, const struct fact *row);

/*
 * Walk all rows of @view in its order, or, unless @key is NULL, those whose column "key" equals the
 * value FACTS(value), which must be valid during the walk.
 */
struct worksheet_rows *worksheet_walk(struct worksheet *worksheet, const char *view,
                                      const struct fact *key);

/* Step to the next row; false at the end or after a failure. */
bool worksheet_next(struct worksheet_rows *rows);

/*
 * A column of the row, from 0; texts are valid until the next step. NULL gives the null slice or 0.
 */
struct slice worksheet_text(struct worksheet_rows *rows, int column);
int64_t worksheet_number(struct worksheet_rows *rows, int column);

/* The first failure since opening, or 0; ERROR_LIMIT: a view took too much for the rows put. */
int worksheet_failure(struct worksheet *worksheet, struct error *error);

/*
 * Did the last walk end because its view took too long, or too much memory? Then *error says so,
 * and the failure is forgotten: other views can be walked.
 */
bool worksheet_gave_up(struct worksheet *worksheet, struct error *error);

/*
 * Write the worksheet as an SQLite database file to @stream. The caller checks the stream for write
 * errors.
 */
int worksheet_write(struct worksheet *worksheet, FILE *stream, struct error *error);

#endif

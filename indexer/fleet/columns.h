/*
 * columns.h - the rows of a table, column by column: each is an array of texts (text[]) in
 * PostgreSQL's binary form, which the server takes apart without looking for separators.
 */
#ifndef INDEXER_FLEET_COLUMNS_H
#define INDEXER_FLEET_COLUMNS_H

#include <stdint.h>
#include <stdio.h>

#include "db/base/error.h"
#include "db/base/slice.h"

#define COLUMNS_MAX 9 /* of a table of fleet.sql, less those that the server fills in */

struct columns {
	FILE *streams[COLUMNS_MAX];
	char *texts[COLUMNS_MAX];
	size_t sizes[COLUMNS_MAX];
	size_t count, rows;
	bool failed; /* no memory */
};

/* Begin a table of @count columns; all of it is released by columns_free(), whatever failed. */
void columns_begin(struct columns *columns, size_t count);
void columns_free(struct columns *columns);

/* A row of as many values; a null slice is NULL. */
void columns_row(struct columns *columns, const struct slice *values);

#define COLUMNS_ROW(columns, ...) columns_row(columns, (const struct slice[]){__VA_ARGS__})

/* No more rows: from now on columns_array() gives them. ERROR_NOMEM. */
int columns_end(struct columns *columns, struct error *error);

/* Null where there are no rows. */
struct slice columns_array(const struct columns *columns, size_t column);

/* A number as text, in @room. */
struct slice columns_number(int64_t number, char room[24]);

/*
 * Text as the server takes it, which knows neither NUL nor what is not UTF-8: such is shown as
 * it is to people (escape.h). *shown: malloc'd, or NULL where @text will do.
 */
struct slice columns_shown(struct slice text, char **shown);

#endif

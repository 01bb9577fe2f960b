/*
 * table.h - rows of text on standard output: aligned under headings on a terminal,
 * separated by tabs elsewhere, which is what programs read.
 */
#ifndef INDEXER_TABLE_H
#define INDEXER_TABLE_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "indexer/terminal.h"

struct table_column {
	const char *heading;
	enum style style;
};

struct table_cell {
	const char *text; /* escaped */
	size_t width;
};

struct table {
	const struct table_column *columns;
	size_t column_count;
	bool aligned;
	struct arena texts;
	struct table_cell *cells; /* of an aligned table, row by row */
	size_t count, room;       /* @count: cells so far, kept or written */
	bool failed;
};

/* @columns are borrowed. */
struct table table_begin(const struct table_column *columns, size_t column_count);

/* The next cell of the row, or the first one of the next row; null is empty. */
void table_cell(struct table *table, struct slice text);

/* Print what has not been printed, and release all. ERROR_NOMEM where that was lacking. */
int table_end(struct table *table, struct error *error);

#endif

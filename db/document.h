/*
 * document.h - everything that "entrydb push" sends of a database, as JSON.
 */
#ifndef DB_DOCUMENT_H
#define DB_DOCUMENT_H

#include <stdio.h>

#include "db/reader.h"

/* document.sql: selects the number of an array and a row of it. */
extern const char document_rows[];

/*
 * Write one array of rows, themselves arrays, for each of distributions, entry points, plugins,
 * start-up code and events. Invalid UTF-8 is escaped. *@rows: the number of rows.
 */
int document_write(struct reader *reader, FILE *stream, size_t *rows, struct error *error);

#endif

/*
 * copy_text.h - rows in the text format of PostgreSQL's COPY.
 */
#ifndef INDEXER_FLEET_COPY_TEXT_H
#define INDEXER_FLEET_COPY_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "db/base/slice.h"

/* Write the values of a row to @stream, and end it; a null slice is NULL. */
void copy_row(FILE *stream, const struct slice *values, size_t count);

#define COPY_ROW(stream, ...)                                                                      \
	copy_row(stream, (const struct slice[]){__VA_ARGS__},                                      \
	         sizeof((const struct slice[]){__VA_ARGS__}) / sizeof(struct slice))

/* A number as text, in @room. */
struct slice copy_number(int64_t number, char room[24]);

#endif

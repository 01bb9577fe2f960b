/*
 * output.h - rows of results on standard output. A row is put once, cell by cell, and comes out
 *
 *     with --json      as an object on a line, always valid JSON in UTF-8
 *     on a terminal    in columns, aligned under headings, folded to its width
 *     elsewhere        separated by tabs, which is what programs read
 *
 * A path may hold bytes that are not UTF-8, and JSON has nothing but text. As in Python
 * (surrogateescape), such a byte 0xNN is written as the lone surrogate \udcNN: json.loads() takes
 * it, and os.fsencode() gives the bytes back. Text that is UTF-8 never has one, so nothing is
 * ambiguous. What must not reach a terminal (escape.h) is written as \uNNNN, which is the same
 * text to every parser.
 */
#ifndef INDEXER_OUTPUT_H
#define INDEXER_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "indexer/message.h"

struct column {
	const char *key;     /* in JSON; NULL: it is not in there */
	const char *heading; /* of the text; NULL: it is not in there */
	enum style style;
	int cell; /* what entry_put() puts there, by verb.h; 0: it does not */
};

/* One of both; and one that is in JSON only, or in the text only. */
#define COLUMN(key, heading, style)                                                                \
	{                                                                                          \
		(key), (heading), (style), 0                                                       \
	}
#define KEY(key)                COLUMN((key), NULL, STYLE_PLAIN)
#define HEADING(heading, style) COLUMN(NULL, (heading), (style))

#define OUTPUT_TEXTS_MAX 16 /* columns with a heading */

struct output {
	FILE *stream;
	const struct column *columns;
	size_t column_count;
	enum { OUTPUT_TABS, OUTPUT_ALIGNED, OUTPUT_JSON } form;
	size_t at, shown; /* the column of the next cell, and how many of the row are shown */
	/* OUTPUT_ALIGNED: the columns with a heading, and their cells, row by row. */
	struct output_text {
		const struct column *column;
		size_t width;  /* of the widest cell */
		bool is_below; /* each cell has lines of its own below its row */
	} texts[OUTPUT_TEXTS_MAX];
	size_t text_count;
	struct arena arena;
	const char **cells; /* escaped */
	size_t count, room;
	bool failed; /* no memory; may be set by the caller, for output_end() to report */
};

/* @columns: an array, which is borrowed. */
#define OUTPUT_BEGIN(columns, json)                                                                \
	output_begin(columns, sizeof(columns) / sizeof(*(columns)), json)

struct output output_begin(const struct column *columns, size_t column_count, bool json);

/* The next cell of the row, or the first one of the next row; a null text is null, or empty. */
void output_text(struct output *output, struct slice text);
void output_string(struct output *output, const char *text);
void output_number(struct output *output, int64_t number);

/* Seconds since 1970 as 2026-11-21T22:15:31Z, on a terminal shorter. */
void output_time(struct output *output, int64_t seconds);

/* Comma-separated words, in JSON an array; null or empty gives []. */
void output_words(struct output *output, struct slice words);

/* Print what has not been printed, and release all. ERROR_NOMEM if memory ran out. */
int output_end(struct output *output, struct error *error);

/* Write @text as a JSON string, quoted. */
void json_string(struct slice text, FILE *stream);

/* Write @json, whose strings may hold anything: as above, and with "<" as \u003c, for HTML. */
void json_document(struct slice json, FILE *stream);

/*
 * Write @text to the file at @path, in the place of what was there; "-" is standard
 * output. It takes its name when it is complete, and only its owner may read it; no link at that
 * name is followed, and root writes nothing in directories of others.
 */
int output_file_write(const char *path, struct slice text, struct error *error);

#endif

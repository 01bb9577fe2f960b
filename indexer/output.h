/*
 * output.h - writes rows of results to standard output, cell by cell.
 *
 *     with --json      an object per line, always valid JSON in UTF-8
 *     on a terminal    columns aligned under headings, folded to its width
 *     elsewhere        tab-separated, for programs
 *
 * A path may contain invalid UTF-8, but JSON is text. As in Python (surrogateescape), such a byte
 * 0xNN is written as the lone surrogate \udcNN: json.loads() accepts it, and os.fsencode() restores
 * the bytes. Valid UTF-8 never contains one, so this is unambiguous. Characters that are unsafe for
 * terminals (escape.h) are written as \uNNNN, which is equivalent in JSON.
 */
#ifndef INDEXER_OUTPUT_H
#define INDEXER_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "indexer/message.h"

struct column {
	const char *key;     /* in JSON; NULL: not in JSON */
	const char *heading; /* in text; NULL: not in text */
	enum style style;
	int cell; /* for entry_put(), see verb.h; 0: none */
};

/* A column of both; of JSON only; of text only. */
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
	size_t at, shown; /* the column of the next cell; cells of the row shown so far */
	/* OUTPUT_ALIGNED: the columns with a heading, and their cells, row by row. */
	struct output_text {
		const struct column *column;
		size_t width;  /* of the widest cell */
		bool is_below; /* each cell is printed on separate lines below its row */
	} texts[OUTPUT_TEXTS_MAX];
	size_t text_count;
	struct arena arena;
	const char **cells; /* escaped */
	size_t count, room;
	bool failed; /* out of memory; the caller may set it, output_end() reports it */
};

/* @columns: an array, borrowed. */
#define OUTPUT_BEGIN(columns, json)                                                                \
	output_begin(columns, sizeof(columns) / sizeof(*(columns)), json)

struct output output_begin(const struct column *columns, size_t column_count, bool json);

/*
 * The next cell of the row, or the first of the next row; a null text is null in JSON, else empty.
 */
void output_text(struct output *output, struct slice text);
void output_string(struct output *output, const char *text);
void output_number(struct output *output, int64_t number);

/* Seconds since 1970 as 2026-11-21T22:15:31Z, shorter on a terminal. */
void output_time(struct output *output, int64_t seconds);

/* A comma-separated list, an array in JSON; null or empty gives []. */
void output_words(struct output *output, struct slice words);

/* Print the rest and free everything. ERROR_NOMEM if memory ran out. */
int output_end(struct output *output, struct error *error);

/* Write @text as a JSON string, quoted. */
void json_string(struct slice text, FILE *stream);

/* Write a JSON document with arbitrary strings, escaped as above, with "<" as \u003c for HTML. */
void json_document(struct slice json, FILE *stream);

/*
 * Replace the file @path atomically by one with content @text and mode 0600; "-" is standard
 * output. A link at that name is not followed, and root does not write in directories of other
 * users.
 */
int output_file_write(const char *path, struct slice text, struct error *error);

#endif

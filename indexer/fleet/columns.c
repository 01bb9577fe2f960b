/*
 * columns.c - see columns.h. The form is that of array_send() in PostgreSQL's
 * src/backend/utils/adt/arrayfuncs.c, the same since version 7.4: big-endian words of 32 bits,
 *
 *     dimensions (1), may there be NULLs, type of the elements,
 *     their number, the first index; then each: its size (-1: NULL), its bytes
 */
#include "indexer/fleet/columns.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/text.h"
#include "db/base/unicode.h"

#define TYPE_OF_TEXT 25 /* pg_type.dat */
#define IS_NULL      UINT32_MAX
#define HEADER_WORDS 5

static void put_word(FILE *stream, uint32_t word)
{
	word = htonl(word);
	fwrite(&word, sizeof(word), 1, stream);
}

void columns_begin(struct columns *columns, size_t count)
{
	static const char room[HEADER_WORDS * sizeof(uint32_t)];

	*columns = (struct columns){.count = count};
	for (size_t i = 0; i < count; i++) {
		columns->streams[i] = open_memstream(&columns->texts[i], &columns->sizes[i]);
		if (columns->streams[i])
			fwrite(room, sizeof(room), 1, columns->streams[i]);
		else
			columns->failed = true;
	}
}

void columns_free(struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		if (columns->streams[i])
			fclose(columns->streams[i]);
		free(columns->texts[i]);
	}
	*columns = (struct columns){0};
}

struct slice columns_shown(struct slice text, char **shown)
{
	*shown = NULL;
	if (utf8_valid(text) && (text.len == 0 || !memchr(text.ptr, '\0', text.len)))
		return text;
	*shown = escape_text(text);
	return *shown ? slice_of(*shown) : SLICE("");
}

static void put_value(FILE *stream, struct slice text)
{
	CLEANUP(cleanup_free) char *shown = NULL;

	if (slice_is_null(text)) {
		put_word(stream, IS_NULL);
		return;
	}
	text = columns_shown(text, &shown);
	put_word(stream, (uint32_t)text.len);
	if (text.len > 0)
		fwrite(text.ptr, text.len, 1, stream);
}

void columns_row(struct columns *columns, const struct slice *values)
{
	for (size_t i = 0; i < columns->count && !columns->failed; i++)
		put_value(columns->streams[i], values[i]);
	columns->rows++;
}

static void put_header(const struct columns *columns, char *text)
{
	const uint32_t words[HEADER_WORDS] = {
	        htonl(1), htonl(1), htonl(TYPE_OF_TEXT), htonl((uint32_t)columns->rows), htonl(1),
	};

	memcpy(text, words, sizeof(words));
}

int columns_end(struct columns *columns, struct error *error)
{
	for (size_t i = 0; i < columns->count; i++)
		if (!columns->streams[i] ||
		    !text_close(take(columns->streams[i]), &columns->texts[i]))
			columns->failed = true;
	if (columns->failed)
		return error_nomem(error);
	for (size_t i = 0; i < columns->count; i++)
		put_header(columns, columns->texts[i]);
	return 0;
}

struct slice columns_array(const struct columns *columns, size_t column)
{
	if (columns->rows == 0)
		return (struct slice){0};
	return (struct slice){columns->texts[column], columns->sizes[column]};
}

struct slice columns_number(int64_t number, char room[24])
{
	return (struct slice){room, (size_t)snprintf(room, 24, "%lld", (long long)number)};
}

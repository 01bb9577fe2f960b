/*
 * fuzz_escape.c - any text, escaped or as JSON, contains no terminal control characters, is one
 * line of UTF-8, and can be decoded byte by byte.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"
#include "indexer/output.h"
#include "tests/fuzz/input.h"

static void check_clean(struct slice text)
{
	const char *at = text.ptr, *end = at + text.len;

	require(utf8_valid(text));
	while (at < end)
		require(!escape_is_control(utf8_next(&at, end)));
}

/* --- decoding --- */

static int hexadecimal(const char *digits, int count)
{
	char text[8] = {0};

	memcpy(text, digits, (size_t)count);
	return (int)strtol(text, NULL, 16);
}

/* A lone surrogate stands for a byte, as in output.h; there are no others. */
static char *put_character(int c, char *to)
{
	if (c >= 0xDC80 && c <= 0xDCFF) {
		*to++ = (char)c;
	} else if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xC0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3F));
	} else {
		*to++ = (char)(0xE0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3F));
		*to++ = (char)(0x80 | (c & 0x3F));
	}
	return to;
}

/* Decode @text into @to up to the unescaped character @stop or the end. */
static const char *decode(struct slice text, char stop, char **to)
{
	static const char letters[] = "b\bt\tn\nf\fr\r\"\"\\\\//";
	const char *at = text.ptr, *end = at + text.len;

	while (at < end && (*at != stop || !stop)) {
		if (*at != '\\') {
			*(*to)++ = *at++;
		} else if (at[1] == 'x') {
			*(*to)++ = (char)hexadecimal(at + 2, 2);
			at += 4;
		} else if (at[1] == 'u') {
			*to = put_character(hexadecimal(at + 2, 4), *to);
			at += 6;
		} else {
			const char *letter = strchr(letters, at[1]);

			require(letter != NULL);
			*(*to)++ = letter[1];
			at += 2;
		}
	}
	return at;
}

static void check_decoded(struct slice escaped, char stop, struct slice text)
{
	CLEANUP(cleanup_free) char *back = malloc(escaped.len + 1);
	char *end = back;

	require(back != NULL);
	decode(escaped, stop, &end);
	require(slice_equal(slice_between(back, end), text));
}

/* --- both formats --- */

static void check_escape(struct slice text)
{
	CLEANUP(cleanup_free) char *escaped = escape_text(text);

	require(escaped != NULL);
	check_clean(slice_of(escaped));
	check_decoded(slice_of(escaped), '\0', text);
}

/* Check with SQLite's JSON parser. */
static void check_is_json(struct slice line)
{
	static sqlite3 *db;
	sqlite3_stmt *statement;

	if (!db)
		require(sqlite3_open(":memory:", &db) == SQLITE_OK);
	require(sqlite3_prepare_v2(db, "SELECT json_valid(?)", -1, &statement, NULL) == SQLITE_OK);
	sqlite3_bind_text(statement, 1, line.ptr, (int)line.len, SQLITE_STATIC);
	require(sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1);
	sqlite3_finalize(statement);
}

static void check_json(struct slice text, struct slice words, int64_t number)
{
	static const struct column columns[] = {
	        KEY("text"),
	        KEY("words"),
	        KEY("number"),
	        KEY("absent"),
	};
	CLEANUP(cleanup_free) char *line = NULL;
	size_t size;
	FILE *stream = open_memstream(&line, &size);
	struct output output = OUTPUT_BEGIN(columns, true);

	require(stream);
	output.stream = stream;
	output_text(&output, text);
	output_words(&output, words);
	output_number(&output, number);
	output_string(&output, NULL);
	require(output_end(&output, NULL) == 0);
	require(fclose(stream) == 0 && size > 0 && line[size - 1] == '\n');
	check_clean((struct slice){line, size - 1});
	check_is_json((struct slice){line, size});
	require(strncmp(line, "{\"text\":\"", 9) == 0);
	check_decoded((struct slice){line + 9, size - 9}, '"', text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = input_of(data, size), rest = text;
	int64_t number = (int64_t)input_number(&rest, 8);

	check_escape(text);
	check_json(text, rest, number);
	return 0;
}

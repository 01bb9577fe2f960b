/*
 * escape.c - escapes control characters and invalid UTF-8.
 */
#include "db/base/escape.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/text.h"
#include "db/base/unicode.h"

static bool is_in(uint32_t c, uint32_t first, uint32_t last)
{
	return c >= first && c <= last;
}

/* U+2028 to U+202E: the two separators, and the bidirectional embeddings and overrides. */
bool escape_is_control(uint32_t c)
{
	return c < ' ' || is_in(c, 0x7F, 0x9F) || c == 0x061C || is_in(c, 0x200E, 0x200F) ||
	       is_in(c, 0x2028, 0x202E) || is_in(c, 0x2066, 0x2069);
}

static bool is_undecodable(uint32_t c)
{
	return is_in(c, UNICODE_ESCAPE + 0x80, UNICODE_ESCAPE + 0xFF);
}

static void put_character(uint32_t c, FILE *stream)
{
	if (c == '\\')
		fputs("\\\\", stream);
	else if (c < 0x80 || is_undecodable(c))
		fprintf(stream, "\\x%02x", (unsigned)(c & 0xFF));
	else
		fprintf(stream, "\\u%04x", (unsigned)c);
}

void escape_put(struct slice text, FILE *stream)
{
	const char *at = text.ptr, *plain = at;
	const char *end = text.len > 0 ? at + text.len : at;

	while (at < end) {
		const char *begin = at;
		uint32_t c = utf8_next(&at, end);

		if (c != '\\' && !is_undecodable(c) && !escape_is_control(c))
			continue;
		fwrite(plain, 1, (size_t)(begin - plain), stream);
		put_character(c, stream);
		plain = at;
	}
	if (plain < end)
		fwrite(plain, 1, (size_t)(end - plain), stream);
}

char *escape_text(struct slice text)
{
	char *escaped = NULL;
	size_t size;
	FILE *stream = open_memstream(&escaped, &size);

	if (!stream)
		return NULL;
	escape_put(text, stream);
	return text_close(stream, &escaped) ? escaped : NULL;
}

struct slice escape_unless_text(struct slice text, char **room)
{
	*room = NULL;
	if (text.len == 0 || (utf8_valid(text) && !memchr(text.ptr, '\0', text.len)))
		return text;
	*room = escape_text(text);
	return slice_of(*room);
}

/*
 * entry_points_txt.c - parses entry_points.txt. One parser for the indexer and for
 * every library and program that reads an entry_points.txt itself, since two readings
 * of one format drift apart. Nearly every such file is ASCII with '\n' line ends, and
 * thousands are read when an environment is indexed: for those, lines are found by
 * memchr, after one look at the whole text has shown it to be so.
 */
#include "db/entry_points_txt.h"

#include "db/base/unicode.h"

#include <stdint.h>

#define QUOTED_BYTES  60 /* of a bad line, as many as an error message repeats */
#define EACH_BYTE(c)  ((uint64_t)(c)*0x0101010101010101u)
#define ESCAPED_WIDTH 4 /* characters of "\xNN" */

/* The top bit of each byte of @word that is @c. */
static uint64_t bytes_equal(uint64_t word, char c)
{
	uint64_t differ = word ^ EACH_BYTE(c);

	return ~(((differ & EACH_BYTE(0x7F)) + EACH_BYTE(0x7F)) | differ) & EACH_BYTE(0x80);
}

/* All bytes of @word are ASCII and, apart from '\n' and '\t', no control characters. */
static bool is_plain_word(uint64_t word)
{
	uint64_t control = ~((word & EACH_BYTE(0x7F)) + EACH_BYTE(0x60)) & EACH_BYTE(0x80);

	control &= ~bytes_equal(word, '\n') & ~bytes_equal(word, '\t');
	return control == 0 && (word & EACH_BYTE(0x80)) == 0;
}

/* No line end but '\n', and nothing that is not ASCII. May say no where that is so. */
static bool is_plain(struct slice text)
{
	uint64_t word;

	for (; text.len >= sizeof(word); text = slice_from(text, sizeof(word))) {
		memcpy(&word, text.ptr, sizeof(word));
		if (!is_plain_word(word))
			return false;
	}
	word = EACH_BYTE(' ');
	if (text.len > 0)
		memcpy(&word, text.ptr, text.len);
	return is_plain_word(word);
}

void entry_points_txt_begin(struct entry_points_txt *txt, struct slice text)
{
	*txt = (struct entry_points_txt){
	        .rest = slice_is_null(text) ? SLICE("") : text,
	        .plain = is_plain(text),
	};
}

/* The first line end in @text, whose length is put into *width; the text's end if none. */
static const char *find_break(struct slice text, size_t *width)
{
	const char *at = text.ptr, *end = at + text.len;

	while (at < end) {
		const char *next = at;

		if (unicode_is_line_break(utf8_next(&next, end))) {
			bool crlf = *at == '\r' && next < end && *next == '\n';

			*width = (size_t)(next - at) + crlf;
			return at;
		}
		at = next;
	}
	*width = 0;
	return end;
}

static const char *find_newline(struct slice text, size_t *width)
{
	const char *at = memchr(text.ptr, '\n', text.len);

	*width = at ? 1 : 0;
	return at ? at : text.ptr + text.len;
}

/* The next line, stripped. False at the end. */
static bool next_line(struct entry_points_txt *txt, struct slice *line)
{
	const char *at;
	size_t width;

	if (txt->rest.len == 0)
		return false;
	at = txt->plain ? find_newline(txt->rest, &width) : find_break(txt->rest, &width);
	*line = unicode_strip(slice_between(txt->rest.ptr, at));
	txt->rest = slice_from(txt->rest, (size_t)(at - txt->rest.ptr) + width);
	txt->number++;
	return true;
}

static bool is_section(struct slice line)
{
	return line.ptr[0] == '[' && line.ptr[line.len - 1] == ']';
}

static bool is_bracket(char c)
{
	return c == '[' || c == ']';
}

static struct slice strip_brackets(struct slice line)
{
	while (line.len > 0 && is_bracket(line.ptr[0]))
		line = slice_from(line, 1);
	while (line.len > 0 && is_bracket(line.ptr[line.len - 1]))
		line.len--;
	return line;
}

static size_t escape(char c, char *out)
{
	static const char digits[] = "0123456789abcdef";

	if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
		*out = c;
		return 1;
	}
	out[0] = '\\';
	out[1] = 'x';
	out[2] = digits[(unsigned char)c >> 4];
	out[3] = digits[(unsigned char)c & 15];
	return ESCAPED_WIDTH;
}

static int no_equals_sign(size_t number, struct slice line, struct error *error)
{
	char quoted[QUOTED_BYTES * ESCAPED_WIDTH];
	bool cut = line.len > QUOTED_BYTES;
	size_t n = 0;

	for (size_t i = 0; i < (cut ? QUOTED_BYTES : line.len); i++)
		n += escape(line.ptr[i], quoted + n);
	return error_set(error, ERROR_FORMAT, "line %zu: no '=' in \"%.*s\"%s", number, (int)n,
	                 quoted, cut ? "..." : "");
}

static int split(const struct entry_points_txt *txt, struct slice line,
                 struct entry_points_line *out, struct error *error)
{
	const char *equals = memchr(line.ptr, '=', line.len);

	if (!equals)
		return no_equals_sign(txt->number, line, error);
	*out = (struct entry_points_line){
	        .group = txt->group,
	        .name = unicode_strip(slice_between(line.ptr, equals)),
	        .value = unicode_strip(slice_between(equals + 1, line.ptr + line.len)),
	        .number = txt->number,
	};
	return 1;
}

int entry_points_txt_next(struct entry_points_txt *txt, struct entry_points_line *out,
                          struct error *error)
{
	struct slice line;

	while (next_line(txt, &line)) {
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		if (is_section(line)) {
			txt->group = strip_brackets(line);
			txt->in_group = true;
		} else if (txt->in_group) {
			return split(txt, line, out, error);
		}
	}
	return 0;
}

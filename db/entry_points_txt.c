/*
 * entry_points_txt.c - parses entry_points.txt. One parser for the indexer and for
 * every library and program that reads an entry_points.txt itself, since two readings
 * of one format drift apart. Nearly every such file is ASCII with '\n' line ends, and
 * thousands are read when an environment is indexed: for those, lines are found by
 * memchr, after one look at the whole text has shown it to be so.
 */
#include "db/entry_points_txt.h"

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"

#define QUOTED_BYTES 60 /* of a bad line, as many as an error message repeats */

/* No line end but '\n', and nothing that is not ASCII. */
static bool is_plain(struct slice text)
{
	bool plain = utf8_span_ascii(text.ptr, text.ptr + text.len) == text.len;

	for (const char *end = "\v\f\r\x1c\x1d\x1e"; plain && *end; end++)
		plain = !memchr(text.ptr, *end, text.len);
	return plain;
}

void entry_points_txt_begin(struct entry_points_txt *txt, struct slice text)
{
	if (slice_is_null(text))
		text = SLICE("");
	*txt = (struct entry_points_txt){.rest = text, .plain = is_plain(text)};
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

static int no_equals_sign(size_t number, struct slice line, struct error *error)
{
	bool cut = line.len > QUOTED_BYTES;
	CLEANUP(cleanup_free)
	char *quoted = escape_text(slice_first(line, utf8_cut(line, QUOTED_BYTES)));

	if (!quoted)
		return error_nomem(error);
	return error_set(error, ERROR_FORMAT, "line %zu: no '=' in \"%s\"%s", number, quoted,
	                 cut ? "..." : "");
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

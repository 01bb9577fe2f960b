/*
 * entry_points_txt.c - the only parser of entry_points.txt, for the indexer and the library.
 *
 * Nearly every such file is ASCII with '\n' line ends, and indexing an environment reads thousands:
 * after one check of the whole text, lines of such files are found by memchr().
 */
#include "db/entry_points_txt.h"

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"

#define QUOTED_BYTES 60 /* of a bad line, in an error message */

/* Only ASCII, and no line end but '\n'. */
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

/* The first line end in @text, with its length in *width; the end of @text if there is none. */
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

/* Read the next line, stripped. False at the end. */
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
		if (line.ptr[0] == '[' && line.ptr[line.len - 1] == ']') {
			txt->group = strip_brackets(line);
			txt->in_group = true;
		} else if (txt->in_group) {
			return split(txt, line, out, error);
		}
	}
	return 0;
}

/* --- values --- */

/*
 * The pattern of importlib.metadata, verbatim:
 *
 *     (?P<module>[\w.]+)\s*(:\s*(?P<attr>[\w.]+)\s*)?((?P<extras>\[.*\])\s*)?$
 *
 * implemented by hand without backtracking: no character that may follow a run could belong to it,
 * and the ']' of the extras can only be the last character that is not white space. '.' in "[.*]"
 * matches any character except '\n'.
 */
static struct slice skip_spaces(struct slice text)
{
	return slice_from(text, unicode_span_space(text));
}

/* Read a non-empty run of \w and '.' from *rest and skip the white space after it. */
static bool take_dotted(struct slice *rest, struct slice *out)
{
	struct slice text = *rest;
	size_t n = 0;

	for (;; n++) {
		n += unicode_span_word(slice_from(text, n));
		if (n == text.len || text.ptr[n] != '.')
			break;
	}
	if (n == 0)
		return false;
	*out = slice_first(text, n);
	*rest = skip_spaces(slice_from(text, n));
	return true;
}

static bool take_char(struct slice *rest, char c)
{
	if (rest->len == 0 || rest->ptr[0] != c)
		return false;
	*rest = slice_from(*rest, 1);
	return true;
}

/* Is @text, which follows module and attr, "[...]"? If so, *out is set to it. */
static bool match_extras(struct slice text, struct slice *out)
{
	text = unicode_strip(text);
	if (text.len < 2 || text.ptr[0] != '[' || text.ptr[text.len - 1] != ']')
		return false;
	if (memchr(text.ptr, '\n', text.len))
		return false;
	*out = text;
	return true;
}

bool value_parse(struct slice text, struct value *out)
{
	struct value value = {0};

	if (text.len == 0 || !take_dotted(&text, &value.module))
		return false;
	if (take_char(&text, ':')) {
		text = skip_spaces(text);
		if (!take_dotted(&text, &value.attr))
			return false;
	}
	if (text.len > 0 && !match_extras(text, &value.extras))
		return false;
	*out = value;
	return true;
}

bool value_next_extra(struct slice *rest, struct slice *word)
{
	while (rest->len > 0) {
		size_t n = unicode_span_word(*rest);
		const char *next = rest->ptr;

		if (n > 0) {
			*word = slice_first(*rest, n);
			*rest = slice_from(*rest, n);
			return true;
		}
		utf8_next(&next, rest->ptr + rest->len);
		*rest = slice_between(next, rest->ptr + rest->len);
	}
	return false;
}

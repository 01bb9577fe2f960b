/*
 * value.c - takes the value of an entry point apart. The pattern of importlib.metadata, word for
 * word:
 *
 *     (?P<module>[\w.]+)\s*(:\s*(?P<attr>[\w.]+)\s*)?((?P<extras>\[.*\])\s*)?$
 *
 * written out by hand, which needs no trying again: no character that may follow a run
 * could belong to it, and the ']' of the extras can only be the last one that is not
 * white space. '.' in "[.*]" is any character except '\n'.
 */
#include "db/value.h"

#include "db/base/unicode.h"

static struct slice skip_spaces(struct slice text)
{
	return slice_from(text, unicode_span_space(text));
}

/* Take a non-empty run of \w and '.' from *rest, with the white space after it. */
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

/* Whether @text, which follows module and attr, is "[...]"; if so, *out is that. */
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

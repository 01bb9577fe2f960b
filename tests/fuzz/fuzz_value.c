/*
 * fuzz_value.c - what must hold for every value: its parts lie in it in order and are of
 * the characters allowed; put together again without white space they parse alike; and
 * the extras are all the words that there are.
 */
#include "db/value.h"

#include "db/base/unicode.h"
#include "tests/fuzz/input.h"

static void check_dotted(struct slice text)
{
	const char *at = text.ptr;

	require(text.len > 0);
	while (at < text.ptr + text.len) {
		uint32_t c = utf8_next(&at, text.ptr + text.len);

		require(c == '.' || unicode_is_word(c));
	}
}

static size_t count_words(struct slice extras)
{
	const char *at = extras.ptr, *end = at + extras.len;
	bool inside = false;
	size_t n = 0;

	while (at < end) {
		bool word = unicode_is_word(utf8_next(&at, end));

		n += word && !inside;
		inside = word;
	}
	return n;
}

static void check_extras(struct slice extras)
{
	struct slice rest = extras, word;
	size_t n = 0;

	require(extras.len >= 2 && extras.ptr[0] == '[' && extras.ptr[extras.len - 1] == ']');
	while (value_next_extra(&rest, &word)) {
		require(unicode_span_word(word) == word.len && word.len > 0);
		n++;
	}
	require(n == count_words(extras));
}

static size_t append(char *out, struct slice s)
{
	if (s.len > 0)
		memcpy(out, s.ptr, s.len);
	return s.len;
}

static void check_again(const struct value *value, char *buffer)
{
	struct value again;
	size_t n = append(buffer, value->module);

	if (value->attr.ptr)
		buffer[n++] = ':';
	n += append(buffer + n, value->attr);
	n += append(buffer + n, value->extras);
	require(value_parse((struct slice){buffer, n}, &again));
	require(slice_equal(again.module, value->module) && slice_equal(again.attr, value->attr));
	require(slice_equal(again.extras, value->extras));
}

static void check_value(struct slice text, char *buffer)
{
	struct value value;
	const char *end = text.ptr;

	if (!value_parse(text, &value))
		return;
	check_dotted(value.module);
	require(value.module.ptr == end);
	end += value.module.len;
	if (value.attr.ptr) {
		check_dotted(value.attr);
		require(value.attr.ptr > end);
		end = value.attr.ptr + value.attr.len;
	}
	if (value.extras.ptr) {
		check_extras(value.extras);
		require(value.extras.ptr >= end);
		end = value.extras.ptr + value.extras.len;
	}
	require(end <= text.ptr + text.len);
	check_again(&value, buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *buffer = malloc(size + 1);

	if (size > 0)
		memcpy(text, data, size);
	check_value((struct slice){text, size}, buffer);
	free(text);
	free(buffer);
	return 0;
}

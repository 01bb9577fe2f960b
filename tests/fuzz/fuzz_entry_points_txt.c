/*
 * fuzz_entry_points_txt.c - what must hold for every text: items are stripped, lie on
 * one line each and in order, and the quick way through plain text finds the same as
 * the thorough one.
 */
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "tests/fuzz/input.h"

static void check_stripped(struct slice s)
{
	const char *at = s.ptr;
	struct slice stripped = unicode_strip(s);

	require(stripped.ptr == s.ptr && stripped.len == s.len);
	while (at < s.ptr + s.len)
		require(!unicode_is_line_break(utf8_next(&at, s.ptr + s.len)));
}

static void check_line(struct slice text, const struct entry_points_line *line)
{
	require(line->name.ptr >= text.ptr && line->value.ptr >= line->name.ptr);
	require(line->value.ptr + line->value.len <= text.ptr + text.len);
	require(line->group.ptr < line->name.ptr);
	require(!memchr(line->name.ptr, '=', line->name.len));
	check_stripped(line->name);
	check_stripped(line->value);
}

static void check_same(const struct entry_points_line *a, const struct entry_points_line *b)
{
	require(a->number == b->number && slice_equal(a->group, b->group));
	require(slice_equal(a->name, b->name) && slice_equal(a->value, b->value));
}

static void check_text(struct slice text, struct slice with_break)
{
	struct entry_points_txt txt, thorough;
	struct entry_points_line line, same;
	struct error error = {0};
	size_t number = 0;
	int status;

	entry_points_txt_begin(&txt, text);
	entry_points_txt_begin(&thorough, with_break);
	while ((status = entry_points_txt_next(&txt, &line, &error)) != 0) {
		require(entry_points_txt_next(&thorough, &same, NULL) == status);
		require(txt.number > number);
		number = txt.number;
		if (status < 0)
			continue;
		check_line(text, &line);
		check_same(&line, &same);
	}
	require(entry_points_txt_next(&thorough, &same, NULL) == 0);
	error_clear(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *with_break = malloc(size + 1);

	if (size == 0)
		data = (const uint8_t *)"";
	memcpy(text, data, size);
	memcpy(with_break, data, size);
	with_break[size] = '\f';
	if (utf8_valid((struct slice){text, size}))
		check_text((struct slice){text, size}, (struct slice){with_break, size + 1});
	free(text);
	free(with_break);
	return 0;
}

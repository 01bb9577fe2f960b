/*
 * fuzz_text.c - the text parsers read nothing beyond their input (each buffer has the exact size),
 * and two ways to the same answer agree; unit/text_oracle.py compares the answers with Python's.
 */
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/distname.h"
#include "tests/fuzz/input.h"

static bool same(struct slice a, struct slice b)
{
	return slice_is_null(a) == slice_is_null(b) && slice_equal(a, b);
}

/* Plain text takes a fast path, which text ending with '\f' does not. */
static void check_entry_points(struct slice text, struct slice with_break)
{
	struct entry_points_txt txt, thorough;
	struct entry_points_line a, b;
	struct error error = {0};
	int status;

	entry_points_txt_begin(&txt, text);
	entry_points_txt_begin(&thorough, with_break);
	do {
		status = entry_points_txt_next(&txt, &a, &error);
		require(entry_points_txt_next(&thorough, &b, NULL) == status);
		if (status > 0)
			require(a.number == b.number && slice_equal(a.group, b.group) &&
			        slice_equal(a.name, b.name) && slice_equal(a.value, b.value));
	} while (status != 0);
	error_clear(&error);
}

/* The extras are words, and fit the array. */
static void check_value(struct slice text)
{
	struct value value;
	struct slice word;

	if (!value_parse(text, &value))
		return;
	while (value_next_extra(&value.extras, &word))
		require(word.len > 0 && unicode_span_word(word) == word.len);
}

static void check_name(struct slice name)
{
	size_t room = DISTNAME_ROOM(name.len);
	char *out = malloc(room);
	struct slice stem = {0};

	require(distname_normalize(name, out, room) <= room);
	require(distname_lookup_key(name, out, room) <= room);
	if (distname_stem(name, &stem))
		require(distname_is_info(name) && stem.len > 0);
	require(utf8_valid(name) ==
	        utf8_valid((struct slice){out, unicode_lower(name, out, room)}));
	free(out);
}

/* Metadata that is complete does not change with more text, wherever it was cut. */
static void check_metadata(struct slice text, size_t cut)
{
	struct arena arena = ARENA_INIT;
	struct metadata whole, part;
	char *copy = malloc(cut + 1);

	memcpy(copy, text.ptr, cut);
	require(metadata_parse(text, &arena, &whole) == 0);
	require(metadata_parse((struct slice){copy, cut}, &arena, &part) == 0);
	if (part.complete)
		require(whole.complete && same(part.name, whole.name) &&
		        same(part.version, whole.version));
	free(copy);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *with_break = malloc(size + 1);
	struct slice all = {text, size};

	if (size == 0)
		data = (const uint8_t *)"";
	memcpy(text, data, size);
	memcpy(with_break, data, size);
	with_break[size] = '\f';
	if (utf8_valid(all))
		check_entry_points(all, (struct slice){with_break, size + 1});
	check_value(all);
	check_name(all);
	check_metadata(all, size ? data[size - 1] * size / 256 : 0);
	free(text);
	free(with_break);
	return 0;
}

/*
 * test_text.c - properties of the text parsers that text_oracle.py cannot compare with Python:
 * messages, outputs after an error, invalid UTF-8, and names in archives.
 */
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "indexer/version.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/distname.h"

#include "test.h"

static void test_utf8_next(void **state)
{
	static const uint32_t expected[] = {'a',     0xE9,   0xDCE2, 0xDC82,
	                                    0x1F600, 0xDCED, 0xDCA0, 0xDC80};
	struct slice text = SLICE("a\xC3\xA9\xE2\x82\xF0\x9F\x98\x80\xED\xA0\x80");
	const char *at = text.ptr;

	for (size_t i = 0; i < COUNT(expected); i++)
		assert_int_equal(utf8_next(&at, text.ptr + text.len), expected[i]);
	assert_ptr_equal(at, text.ptr + text.len);
	assert_true(utf8_valid((struct slice){0}));
}

static void test_utf8_cut(void **state)
{
	const struct {
		struct slice text;
		size_t limit, length;
	} rows[] = {
	        {SLICE("abc"), 3, 3},
	        {SLICE("abc"), 2, 2},
	        {SLICE("abc"), 0, 0},
	        {SLICE("a\xC3\xA9"), 2, 1},
	        {SLICE("a\xC3\xA9"), 3, 3},
	        {SLICE("a\xF0\x9F\x98\x80"), 4, 1},
	        {SLICE("\x80\x80\x80\x80\x80\x80\x80\x80"), 6, 3}, /* invalid UTF-8 */
	        {{0}, 5, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(utf8_cut(rows[i].text, rows[i].limit), rows[i].length);
}

/* A stray byte is neither U+0085 nor U+00A0. */
static void test_strip(void **state)
{
	assert_true(slice_is_null(unicode_strip((struct slice){0})));
	assert_true(slice_equal(unicode_strip(SLICE(" \xC3\xA9\x85")), SLICE("\xC3\xA9\x85")));
	assert_true(slice_equal(unicode_strip(SLICE("\xA0\n")), SLICE("\xA0")));
}

/* Errors are one short printable line. */
static void test_entry_points_errors(void **state)
{
	static const char *const rows[][2] = {
	        {"[g]\n[h] # c\n", "line 2: no '=' in \"[h] # c\""},
	        {"[g]\n\x01\"\\\xC3\xA9", "line 2: no '=' in \"\\x01\"\\\\\xC3\xA9\""},
	        {"[g]\n0123456789012345678901234567890123456789012345678901234567890",
	         "line 2: no '=' in "
	         "\"012345678901234567890123456789012345678901234567890123456789\"..."},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct entry_points_txt txt;
		struct entry_points_line line = {.number = 42};
		struct error error = {0};

		entry_points_txt_begin(&txt, slice_of(rows[i][0]));
		assert_int_equal(entry_points_txt_next(&txt, &line, &error), ERROR_FORMAT);
		assert_string_equal(error_text(&error), rows[i][1]);
		assert_int_equal(entry_points_txt_next(&txt, &line, NULL), 0);
		assert_int_equal(line.number, 42);
		error_clear(&error);
	}
}

/* In an archive, the parent directories may contain a '-', too. */
static void test_distname_below(void **state)
{
	struct slice stem = {0};

	assert_true(distname_stem(SLICE("usr/lib/python3/dist-packages/a-1.dist-info"), &stem));
	assert_true(slice_equal(stem, SLICE("a")));
	assert_true(distname_stem(SLICE("a-1.0/b.egg-info"), &stem));
	assert_true(slice_equal(stem, SLICE("b")));
	assert_false(distname_stem(SLICE("a-1/-1.dist-info"), &stem));
}

/* Does the first part of a file contain both fields? */
static void test_metadata_complete(void **state)
{
	static const struct {
		const char *text;
		bool complete;
	} rows[] = {
	        {"", false},
	        {"Name: a\nVersion: 1\nSummary: s\n", true},
	        {"Name: a\nVersion: 1", false},
	        {"Name: a\nVersion: 1\n", false}, /* the field may be continued */
	        {"Name: a\nVersion: 1\nS", true},
	        {"Name: a\n\nVersion: 1\n", true},
	        {"Name: a\nVers", false},
	        {"no colon\nName: a\n", true},
	        {"X: y\nFrom Name: x\nName: a\nFrom z\n", false},
	        {"Name: a\n b\n\n", true},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct arena arena = ARENA_INIT;
		struct metadata metadata;

		assert_int_equal(metadata_parse(slice_of(rows[i].text), &arena, &metadata), 0);
		assert_int_equal(metadata.complete, rows[i].complete);
		assert_int_equal(arena.blocks != NULL, /* else not copied */
		                 strstr(rows[i].text, "a\n b") != NULL);
		arena_free(&arena);
	}
}

static void test_version_after_an_error(void **state)
{
	int order = 7;

	assert_false(version_compare((struct slice){0}, SLICE("1"), &order));
	assert_false(version_compare(SLICE("1"), SLICE("unknown"), &order));
	assert_int_equal(order, 7);
}

RUN_TESTS(cmocka_unit_test(test_utf8_next), cmocka_unit_test(test_utf8_cut),
          cmocka_unit_test(test_strip), cmocka_unit_test(test_entry_points_errors),
          cmocka_unit_test(test_distname_below), cmocka_unit_test(test_metadata_complete),
          cmocka_unit_test(test_version_after_an_error))

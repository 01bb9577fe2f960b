/*
 * test_escape.c - control characters are escaped unambiguously, and nothing else is changed.
 */
#include "db/base/escape.h"

#include "test.h"

#include "db/base/cleanup.h"

static void check(struct slice text, const char *expected)
{
	CLEANUP(cleanup_free) char *escaped = escape_text(text);

	assert_non_null(escaped);
	assert_string_equal(escaped, expected);
}

static void test_plain_text(void **state)
{
	check(SLICE(""), "");
	check((struct slice){0}, "");
	check(SLICE("name = module:attr [x, y]"), "name = module:attr [x, y]");
	check(SLICE("\xc3\xa9 \xe4\xb8\x80 \xf0\x9f\x90\x8d \xc2\xa0"),
	      "\xc3\xa9 \xe4\xb8\x80 \xf0\x9f\x90\x8d \xc2\xa0");
}

static void test_controls_of_ascii(void **state)
{
	check(SLICE("a\tb\nc\rd"), "a\\x09b\\x0ac\\x0dd");
	check(SLICE("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
	check(SLICE("n\0m"), "n\\x00m");
}

static void test_other_controls(void **state)
{
	check(SLICE("\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f"), "\\u0080\\u0085\\u009b\\u009f");
	check(SLICE("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
	check(SLICE("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9"),
	      "\\u202a\\u202e\\u2066\\u2069");
	check(SLICE("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c"), "\\u200e\\u200f\\u061c");
}

/* The neighbours of control characters are not escaped. */
static void test_neighbours_of_controls(void **state)
{
	check(SLICE("\xe2\x80\xa7\xe2\x80\xaf\xe2\x80\x8d\xe2\x80\x90\xe2\x81\xa5\xe2\x81\xaa\xd8"
	            "\x9b"),
	      "\xe2\x80\xa7\xe2\x80\xaf\xe2\x80\x8d\xe2\x80\x90\xe2\x81\xa5\xe2\x81\xaa\xd8\x9b");
}

static void test_bytes(void **state)
{
	check(SLICE("a\xff"), "a\\xff");
	check(SLICE("\xc2"), "\\xc2");
	check(SLICE("\x9b[2J"), "\\x9b[2J");
	check(SLICE("\xed\xb2\x80"), "\\xed\\xb2\\x80");
	check(SLICE("\xc0\x9b"), "\\xc0\\x9b");
}

/* Different texts never have the same escaped form. */
static void test_the_backslash(void **state)
{
	check(SLICE("\\x09"), "\\\\x09");
	check(SLICE("\\\x09"), "\\\\\\x09");
	check(SLICE("\\u202e"), "\\\\u202e");
}

RUN_TESTS(cmocka_unit_test(test_plain_text), cmocka_unit_test(test_controls_of_ascii),
          cmocka_unit_test(test_other_controls), cmocka_unit_test(test_neighbours_of_controls),
          cmocka_unit_test(test_bytes), cmocka_unit_test(test_the_backslash))

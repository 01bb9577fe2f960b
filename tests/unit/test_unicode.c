/*
 * test_unicode.c - the facts about characters, where CPython's answers are known.
 */
#include "db/base/unicode.h"

#include "test.h"

static void assert_slice(struct slice s, struct slice expected)
{
	assert_int_equal(s.len, expected.len);
	assert_memory_equal(s.ptr, expected.ptr, expected.len);
}

static void test_valid(void **state)
{
	static const struct {
		struct slice text;
		bool valid;
	} rows[] = {
	        {{"", 0}, true},
	        {{"a\0b", 3}, true},
	        {{"eight or more ASCII bytes, then \xC3\xA9", 34}, true},
	        {{"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", 10}, true},
	        {{"\x80", 1}, false},
	        {{"\xC1\xBF", 2}, false},             /* overlong */
	        {{"\xE0\x9F\xBF", 3}, false},         /* overlong */
	        {{"\xF0\x8F\xBF\xBF", 4}, false},     /* overlong */
	        {{"\xED\xA0\x80", 3}, false},         /* surrogate */
	        {{"\xF4\x90\x80\x80", 4}, false},     /* beyond U+10FFFF */
	        {{"eight ASCII\xE2\x82", 13}, false}, /* cut short */
	};

	assert_true(utf8_valid((struct slice){0}));
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(utf8_valid(rows[i].text), rows[i].valid);
}

static void test_next(void **state)
{
	static const uint32_t expected[] = {'a',     0xE9,   0xDCE2, 0xDC82,
	                                    0x1F600, 0xDCED, 0xDCA0, 0xDC80};
	struct slice text = SLICE("a\xC3\xA9\xE2\x82\xF0\x9F\x98\x80\xED\xA0\x80");
	const char *at = text.ptr;

	for (size_t i = 0; i < COUNT(expected); i++)
		assert_int_equal(utf8_next(&at, text.ptr + text.len), expected[i]);
	assert_ptr_equal(at, text.ptr + text.len);
}

static void test_cut(void **state)
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
	        {SLICE("\x80\x80\x80\x80\x80\x80\x80\x80"), 6, 3}, /* no UTF-8 */
	        {{0}, 5, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(utf8_cut(rows[i].text, rows[i].limit), rows[i].length);
}

static void test_classes(void **state)
{
	static const struct {
		uint32_t c;
		bool space, word, line_break;
	} rows[] = {
	        {0, false, false, false},        {'\t', true, false, false},
	        {'\n', true, false, true},       {'\v', true, false, true},
	        {'\f', true, false, true},       {'\r', true, false, true},
	        {0x1B, false, false, false},     {0x1C, true, false, true},
	        {0x1E, true, false, true},       {0x1F, true, false, false},
	        {' ', true, false, false},       {'_', false, true, false},
	        {'-', false, false, false},      {'0', false, true, false},
	        {'Z', false, true, false},       {'[', false, false, false},
	        {'{', false, false, false},      {0x85, true, false, true},
	        {0xA0, true, false, false},      {0xAA, false, true, false},
	        {0x1680, true, false, false},    {0x200A, true, false, false},
	        {0x200B, false, false, false},   {0x2028, true, false, true},
	        {0x2029, true, false, true},     {0x202F, true, false, false},
	        {0x205F, true, false, false},    {0x3000, true, false, false},
	        {0x4E00, false, true, false},    {0x9FFC, false, true, false},
	        {0xB2, false, true, false},      {0x301, false, false, false},
	        {0xFEFF, false, false, false},   {UNICODE_ESCAPE + 0xE9, false, false, false},
	        {0x10FFFF, false, false, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(unicode_is_space(rows[i].c), rows[i].space);
		assert_int_equal(unicode_is_word(rows[i].c), rows[i].word);
		assert_int_equal(unicode_is_line_break(rows[i].c), rows[i].line_break);
	}
}

static void test_strip(void **state)
{
	static const char *const rows[][2] = {
	        {"", ""},
	        {" \t\x1F", ""},
	        {" a b ", "a b"},
	        {"\xE3\x80\x80"
	         "a\xC2\x85\xE2\x80\xA8\xC2\xA0",
	         "a"},
	        {"\xC3\xA9\x85", "\xC3\xA9\x85"}, /* a stray byte is not U+0085 */
	        {"\xA0", "\xA0"},
	        {"\xEF\xBB\xBF a", "\xEF\xBB\xBF a"},
	};

	assert_true(slice_is_null(unicode_strip((struct slice){0})));
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_slice(unicode_strip(slice_of(rows[i][0])), slice_of(rows[i][1]));
}

static void test_lower(void **state)
{
	static const char *const rows[][2] = {
	        {"", ""},
	        {"AZaz@[`{_-", "azaz@[`{_-"},
	        {"\xC3\x89", "\xC3\xA9"},
	        {"\xC4\xB0", "i\xCC\x87"},                                /* U+0130 */
	        {"\xC8\xBA\xC8\xBA", "\xE2\xB1\xA5\xE2\xB1\xA5"},         /* the worst growth */
	        {"\xE2\x84\xAA", "k"},                                    /* Kelvin */
	        {"\xC4\x80\xC4\x81\xC5\xB8", "\xC4\x81\xC4\x81\xC3\xBF"}, /* runs of step 2 */
	        {"\xCE\xA3", "\xCF\x83"},                                 /* sigma alone */
	        {"A\xCE\xA3", "a\xCF\x82"},                               /* final */
	        {"A\xCE\xA3"
	         "B",
	         "a\xCF\x83"
	         "b"},                          /* not final */
	        {"A\xCE\xA3-B", "a\xCF\x82-b"}, /* '-' ends a word, */
	        {"A\xCE\xA3.B", "a\xCF\x83.b"}, /* '.' does not */
	        {"A.\xCE\xA3", "a.\xCF\x82"},
	        {"1\xCE\xA3", "1\xCF\x83"},
	        {"A\xCE\xA3\xFF", "a\xCF\x82\xFF"}, /* not UTF-8: passed on */
	        {"\xE2\x82"
	         "A",
	         "\xE2\x82"
	         "a"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct slice in = slice_of(rows[i][0]);
		char out[64];
		size_t n = unicode_lower(in, out, UNICODE_LOWER_ROOM(in.len));

		assert_slice((struct slice){out, n}, slice_of(rows[i][1]));
	}
}

RUN_TESTS(cmocka_unit_test(test_valid), cmocka_unit_test(test_next), cmocka_unit_test(test_cut),
          cmocka_unit_test(test_classes), cmocka_unit_test(test_strip),
          cmocka_unit_test(test_lower))

/*
 * test_value.c - the grammar of values, one row for each case that Python's
 * pattern was seen to accept or to reject.
 */
#include "db/value.h"

#include "test.h"

/* A null module stands for a value that does not match. */
static const struct {
	const char *text, *module, *attr, *extras;
} rows[] = {
        {"m", "m", NULL, NULL},
        {"p.m:a.b", "p.m", "a.b", NULL},
        {"m : a [x, y]", "m", "a", "[x, y]"},
        {"m[x]", "m", NULL, "[x]"},
        {"m [x]  ", "m", NULL, "[x]"},
        {"m:a[]", "m", "a", "[]"},
        {"m:a [x] y]", "m", "a", "[x] y]"},
        {"m:a [[", NULL, NULL, NULL},
        {"...", "...", NULL, NULL},
        {"1a:2b", "1a", "2b", NULL},
        {".m", ".m", NULL, NULL},
        {"m:a\n", "m", "a", NULL},
        {"m\n:\na\n[x]\n", "m", "a", "[x]"},
        {"m\xC2\xA0:\xE3\x80\x80"
         "a\xE2\x80\xA8",
         "m", "a", NULL},
        {"\xC3\xA9:\xE4\xB8\x80", "\xC3\xA9", "\xE4\xB8\x80", NULL},
        {"", NULL, NULL, NULL},
        {"m:", NULL, NULL, NULL},
        {":a", NULL, NULL, NULL},
        {"a-b:c", NULL, NULL, NULL},
        {"m:a b", NULL, NULL, NULL},
        {" m", NULL, NULL, NULL},
        {"m:a # c", NULL, NULL, NULL},
        {"m:a:b", NULL, NULL, NULL},
        {"m:a [x", NULL, NULL, NULL},
        {"m:a [x] y", NULL, NULL, NULL},
        {"m:a x]", NULL, NULL, NULL},
        {"m:a [x\ny]", NULL, NULL, NULL},
        {"m:a [x\ry]", "m", "a", "[x\ry]"},
        {"m: [x]", NULL, NULL, NULL},
        {"m\xCC\x81", NULL, NULL, NULL},
};

static void assert_part(struct slice part, const char *expected)
{
	assert_int_equal(slice_is_null(part), expected == NULL);
	assert_true(slice_equal(part, slice_of(expected)));
}

static void test_parse(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct value value = {0};
		bool matches = value_parse(slice_of(rows[i].text), &value);

		assert_int_equal(matches, rows[i].module != NULL);
		assert_part(value.module, rows[i].module);
		assert_part(value.attr, rows[i].attr);
		assert_part(value.extras, rows[i].extras);
	}
}

static void test_extras(void **state)
{
	static const struct {
		const char *text, *words[4];
	} extras[] = {
	        {NULL, {NULL}},         {"[]", {NULL}},
	        {"[y-z]", {"y", "z"}},  {"[a_1, \xC3\xA9.b]", {"a_1", "\xC3\xA9", "b"}},
	        {"[a] b]", {"a", "b"}},
	};

	for (size_t i = 0; i < COUNT(extras); i++) {
		struct slice rest = slice_of(extras[i].text), word;

		for (size_t j = 0; extras[i].words[j]; j++) {
			assert_true(value_next_extra(&rest, &word));
			assert_true(slice_equal(word, slice_of(extras[i].words[j])));
		}
		assert_false(value_next_extra(&rest, &word));
	}
}

RUN_TESTS(cmocka_unit_test(test_parse), cmocka_unit_test(test_extras))

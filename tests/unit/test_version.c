/* test_version.c - versions in the order of PEP 440. */
#include "indexer/version.h"

#include "test.h"

/* Each before the next. */
static const char *const ascending[] = {
        "0",
        "1.0.dev0",
        "1.0.DEV3",
        "1.0.dev10",
        "1.0a1.dev2",
        "v1.0-alpha-1",
        "1.0a1.post1.dev3",
        "1.0a1.post1",
        "1.0a2",
        "1.0_beta",
        "1.0.b.1",
        "1.0c1",
        "1.0-preview2",
        "1.0pre3",
        "1.0rc4",
        "1.0",
        "1.0+abc",
        "1.0+abc.5",
        "1.0+ABD",
        "1.0+5",
        "1.0+5.a",
        "1.0+5.1",
        "1.0+10",
        "1.0.post1.dev1",
        "1.0-1",
        "1.0.rev2",
        "1.0r3",
        "1.0.0.1",
        "1.9",
        "1.10",
        "18446744073709551615",
        "18446744073709551616",
        "1!0.1",
};

static void test_order(void **state)
{
	int order;

	for (size_t i = 0; i < COUNT(ascending); i++)
		for (size_t j = 0; j < COUNT(ascending); j++) {
			assert_true(version_compare(slice_of(ascending[i]), slice_of(ascending[j]),
			                            &order));
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

static void test_spellings_of_one_version(void **state)
{
	static const char *const same[][2] = {
	        {"1", "1.0.0"},          {"1.0", " v01.00 \n"},   {"0!1", "1"},
	        {"1.0a", "1.0-ALPHA.0"}, {"1.0rc1", "1.0.pre-1"}, {"1.0-3", "1.0.post03"},
	        {"1.0.dev", "1.0dev0"},  {"1+a.b-1", "1+A_B.01"}, {"1.0a-", "1.0a0"},
	};
	int order = 1;

	for (size_t i = 0; i < COUNT(same); i++) {
		assert_true(version_compare(slice_of(same[i][0]), slice_of(same[i][1]), &order));
		assert_int_equal(order, 0);
	}
}

static void test_no_versions(void **state)
{
	static const char *const wrong[] = {
	        "",        "v",      "unknown",        "1.",     ".1",
	        "1..2",    "1.0+",   "1.0+a..b",       "1.0+.",  "1.0+a.",
	        "1 .0",    "1.0al1", "1.0!",           "!1.0",   "1.0.x",
	        "1.0a1b1", "vv1",    "1.0--1",         "2004d.", "1.0-",
	        "1,0",     "1.0~1",  "1.0.dev1.post1",
	};
	int order = 7;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		assert_false(version_compare(slice_of(wrong[i]), SLICE("1"), &order));
		assert_false(version_compare(SLICE("1"), slice_of(wrong[i]), &order));
	}
	assert_false(version_compare((struct slice){0}, SLICE("1"), &order));
	assert_int_equal(order, 7);
}

RUN_TESTS(cmocka_unit_test(test_order), cmocka_unit_test(test_spellings_of_one_version),
          cmocka_unit_test(test_no_versions))

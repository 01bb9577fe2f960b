/*
 * test_nearest.c - suggestions of similar names: distances, similarity, and bounded work.
 */
#include "db/base/nearest.h"

#include "test.h"

static void check_distance(const char *a, const char *b, size_t expected)
{
	assert_int_equal(nearest_distance(slice_of(a), slice_of(b), NEAREST_LEN_MAX), expected);
	assert_int_equal(nearest_distance(slice_of(b), slice_of(a), NEAREST_LEN_MAX), expected);
}

static void test_distance(void **state)
{
	check_distance("", "", 0);
	check_distance("", "abc", 3);
	check_distance("list", "list", 0);
	check_distance("lst", "list", 1);
	check_distance("pytset11", "pytest11", 1); /* two adjacent letters swapped */
	check_distance("kitten", "sitting", 3);
	check_distance("ca", "abc", 3); /* swapped letters are not changed again */
}

/* Distances beyond the limit are only reported as such; the limit itself is exact. */
static void test_limit(void **state)
{
	static const char *const words[] = {"",    "a",   "ab",  "ba",   "abc",
	                                    "acb", "bca", "xyz", "abxy", "bayx"};
	size_t count = sizeof(words) / sizeof(*words);

	for (size_t i = 0; i < count * count * 5; i++) {
		struct slice a = slice_of(words[i % count]), b = slice_of(words[i / count % count]);
		size_t limit = i / count / count;
		size_t exact = nearest_distance(a, b, NEAREST_LEN_MAX);
		size_t limited = nearest_distance(a, b, limit);

		if (exact <= limit)
			assert_int_equal(limited, exact);
		else
			assert_true(limited > limit);
	}
}

static void check_found(const char *wanted, const char *const *names, const char *expected)
{
	struct nearest nearest = nearest_to(slice_of(wanted));

	for (size_t i = 0; names[i]; i++)
		nearest_offer(&nearest, slice_of(names[i]));
	if (expected)
		assert_true(slice_equal(nearest.found, slice_of(expected)));
	else
		assert_true(slice_is_null(nearest.found));
}

static void test_similar_names(void **state)
{
	static const char *const names[] = {"console_scripts", "pytest11", "list", "log", NULL};

	check_found("console_script", names, "console_scripts");
	check_found("pytset11", names, "pytest11");
	check_found("lst", names, "list");
	check_found("lgo", names, "log");
	check_found("setuptools.finalize", names, NULL);
	check_found("x", names, NULL);
	check_found("", names, NULL);
	check_found("log", names, "log");
}

static void test_order_does_not_matter(void **state)
{
	static const char *const one[] = {"bar", "baz", "far", NULL};
	static const char *const other[] = {"far", "baz", "bar", NULL};

	check_found("bax", one, "bar");
	check_found("bax", other, "bar");
}

static void test_long_names(void **state)
{
	char text[NEAREST_LEN_MAX + 2];
	struct nearest nearest;

	memset(text, 'a', sizeof(text));
	nearest = nearest_to((struct slice){text, NEAREST_LEN_MAX});
	nearest_offer(&nearest, (struct slice){text, NEAREST_LEN_MAX + 1});
	assert_true(slice_is_null(nearest.found));
	nearest_offer(&nearest, (struct slice){text, NEAREST_LEN_MAX - 1});
	assert_int_equal(nearest.found.len, NEAREST_LEN_MAX - 1);
	nearest = nearest_to((struct slice){text, NEAREST_LEN_MAX + 1});
	nearest_offer(&nearest, (struct slice){text, NEAREST_LEN_MAX});
	assert_true(slice_is_null(nearest.found));
}

RUN_TESTS(cmocka_unit_test(test_distance), cmocka_unit_test(test_limit),
          cmocka_unit_test(test_similar_names), cmocka_unit_test(test_order_does_not_matter),
          cmocka_unit_test(test_long_names))

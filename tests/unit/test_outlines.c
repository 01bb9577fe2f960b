/*
 * test_outlines.c - the list of outlines, and what is none.
 */
#include "db/outlines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ROOT 3

static struct root_record root;

static int read_list(const char *list, size_t count)
{
	root_record_free(&root);
	root = (struct root_record){.id = ROOT, .distribution_count = count};
	return outlines_read(slice_of(list), &root);
}

static int clean_up(void **state)
{
	(void)state;
	root_record_free(&root);
	return 0;
}

static void test_list(void **state)
{
	const struct distribution_record *found;

	(void)state;
	assert_int_equal(read_list("0 0 1 75 1600000000123456789 0 -5 a b-1.dist-info/"
	                           "1048575 2 0     \nx.egg-info",
	                           2),
	                 1);
	found = root.distributions;
	assert_int_equal(root.distribution_count, 2);
	assert_int_equal(found[0].id, ROOT << 20);
	assert_true(found[0].settled && !found[0].watched);
	assert_string_equal(found[0].directory.ptr, "a b-1.dist-info");
	assert_true(found[0].entry_points_txt.exists && found[0].metadata.exists);
	assert_int_equal(found[0].entry_points_txt.size, 75);
	assert_int_equal(found[0].entry_points_txt.mtime, 1600000000123456789);
	assert_int_equal(found[0].metadata.size, 0);
	assert_int_equal(found[0].metadata.mtime, -5);
	assert_int_equal(found[1].id, (ROOT << 20) + 1048575);
	assert_true(found[1].watched && found[1].young && !found[1].settled);
	assert_false(found[1].entry_points_txt.exists || found[1].metadata.exists);
	assert_string_equal(found[1].directory.ptr, "\nx.egg-info");
}

static void test_extreme_times(void **state)
{
	(void)state;
	assert_int_equal(
	        read_list("0 0 0 1 -9223372036854775808 1 9223372036854775807 a.dist-info", 1), 1);
	assert_true(root.distributions[0].entry_points_txt.mtime == INT64_MIN);
	assert_true(root.distributions[0].metadata.mtime == INT64_MAX);
	assert_int_equal(read_list("0 0 0 1 9223372036854775808 1 2 a.dist-info", 1), 0);
}

static void test_no_list(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} bad[] = {
	        {"", 1},
	        {"0 0 1 1 2 3 4 a.dist-info", 2},
	        {"0 0 1 1 2 3 4 a.dist-info/1 0 1 1 2 3 4 b.dist-info", 1},
	        {"0 0 1 1 2 3 4 a.dist-info/", 2},
	        {"0 0 1 1 2 3 4 ", 1},
	        {"0 0 1 1 2 3 4", 1},
	        {"0 0 1 1  3 4 a.dist-info", 1}, /* a size without a time */
	        {"0 0 1 1 2  4 a.dist-info", 1},
	        {"1048576 0 1 1 2 3 4 a.dist-info", 1},
	        {"-1 0 1 1 2 3 4 a.dist-info", 1},
	        {" 0 1 1 2 3 4 a.dist-info", 1},
	        {"0 0 1 1 - 3 4 a.dist-info", 1},
	        {"0 0 1 1x 2 3 4 a.dist-info", 1},
	        {"0 0 1 1 2 3 4 a.dist-info", DISTRIBUTIONS_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(read_list(bad[i].text, bad[i].count), 0);
		assert_int_equal(root.distribution_count, 0);
	}
	assert_int_equal(read_list("", 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_teardown(test_list, clean_up),
	        cmocka_unit_test_teardown(test_extreme_times, clean_up),
	        cmocka_unit_test_teardown(test_no_list, clean_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

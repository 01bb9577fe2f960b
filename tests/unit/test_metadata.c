/*
 * test_metadata.c - Name and Version, one row for each rule of Python's parser for
 * mail that could matter.
 */
#include "libquery/disk/metadata/metadata.h"

#include "test.h"

static const struct {
	const char *text, *name, *version;
	bool complete;
} rows[] = {
        {"", NULL, NULL, false},
        {"Metadata-Version: 2.1\nName: a\nVersion: 1\nSummary: s\n", "a", "1", true},
        {"Metadata-Version: 2.1\nName: a\nVersion: 1", "a", "1", false},
        {"Name: a\nVersion: 1\n", "a", "1", false}, /* it may be continued */
        {"Name: a\nVersion: 1\nS", "a", "1", true},
        {"Name: a\n\nVersion: 1\n", "a", NULL, true},
        {"Name: a\nVers", "a", NULL, false},
        {"nAME:a\nVERSION:\t 1 \t\n\n", "a", "1 \t", true},
        {"Name: a\nName: b\nVersion: 1\n\n", "a", "1", true},
        {"Name:\nVersion:  \n\n", "", "", true},
        {"Name: a:b\n\n", "a:b", NULL, true},
        /* line ends */
        {"Name: a\r\nVersion: 1\r\n\r\nbody", "a", "1", true},
        {"Name: a\rVersion: 1\r\r", "a", "1", true},
        {"Name: a\r\r\nVersion: 1\n\n", "a", NULL, true},
        {"Name: a\v\x0C\x1C\xC2\x85 b\n\n", "a\v\x0C\x1C\xC2\x85 b", NULL, true},
        /* where headers end */
        {"\nName: a\n", NULL, NULL, true},
        {"no colon\nName: a\n", NULL, NULL, true},
        {"\xEF\xBB\xBFName: a\nVersion: 1\n\n", NULL, NULL, true},
        {"Na me: x\nName: a\n", NULL, NULL, true},
        {"N\xC3\xA9: x\nName: a\n", NULL, NULL, true},
        {"Name : a\n", NULL, NULL, true},
        /* lines that are dropped, with what continues them */
        {"From x\n cont\nName: a\n\n", "a", NULL, true},
        {"X: y\nFrom Name: x\nName: a\nFrom z\n", "a", NULL, false},
        {"From: x\nName: a\n\n", "a", NULL, true},
        {": x\n y\nName: a\n\n", "a", NULL, true},
        {" Name: x\nName: a\n\n", "a", NULL, true},
        /* values on several lines: 8 spaces first, then the common indent goes */
        {"Name: a\n b\n\n", "       a\nb", NULL, true},
        {"Name: a\n        b\n\n", "a\nb", NULL, true},
        {"Name: a\n          b\n         c\n\n", "a\n  b\n c", NULL, true},
        {"Name: a\n\tb\n\n", "        a\n\tb", NULL, true},
        {"Name: a\n  \n        b\r\n\n", "a\n\nb", NULL, true},
        {"Name: a\n \t \n\n", "a\n", NULL, true},
        {"Name:  \n  a\n b\n\n", "\n a\nb", NULL, true},
        {"Name:\n \n\n", "\n", NULL, true},
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct arena));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	arena_free(*state);
	free(*state);
	return 0;
}

static void assert_header(struct slice value, const char *expected)
{
	assert_int_equal(slice_is_null(value), expected == NULL);
	assert_true(slice_equal(value, slice_of(expected)));
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct metadata metadata;

		assert_int_equal(metadata_parse(slice_of(rows[i].text), *state, &metadata), 0);
		assert_header(metadata.name, rows[i].name);
		assert_header(metadata.version, rows[i].version);
		assert_int_equal(metadata.complete, rows[i].complete);
		assert_int_equal(metadata.folded, rows[i].name && strchr(rows[i].name, '\n'));
	}
}

static void test_one_line_is_not_copied(void **state)
{
	struct slice text = SLICE("Name: a\nVersion: 1\n\n");
	struct metadata metadata;

	assert_int_equal(metadata_parse(text, *state, &metadata), 0);
	assert_ptr_equal(metadata.name.ptr, text.ptr + 6);
	assert_int_equal(arena_size(*state), 0);
}

RUN_TESTS(TEST(test_rows), TEST(test_one_line_is_not_copied))

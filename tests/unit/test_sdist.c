/*
 * test_sdist.c - which members of an archive are kept, and which of several egg-infos counts; the
 * rest of source distributions is tested in tests/cli/test_add.py.
 */
#include "test.h"

#include "indexer/archive/sdist.h"

#define HEADERS "Metadata-Version: 2.1\nName: spam\nVersion: 1\n"
#define POINTS  "[a]\nb = c\n"

struct fixture {
	struct members members;
	struct arena arena;
	struct sdist sdist;
	struct error error;
};

static enum pyproject_status no_pyproject(const char *text, size_t length,
                                          const struct pyproject_sink *sink,
                                          char problem[PYPROJECT_PROBLEM_SIZE])
{
	(void)text;
	(void)length;
	(void)sink;
	snprintf(problem, PYPROJECT_PROBLEM_SIZE, "no parser");
	return PYPROJECT_NONE;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (f)
		f->members.path = "x.tar.gz";
	return f ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	members_free(&f->members);
	arena_free(&f->arena);
	error_clear(&f->error);
	free(f);
	return 0;
}

/* Like an archive reader: pass the bytes only if they are wanted. */
static void add(struct fixture *f, const char *path, const char *bytes)
{
	size_t wanted = members_wanted(&f->members, slice_of(path), strlen(bytes));

	assert_int_equal(members_add(&f->members, slice_of(path),
	                             wanted ? slice_of(bytes) : (struct slice){0}, &f->error),
	                 0);
}

static void check_text(struct slice got, const char *expected)
{
	assert_int_equal(slice_is_null(got), expected == NULL);
	if (!expected)
		return;
	assert_int_equal(got.len, strlen(expected));
	assert_memory_equal(got.ptr, expected, got.len);
}

/* As if read from an archive named @file. */
static void read_as(struct fixture *f, const char *file)
{
	struct slice top;

	assert_true(sdist_find_top(&f->members, &top));
	assert_int_equal(sdist_read(&f->members, top, slice_of(file), no_pyproject, &f->arena,
	                            &f->sdist, &f->error),
	                 0);
}

static void test_top(void **state)
{
	struct fixture *f = *state;
	struct slice top;

	assert_false(sdist_find_top(&f->members, &top));
	add(f, "x-1/a.py", "");
	assert_false(sdist_find_top(&f->members, &top));
	add(f, "./x-1/setup.py", "");
	assert_true(sdist_find_top(&f->members, &top));
	check_text(top, "x-1");
	add(f, "y", "");
	assert_false(sdist_find_top(&f->members, &top));
}

static void test_members(void **state)
{
	struct fixture *f = *state;

	assert_int_not_equal(members_wanted(&f->members, SLICE("./a/b.dist-info/RECORD"), 5), 0);
	assert_int_not_equal(members_wanted(&f->members, SLICE("a/b.EGG-INFO"), 5), 0);
	assert_int_equal(members_wanted(&f->members, SLICE("a/b.dist-info/x/RECORD"), 5), 0);
	assert_int_equal(members_wanted(&f->members, SLICE("a/b.dist-info/other"), 5), 0);
	assert_int_equal(members_wanted(&f->members, SLICE("../b.dist-info/RECORD"), 5), 0);
	assert_int_equal(members_wanted(&f->members, SLICE("/b.dist-info/RECORD"), 5), 0);
	assert_int_equal(members_wanted(&f->members, SLICE("a/b.so"), 5), 5);
	assert_int_equal(members_wanted(&f->members, SLICE("a/b.so"), UINT64_MAX), 0);
	assert_int_equal(members_wanted(&f->members, SLICE("a/b.so"), ARCHIVE_OBJECT_MEMORY + 1),
	                 0);
	assert_int_equal(members_wanted(&f->members, SLICE("a/b/setup.cfg"), 5), 0);
	add(f, "a/../b", "");
	add(f, "", "");
	assert_int_equal(f->members.ignored, 2);
	assert_int_equal(f->members.count, 0);
	check_text(f->members.example, "a/../b");
}

static void test_later_members_replace(void **state)
{
	struct fixture *f = *state;

	add(f, "x/PKG-INFO", "old");
	add(f, "./x/PKG-INFO", "new");
	assert_int_equal(f->members.count, 1);
	check_text(members_find(&f->members, SLICE("x/PKG-INFO"))->bytes, "new");
}

static void test_egg_info(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/PKG-INFO", HEADERS);
	add(f, "spam-1/a/b/spam.egg-info/PKG-INFO", HEADERS);
	add(f, "spam-1/a/b/spam.egg-info/entry_points.txt", "[deep]\n");
	add(f, "spam-1/aaaa.egg-info/PKG-INFO", "Name: other\n");
	add(f, "spam-1/aaaa.egg-info/entry_points.txt", "[other]\n");
	add(f, "spam-1/src/Spam.egg-info/PKG-INFO", HEADERS);
	add(f, "spam-1/src/Spam.egg-info/entry_points.txt", POINTS);
	add(f, "spam-1/pyproject.toml", "not toml");
	read_as(f, "spam-1.tar.gz");
	check_text(f->sdist.error, NULL);
	check_text(f->sdist.entry_points, POINTS);
	check_text(f->sdist.directory, "spam-1/src/Spam.egg-info");
}

static void test_no_parser(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/pyproject.toml", "");
	read_as(f, "spam-1.tar.gz");
	check_text(f->sdist.error, "pyproject.toml: no parser");
}

static void test_names(void **state)
{
	struct fixture *f = *state;

	add(f, "t/setup.cfg", "");
	read_as(f, "a-b-2.0-1.zip");
	check_text(f->sdist.name, "a-b");
	check_text(f->sdist.version, "2.0-1");
	read_as(f, "thing.tar.gz");
	check_text(f->sdist.name, "thing");
	check_text(f->sdist.version, NULL);
}

RUN_TESTS(TEST(test_top), TEST(test_members), TEST(test_later_members_replace), TEST(test_egg_info),
          TEST(test_no_parser), TEST(test_names))

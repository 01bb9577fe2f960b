/*
 * test_sdist.c - which file of a source distribution answers, and what it answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "indexer/archive/sdist.h"

#define HEADERS "Metadata-Version: 2.1\nName: spam\nVersion: 1\n"
#define POINTS  "[a]\nb = c\n"

struct fixture {
	struct members members;
	struct arena arena;
	struct sdist sdist;
	struct error error;
};

static size_t parsed; /* how often pyproject.toml was read */

static enum pyproject_status count_pyproject(const char *text, size_t length,
                                             const struct pyproject_sink *sink,
                                             char problem[PYPROJECT_PROBLEM_SIZE])
{
	parsed++;
	return pyproject_read(text, length, sink, problem);
}

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
	parsed = 0;
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

/* As a reader of archives would: the bytes only if they are wanted. */
static void add(struct fixture *f, const char *path, const char *bytes)
{
	size_t wanted = members_wanted(&f->members, slice_of(path), strlen(bytes));

	assert_int_equal(members_add(&f->members, slice_of(path),
	                             wanted ? slice_of(bytes) : (struct slice){0}, &f->error),
	                 0);
}

static void read_with(struct fixture *f, sdist_pyproject *pyproject)
{
	struct slice top;

	assert_true(sdist_find_top(&f->members, &top));
	assert_int_equal(sdist_read(&f->members, top, SLICE("spam-1.tar.gz"), pyproject, &f->arena,
	                            &f->sdist, &f->error),
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

static void check(struct fixture *f, const char *entry_points, const char *error)
{
	read_with(f, count_pyproject);
	check_text(f->sdist.error, error);
	check_text(f->sdist.entry_points, entry_points);
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
	check(f, POINTS, NULL);
	check_text(f->sdist.directory, "spam-1/src/Spam.egg-info");
	assert_int_equal(parsed, 0);
}

static void test_egg_info_without_entry_points(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/spam.egg-info/PKG-INFO", HEADERS);
	add(f, "spam-1/setup.py", "");
	check(f, NULL, NULL);
	check_text(f->sdist.metadata, HEADERS);
	check_text(f->sdist.directory, "spam-1/spam.egg-info");
}

static void test_pyproject(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/PKG-INFO", HEADERS);
	add(f, "spam-1/pyproject.toml",
	    "[project]\nname = 'x'\n[project.scripts]\nb = 'c'\na = 'b'\n"
	    "[project.entry-points.b]\nz = ' y '\n");
	add(f, "spam-1/setup.cfg", "[options.entry_points]\nno = no=no\n");
	check(f, "[b]\nz =  y \n[console_scripts]\na = b\nb = c\n", NULL);
	check_text(f->sdist.directory, "spam-1");
	check_text(f->sdist.name, "x");
	check_text(f->sdist.version, "1");
}

static void test_dynamic(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/pyproject.toml",
	    "[project]\ndynamic = ['scripts']\n[project.entry-points.b]\nz = 'y'\n");
	check(f, NULL, "dynamic, not knowable without a build");
}

static void test_what_cannot_be_written(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/pyproject.toml", "[project.scripts]\n'a=b' = 'c'\n");
	check(f, NULL,
	      "pyproject.toml: entry_points.txt cannot express one of its groups, names or values");
}

static void test_needs_build(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/setup.py", "");
	check(f, NULL, "setup.py decides, not knowable without a build");
	add(f, "spam-1/pyproject.toml", "[build-system]\nbuild-backend = 'mine'\n");
	check(f, NULL, "the build backend decides, not knowable without a build");
}

static void test_no_parser(void **state)
{
	struct fixture *f = *state;

	add(f, "spam-1/pyproject.toml", "");
	read_with(f, no_pyproject);
	check_text(f->sdist.error, "pyproject.toml: no parser");
}

static void test_names(void **state)
{
	struct fixture *f = *state;
	struct slice top;

	add(f, "t/setup.cfg", "");
	assert_true(sdist_find_top(&f->members, &top));
	assert_int_equal(sdist_read(&f->members, top, SLICE("a-b-2.0-1.zip"), no_pyproject,
	                            &f->arena, &f->sdist, &f->error),
	                 0);
	check_text(f->sdist.name, "a-b");
	check_text(f->sdist.version, "2.0-1");
	assert_int_equal(sdist_read(&f->members, top, SLICE("thing.tar.gz"), no_pyproject,
	                            &f->arena, &f->sdist, &f->error),
	                 0);
	check_text(f->sdist.name, "thing");
	check_text(f->sdist.version, NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_top),
	        TEST(test_members),
	        TEST(test_later_members_replace),
	        TEST(test_egg_info),
	        TEST(test_egg_info_without_entry_points),
	        TEST(test_pyproject),
	        TEST(test_dynamic),
	        TEST(test_what_cannot_be_written),
	        TEST(test_needs_build),
	        TEST(test_no_parser),
	        TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

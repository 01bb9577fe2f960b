/*
 * test_layout.c - the database of each path entry, for every known layout, and the conversion of
 * paths.
 */
#include "libquery/layout.h"

#include "scratch.h"

#define SYSTEM "/var/lib/entrydb/entry_points.db"

static int setup(void **state)
{
	scratch_enter();
	setenv("HOME", "/home/me", 1);
	setenv("XDG_STATE_HOME", "/home/me/st", 1);
	return 0;
}

static void check_prefix(const char *path, const char *root, const char *database,
                         const char *root_path)
{
	struct coverage coverage = {0};
	int found = layout_of_prefix(path, root, &coverage);

	if (found != (database != NULL))
		fail_msg("%s is taken for %s", path, found ? coverage.database : "no layout");
	if (found) {
		assert_string_equal(coverage.database, database);
		assert_string_equal(coverage.root_path, root_path);
	}
	assert_int_equal(layout_is_known(path), database != NULL);
	coverage_free(&coverage);
}

static void test_known(void **state)
{
	static const struct {
		const char *prefix, *inside;
	} rows[] = {
	        {"/venv", "lib/python3.12/site-packages"},
	        {"/venv", "lib64/python3.12/site-packages"},
	        {"/venv", "lib/python3.13t/site-packages"},
	        {"/venv", "lib/pypy3.10/site-packages"},
	        {"/venv", "lib/python3.12"},
	        {"/venv", "lib/python3.12/lib-dynload"},
	        {"/venv", "lib/python312.zip"},
	        {"/venv", "lib/python3/dist-packages"},
	        {"/venv", "lib/python3.12/dist-packages"},
	        {"/venv", "lib/python3.12/site-packages/x-1.egg"},
	        {"/venv", "lib/python3.12/site-packages/x.ZIP"},
	        {"/opt/lib/python3.12/site-packages/inner", "lib/python3.12/site-packages"},
	        {"/conda/envs/a b", "lib/python3.12/site-packages"},
	};
	char path[200], database[200];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(path, sizeof(path), "%s/%s", rows[i].prefix, rows[i].inside);
		snprintf(database, sizeof(database), "%s" SYSTEM, rows[i].prefix);
		check_prefix(path, NULL, database, rows[i].inside);
	}
}

static void test_unknown(void **state)
{
	static const char *const paths[] = {
	        "/",
	        "/lib",
	        "/srv/app",
	        "/venv/lib/python/site-packages",
	        "/venv/lib/pythonx/site-packages",
	        "/venv/lib/python3.12/site-packages/sub",
	        "/venv/lib/python3.12/site-packages/x.egg/sub",
	        "/venv/lib/python3.12/other",
	        "/venv/lib/python312.zip/sub",
	        "/venv/lib32/python3.12/site-packages",
	        "/venv/Lib/python3.12/site-packages",
	        "/venv/lib/python3.12-old/site-packages",
	};

	for (size_t i = 0; i < COUNT(paths); i++)
		check_prefix(paths[i], NULL, NULL, NULL);
}

static void test_system_and_user(void **state)
{
	check_prefix("/usr/lib/python3/dist-packages", NULL, SYSTEM,
	             "usr/lib/python3/dist-packages");
	check_prefix("/usr/local/lib/python3.11/dist-packages", NULL, SYSTEM,
	             "usr/local/lib/python3.11/dist-packages");
	check_prefix("/lib/python3.11", NULL, SYSTEM, "lib/python3.11");
	check_prefix("/usr/lib/python3/dist-packages", "/image", "/image" SYSTEM,
	             "usr/lib/python3/dist-packages");
	check_prefix("/v/lib/python3.1", "/image", "/image/v" SYSTEM, "lib/python3.1");
	check_prefix("/home/me/.local/lib/python3.11/site-packages", NULL,
	             "/home/me/st/entrydb/entry_points.db",
	             "/home/me/.local/lib/python3.11/site-packages");
	check_prefix("/home/you/.local/lib/python3.11/site-packages", NULL,
	             "/home/you/.local" SYSTEM, "lib/python3.11/site-packages");
}

static void check_user(const char *state_home, const char *home, const char *database)
{
	struct coverage coverage = {0};

	setenv("XDG_STATE_HOME", state_home, 1);
	setenv("HOME", home, 1);
	assert_int_equal(layout_of_user("/srv/app", &coverage), database != NULL);
	if (database) {
		assert_string_equal(coverage.database, database);
		assert_string_equal(coverage.root_path, "/srv/app");
	}
	coverage_free(&coverage);
}

static void test_user_database(void **state)
{
	check_user("/s", "/h", "/s/entrydb/entry_points.db");
	check_user("", "/h", "/h/.local/state/entrydb/entry_points.db");
	check_user("relative", "/h", "/h/.local/state/entrydb/entry_points.db");
	check_user("", "", NULL);
	check_user("relative", "relative", NULL);
}

static void check_text(char *text, const char *expected)
{
	assert_non_null(text);
	if (strcmp(text, expected) != 0)
		fail_msg("%s instead of %s", text, expected);
	free(text);
}

static void test_paths_in_a_database(void **state)
{
	check_text(layout_base("/venv" SYSTEM), "/venv");
	check_text(layout_base(SYSTEM), "");
	check_text(layout_base("/tmp/my.db"), "");
	check_text(layout_path_of_root("/venv", SLICE("lib/x")), "/venv/lib/x");
	check_text(layout_path_of_root("", SLICE("usr/lib/x")), "/usr/lib/x");
	check_text(layout_path_of_root("/venv", SLICE("/other/x")), "/other/x");
	check_text(layout_root_path("/venv" SYSTEM, "/venv/lib/x"), "lib/x");
	check_text(layout_root_path("/venv" SYSTEM, "/venv2/lib/x"), "/venv2/lib/x");
	check_text(layout_root_path(SYSTEM, "/usr/lib/x"), "usr/lib/x");
	check_text(layout_root_path("/tmp/my.db", "/venv/lib/x"), "/venv/lib/x");
}

static void test_absolute(void **state)
{
	static const struct {
		const char *entry, *absolute;
	} rows[] = {
	        {"/", "/"},       {"//", "/"},
	        {"/a/", "/a"},    {"/a//b/./c/.", "/a/b/c"},
	        {"/.", "/"},      {"/a.b/..c", "/a.b/..c"},
	        {"/tmp/..", "/"}, {"/usr/../usr", "/usr"},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		check_text(layout_absolute(rows[i].entry), rows[i].absolute);
	check_text(layout_absolute(""), scratch_top());
	check_text(layout_absolute("."), scratch_top());
	check_text(layout_absolute("a/./b/"), scratch_path("a/b"));
	scratch_directory("real/inside");
	assert_int_equal(symlink("real/inside", "link"), 0);
	check_text(layout_absolute("link/.."),
	           scratch_path("real")); /* not the scratch directory */
	assert_null(layout_absolute("absent/.."));
}

#define LAYOUT_TEST(function) cmocka_unit_test_setup_teardown(function, setup, scratch_teardown)

RUN_TESTS(LAYOUT_TEST(test_known), LAYOUT_TEST(test_unknown), LAYOUT_TEST(test_system_and_user),
          LAYOUT_TEST(test_user_database), LAYOUT_TEST(test_paths_in_a_database),
          LAYOUT_TEST(test_absolute))

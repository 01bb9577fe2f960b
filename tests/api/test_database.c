/*
 * test_database.c - databases used by a handle: named by an option, replaced, deleted, made
 * writable for all, or damaged; and the reported states of path entries. Answers must always match
 * the disk, except at level "trust", whose outdated answers show which rows were read.
 */
#include "site.h"

#include <fcntl.h>
#include <sys/stat.h>

#define OLD   "old/lib/python3.12/site-packages"
#define NAMED "named.db"

static const char one[] = "[g]\none = m\n", two[] = "[g]\ntwo = m\n";

static const entrydb_options trusting = {
        sizeof(trusting), ENTRYDB_RULES_DEFAULT, ENTRYDB_FRESH_TRUST, NULL, NULL, NULL, 0};
static const entrydb_options exacting = {
        sizeof(exacting), ENTRYDB_RULES_DEFAULT, ENTRYDB_FRESH_EXACT, NULL, NULL, NULL, 0};

static void add(struct site *site, const char *directory, const char *entry_points)
{
	site_distribution(site, SITE_PACKAGES, directory, "some", "1", entry_points);
}

static void update(struct site *site)
{
	site_run(site, "update", site_path(site, "venv"), NULL);
}

static const char *database_of(struct site *site, size_t index)
{
	return entrydb_path_entry_database(site_path_entry(site, index));
}

static const char *path_of(struct site *site, size_t index)
{
	return entrydb_path_entry_path(site_path_entry(site, index));
}

/* --- freshness --- */

static void test_states(void **state)
{
	struct site *site = *state;
	const entrydb_path_entry *entry;

	add(site, "a-1.dist-info", one);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	entry = site_path_entry(site, 0); /* before any query */
	assert_int_equal(entrydb_path_entry_state(entry), ENTRYDB_PATH_SCANNED);
	assert_string_equal(entrydb_path_entry_path(entry), site_path(site, SITE_PACKAGES));
	assert_null(entrydb_path_entry_database(entry));
	assert_non_null(strstr(entrydb_path_entry_reason(entry), "entrydb update"));
	site_sleep(SITE_SETTLED);
	update(site);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
	assert_string_equal(database_of(site, 0), site_path(site, SITE_DATABASE));
	add(site, "b-1.dist-info", two);
	site_select(site, "g", NULL);
	assert_int_equal(entrydb_set_count(site->set), 2);
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_SCANNED);
	site_remove(site, SITE_PACKAGES "/b-1.dist-info");
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_SCANNED);
}

/* Only its permissions have changed: the rows are compared and accepted. */
static void test_other_permissions(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	site_sleep(SITE_SETTLED);
	update(site);
	assert_int_equal(chmod(site_path(site, SITE_PACKAGES), 0750), 0);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_CHECKED);
}

/* Only level "exact" notices an edit that leaves the site directory's times alone. */
static void test_exact(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	site_sleep(SITE_SETTLED);
	update(site);
	site_write(site, SITE_PACKAGES "/a-1.dist-info/entry_points.txt", two);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	site_open(site, &exacting, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "two=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_SCANNED);
	site_run(site, "update", "--fresh", "exact", site_path(site, "venv"), NULL);
	assert_string_equal(site_select(site, "g", NULL), "two=m@a-1.dist-info");
	site_sleep(SITE_SETTLED);
	site_run(site, "update", "--fresh", "exact", site_path(site, "venv"), NULL);
	assert_string_equal(site_select(site, "g", NULL), "two=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_SCANNED);
}

static void test_trust(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	add(site, "b-1.dist-info", two);
	site_open(site, &trusting, SITE_PACKAGES, OLD, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
	assert_int_equal(site_state(site, 1), ENTRYDB_PATH_ABSENT);
	update(site);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
}

static void test_fresh_by_environment(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	add(site, "a-1.dist-info", two);
	setenv("ENTRYDB_FRESH", "trust", 1);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	site_open(site, &exacting, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "two=m@a-1.dist-info");
	setenv("ENTRYDB_FRESH", "nonsense", 1); /* an invalid value */
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "two=m@a-1.dist-info");
}

/* --- the file under an open handle --- */

static void test_database_appears(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_null(database_of(site, 0));
	update(site);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_string_equal(database_of(site, 0), site_path(site, SITE_DATABASE));
}

static void test_database_replaced(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	for (int round = 0; round < 5; round++) {
		assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
		site_remove(site, SITE_PACKAGES "/a-1.dist-info");
		add(site, "b-1.dist-info", two);
		update(site);
		assert_string_equal(site_select(site, "g", NULL), "two=m@b-1.dist-info");
		site_remove(site, SITE_PACKAGES "/b-1.dist-info");
		add(site, "a-1.dist-info", one);
		update(site);
	}
}

static void check_without_database(struct site *site)
{
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_SCANNED);
	assert_null(database_of(site, 0));
}

static void test_database_deleted(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	site_select(site, "g", NULL);
	site_remove(site, "venv/var");
	check_without_database(site);
	update(site);
	site_select(site, "g", NULL);
	assert_non_null(database_of(site, 0));
}

static void test_database_replaced_by_garbage(void **state)
{
	static const char header[4112] = "SQLite format 3";
	static const size_t lengths[] = {0, sizeof(header), 6};
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		site_write_bytes(site, "garbage", header, lengths[i]);
		assert_int_equal(rename("garbage", SITE_DATABASE), 0);
		assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	}
	update(site);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
}

/* A handle that uses a database of many pages. */
static void open_large(struct site *site)
{
	add(site, "a-1.dist-info", one);
	for (int i = 0; i < 200; i++)
		add(site, site_text(site, "m%d-1.dist-info", i), "[many]\nn = m\n");
	site_sleep(SITE_SETTLED);
	update(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	site_select(site, "nothing", NULL);
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
}

/* Writing to a published file is forbidden, and must not lead to more than a scan. */
static void test_database_overwritten_while_open(void **state)
{
	struct site *site = *state;
	struct stat status;
	char page[4096];
	int fd;

	open_large(site);
	fd = open(SITE_DATABASE, O_WRONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &status), 0);
	memset(page, 'Z', sizeof(page));
	for (off_t at = sizeof(page); at < status.st_size; at += (off_t)sizeof(page))
		assert_int_equal(pwrite(fd, page, sizeof(page), at), sizeof(page));
	close(fd);
	site_select(site, "nothing", NULL);
	assert_int_equal(utimensat(AT_FDCWD, SITE_DATABASE, NULL, 0), 0);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
}

static void test_database_truncated_while_open(void **state)
{
	struct site *site = *state;

	open_large(site);
	assert_int_equal(truncate(SITE_DATABASE, 8192), 0);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
}

static void test_environment_removed_and_restored(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_int_equal(rename("venv", "away"), 0);
	assert_string_equal(site_select(site, "g", NULL), "");
	assert_int_equal(rename("away", "venv"), 0);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
}

static void test_database_writable_by_all(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	site_select(site, "g", NULL);
	assert_int_equal(chmod(site_path(site, SITE_DATABASE), 0666), 0);
	check_without_database(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	check_without_database(site);
	site_open(site, &trusting, SITE_PACKAGES, NULL); /* trusts the owner, not all users */
	check_without_database(site);
	assert_int_equal(chmod(site_path(site, SITE_DATABASE), 0644), 0);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	site_select(site, "g", NULL);
	assert_non_null(database_of(site, 0));
}

static void test_database_of_another_user(void **state)
{
	struct site *site = *state;

	if (geteuid() != 0)
		skip(); /* only root can give files away */
	add(site, "a-1.dist-info", one);
	update(site);
	assert_int_equal(chown(site_path(site, SITE_DATABASE), 12345, (gid_t)-1), 0);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	check_without_database(site);
	assert_int_equal(chown(site_path(site, SITE_PACKAGES), 12345, (gid_t)-1), 0);
	site_open(site, NULL, SITE_PACKAGES, NULL); /* the owner of the environment wrote it */
	site_select(site, "g", NULL);
	assert_non_null(database_of(site, 0));
}

/* --- a file that is named --- */

static void test_option_database(void **state)
{
	struct site *site = *state;
	entrydb_options options = trusting;

	options.database = site_path(site, NAMED);
	add(site, "a-1.dist-info", one);
	site_open(site, &options, SITE_PACKAGES, NULL); /* it may be missing */
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	site_run(site, "update", "--db", options.database, site_path(site, "venv"), NULL);
	site_open(site, &options, SITE_PACKAGES, NULL);
	add(site, "b-1.dist-info", two);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_string_equal(database_of(site, 0), options.database);
	site_open(site, &trusting, SITE_PACKAGES, NULL); /* the environment has no database */
	assert_null(database_of(site, 0));
}

static void refuse_named(struct site *site, int code)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	const char *path = site_path(site, SITE_PACKAGES);

	options.database = site_path(site, NAMED);
	site_close(site);
	assert_int_equal(entrydb_open(&path, 1, &options, &site->db, &site->error), code);
	assert_null(site->db);
	assert_non_null(strstr(entrydb_error_message(&site->error), NAMED));
	assert_int_equal(entrydb_open_file(options.database, NULL, &site->db, &site->error), code);
	assert_null(site->db);
	assert_non_null(strstr(entrydb_error_message(&site->error), NAMED));
}

static void test_invalid_named_database(void **state)
{
	struct site *site = *state;

	site_write(site, NAMED, "no database at all, and long enough not to be taken for one");
	refuse_named(site, ENTRYDB_EFORMAT);
	site_write(site, NAMED, "");
	refuse_named(site, ENTRYDB_EFORMAT);
	site_remove(site, NAMED);
	add(site, "a-1.dist-info", one);
	site_run(site, "update", "--db", site_path(site, NAMED), site_path(site, "venv"), NULL);
	assert_int_equal(chmod(site_path(site, NAMED), 0666), 0);
	refuse_named(site, ENTRYDB_EPERMISSION);
	site_remove(site, NAMED);
	assert_int_equal(mkdir(site_path(site, NAMED), 0755), 0);
	refuse_named(site, ENTRYDB_EFORMAT);
}

/* A database of another program, by its application_id in bytes 68 to 71. */
static void test_foreign_database(void **state)
{
	struct site *site = *state;
	int fd;

	add(site, "a-1.dist-info", one);
	site_run(site, "update", "--db", site_path(site, NAMED), site_path(site, "venv"), NULL);
	fd = open(site_path(site, NAMED), O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "GPKG", 4, 68), 4);
	close(fd);
	refuse_named(site, ENTRYDB_EFORMAT);
}

static void test_open_file(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	site_distribution(site, OLD, "a-2.dist-info", "some", "2", two);
	site_run(site, "update", "--db", site_path(site, NAMED), site_path(site, SITE_PACKAGES),
	         site_path(site, OLD), NULL);
	assert_int_equal(entrydb_open_file(NAMED, NULL, &site->db, &site->error), 0);
	site_state(site, 0);
	assert_int_equal(entrydb_path_count(site->described), 2);
	assert_string_equal(path_of(site, 1), site_path(site, OLD));
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_string_equal(site_explain(site, "g", "two"), "two=m@a-2.dist-info<a-1.dist-info");
	assert_string_equal(entrydb_entry_point_path(entrydb_set_get(site->set, 0)),
	                    site_path(site, OLD));
	site_close(site);
	update(site);
	assert_int_equal(entrydb_open_file(SITE_DATABASE, NULL, &site->db, &site->error), 0);
	assert_int_equal(chdir("/"), 0);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_string_equal(path_of(site, 0), site_path(site, SITE_PACKAGES));
}

static void test_environment_moved(void **state)
{
	struct site *site = *state;

	add(site, "a-1.dist-info", one);
	update(site);
	assert_int_equal(rename(site_path(site, "venv"), site_path(site, "moved")), 0);
	site_open(site, &trusting, "moved/lib/python3.12/site-packages", NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
}

/* --- another file-system root --- */

/* Names are not read if they are to be omitted, unless rules may refer to them. */
static void test_option_omit(void **state)
{
	struct site *site = *state;
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.omit = ENTRYDB_OMIT_METADATA;
	add(site, "a-1.dist-info", one);
	site_open(site, &options, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	assert_null(entrydb_entry_point_distribution(entrydb_set_get(site->set, 0)));
	setenv("ENTRYDB_DISABLE", "other-group", 1);
	site_open(site, &options, SITE_PACKAGES, NULL);
	entrydb_set_free(site->set);
	site->set = NULL;
	assert_int_equal(entrydb_select_allowed(site->db, "g", NULL, &site->set, &site->error), 0);
	assert_int_equal(entrydb_set_count(site->set), 1);
	assert_string_equal(entrydb_entry_point_distribution(entrydb_set_get(site->set, 0)),
	                    "some");
	unsetenv("ENTRYDB_DISABLE");
	update(site);
	site_open(site, &options, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
	options.omit = 2;
	site_close(site);
	assert_int_equal(entrydb_open(NULL, 0, &options, &site->db, &site->error), ENTRYDB_EINVAL);
}

static void test_option_sysroot(void **state)
{
	static const char *const path[] = {"/usr/lib/python3/dist-packages"};
	struct site *site = *state;
	entrydb_options options = trusting;
	const char *packages = "image/usr/lib/python3/dist-packages";
	const char *expected;
	void *symbol;

	options.sysroot = site_path(site, "image");
	site_distribution(site, packages, "a-1.dist-info", "a", "1", one);
	for (int round = 0; round < 2; round++) {
		site_close(site);
		assert_int_equal(entrydb_open(path, 1, &options, &site->db, &site->error), 0);
		assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
		assert_string_equal(entrydb_entry_point_path(entrydb_set_get(site->set, 0)),
		                    path[0]);
		expected = site_text(site, "%s/a-1.dist-info", site_path(site, packages));
		assert_string_equal(entrydb_entry_point_file(entrydb_set_get(site->set, 0)),
		                    expected);
		site_run(site, "update", "--root", options.sysroot, NULL);
	}
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH); /* in the second round */
	assert_string_equal(database_of(site, 0),
	                    site_path(site, "image/var/lib/entrydb/entry_points.db"));
	assert_int_equal(
	        entrydb_load(site->db, entrydb_set_get(site->set, 0), &symbol, &site->error),
	        ENTRYDB_EINVAL);
}

/* Links mean what they mean in there, and lead nowhere else. */
static void test_option_sysroot_links(void **state)
{
	static const char *const path[] = {"/usr/lib/python3/dist-packages"};
	struct site *site = *state;
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	const char *packages = site_path(site, "image/usr/lib/python3/dist-packages");
	const char *file = site_text(site, "%s/a-1.dist-info/entry_points.txt", packages);

	options.sysroot = site_path(site, "image");
	site_distribution(site, "image/usr/lib/python3/dist-packages", "a-1.dist-info", "a", "1",
	                  one);
	assert_int_equal(rename(file, site_path(site, "image/inside.txt")), 0);
	for (int is_inside = 0; is_inside < 2; is_inside++) {
		unlink(file);
		assert_int_equal(
		        symlink(is_inside ? "/inside.txt" : site_path(site, "image/inside.txt"),
		                file),
		        0);
		site_close(site);
		assert_int_equal(entrydb_open(path, 1, &options, &site->db, &site->error), 0);
		assert_string_equal(site_select(site, "g", NULL),
		                    is_inside ? "one=m@a-1.dist-info" : "");
	}
}

static void test_option_sysroot_default_path(void **state)
{
	struct site *site = *state;
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.sysroot = "image"; /* relative to the current directory */
	site_distribution(site, "image/usr/lib/python3/dist-packages", "a-1.dist-info", "a", "1",
	                  one);
	assert_int_equal(entrydb_open(NULL, 0, &options, &site->db, &site->error), 0);
	assert_string_equal(site_select(site, "g", NULL), "one=m@a-1.dist-info");
}

RUN_TESTS(SITE_TEST(test_states), SITE_TEST(test_other_permissions), SITE_TEST(test_exact),
          SITE_TEST(test_trust), SITE_TEST(test_fresh_by_environment),
          SITE_TEST(test_database_appears), SITE_TEST(test_database_replaced),
          SITE_TEST(test_database_deleted), SITE_TEST(test_database_replaced_by_garbage),
          SITE_TEST(test_database_overwritten_while_open),
          SITE_TEST(test_database_truncated_while_open),
          SITE_TEST(test_environment_removed_and_restored),
          SITE_TEST(test_database_writable_by_all), SITE_TEST(test_database_of_another_user),
          SITE_TEST(test_option_database), SITE_TEST(test_invalid_named_database),
          SITE_TEST(test_foreign_database), SITE_TEST(test_open_file),
          SITE_TEST(test_environment_moved), SITE_TEST(test_option_omit),
          SITE_TEST(test_option_sysroot), SITE_TEST(test_option_sysroot_links),
          SITE_TEST(test_option_sysroot_default_path))

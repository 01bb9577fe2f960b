/*
 * test_survey.c - the survey of all distributions of a handle, and the generation number that tells
 * whether it is still current.
 */
#include "site.h"

#define OTHER "other/lib/python3.12/site-packages"

static const char one[] = "[g]\none = m\n[h]\nmore = m:f [x]\n", two[] = "[g]\ntwo = m\n";
static const char broken[] = "[g]\nno equals sign\n";

static void survey(struct site *site)
{
	entrydb_set_free(site->set);
	site->set = NULL;
	assert_int_equal(entrydb_survey(site->db, &site->set, &site->error), 0);
}

static unsigned long long refresh(struct site *site)
{
	unsigned long long number;

	assert_int_equal(entrydb_refresh(site->db, &number, &site->error), 0);
	return number;
}

static const entrydb_distribution *find(struct site *site, const char *directory)
{
	for (size_t i = 0; i < entrydb_set_distribution_count(site->set); i++) {
		const entrydb_distribution *found = entrydb_set_distribution(site->set, i);

		if (strcmp(strrchr(entrydb_distribution_file(found), '/') + 1, directory) == 0)
			return found;
	}
	fail_msg("no %s", directory);
	return NULL;
}

/* Two path entries with a distribution "same": the second is shadowed, but listed. */
static void make_distributions(struct site *site)
{
	site_distribution(site, SITE_PACKAGES, "same-1.dist-info", "same", "1", one);
	site_distribution(site, SITE_PACKAGES, "none-1.dist-info", "none", NULL, "");
	site_distribution(site, SITE_PACKAGES, "bad-1.dist-info", "bad", "1", broken);
	site_distribution(site, OTHER, "same-2.dist-info", "same", "2", two);
	site_open(site, NULL, SITE_PACKAGES, OTHER, NULL);
}

static void check_distributions(struct site *site)
{
	const entrydb_distribution *found;

	survey(site);
	assert_int_equal(entrydb_set_distribution_count(site->set), 4);
	assert_null(entrydb_set_distribution(site->set, 4));
	assert_int_equal(entrydb_set_count(site->set), 3);
	found = find(site, "same-1.dist-info");
	assert_string_equal(entrydb_distribution_path(found), site_path(site, SITE_PACKAGES));
	assert_string_equal(entrydb_distribution_name(found), "same");
	assert_string_equal(entrydb_distribution_version(found), "1");
	assert_null(entrydb_distribution_problem(found));
	assert_int_equal(entrydb_distribution_count(found), 2);
	assert_string_equal(entrydb_entry_point_name(entrydb_distribution_get(found, 0)), "one");
	assert_string_equal(entrydb_entry_point_extras(entrydb_distribution_get(found, 1)), "x");
	assert_string_equal(entrydb_entry_point_file(entrydb_distribution_get(found, 1)),
	                    entrydb_distribution_file(found));
	assert_int_equal(entrydb_distribution_count(find(site, "none-1.dist-info")), 0);
	assert_null(entrydb_distribution_version(find(site, "none-1.dist-info")));
	assert_int_equal(entrydb_distribution_count(find(site, "bad-1.dist-info")), 0);
	assert_non_null(entrydb_distribution_problem(find(site, "bad-1.dist-info")));
	found = find(site, "same-2.dist-info");
	assert_string_equal(entrydb_entry_point_value(entrydb_distribution_get(found, 0)), "m");
	assert_null(entrydb_distribution_get(found, 1));
}

static void test_survey(void **state)
{
	struct site *site = *state;

	make_distributions(site);
	check_distributions(site); /* from a scan */
	site_sleep(SITE_SETTLED);
	site_run(site, "update", site_path(site, "venv"), site_path(site, "other"), NULL);
	check_distributions(site); /* from the databases */
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
}

/* The directory found by a name; "" if there is none. */
static const char *found_by(struct site *site, const char *name)
{
	const entrydb_distribution *found;

	entrydb_set_free(site->set);
	site->set = NULL;
	assert_int_equal(entrydb_find(site->db, name, &site->set, &site->error), 0);
	found = entrydb_set_distribution(site->set, 0);
	return found ? strrchr(entrydb_distribution_file(found), '/') + 1 : "";
}

static void check_names(struct site *site)
{
	assert_string_equal(found_by(site, "same"), "same-1.dist-info");
	assert_string_equal(found_by(site, "A-.Name"), "a_name-1.dist-info");
	assert_string_equal(found_by(site, "loud"), "Loud-1.DIST-INFO");
	assert_string_equal(found_by(site, "other"), "");
	assert_string_equal(found_by(site, ""), "");
	assert_string_equal(found_by(site, "\u03b1\u03c3.b"), "\u0391\u03a3.b-1.dist-info");
	assert_string_equal(found_by(site, "-"), "...dist-info");
}

/* By the name of the directory, whatever METADATA says; the first on the path. */
static void test_find(void **state)
{
	struct site *site = *state;

	make_distributions(site);
	site_distribution(site, OTHER, "a_name-1.dist-info", "other", "1", one);
	site_distribution(site, OTHER, "Loud-1.DIST-INFO", "other", "1", one);
	site_distribution(site, OTHER, "\u0391\u03a3.b-1.dist-info", "other", "1", one);
	site_distribution(site, OTHER, "...dist-info", "other", "1", one);
	check_names(site);
	site_sleep(SITE_SETTLED);
	site_run(site, "update", site_path(site, "venv"), site_path(site, "other"), NULL);
	check_names(site);
	site_remove(site, SITE_PACKAGES "/same-1.dist-info");
	assert_string_equal(found_by(site, "same"), "same-2.dist-info");
}

static void test_metadata(void **state)
{
	static const char file[] = SITE_PACKAGES "/same-1.dist-info";
	struct site *site = *state;
	char *name = NULL, *version = NULL;

	make_distributions(site);
	assert_int_equal(
	        entrydb_read_metadata(site_path(site, file), &name, &version, &site->error), 0);
	assert_string_equal(name, "same");
	assert_string_equal(version, "1");
	free(name);
	free(version);
	site_write(site, SITE_PACKAGES "/same-1.dist-info/METADATA", "Name: n\nVersion: \n\n\xff");
	assert_int_equal(
	        entrydb_read_metadata(site_path(site, file), &name, &version, &site->error),
	        ENTRYDB_EFORMAT);
	site_remove(site, file);
	assert_int_equal(
	        entrydb_read_metadata(site_path(site, file), &name, &version, &site->error),
	        ENTRYDB_ENOTFOUND);
}

/* A shadowed distribution, of which nothing was read, becomes visible. */
static void test_no_longer_shadowed(void **state)
{
	struct site *site = *state;

	make_distributions(site);
	site_remove(site, SITE_PACKAGES "/bad-1.dist-info");
	site_sleep(SITE_SETTLED);
	assert_string_equal(site_select(site, "g", NULL), "one=m@same-1.dist-info");
	site_remove(site, SITE_PACKAGES "/same-1.dist-info");
	assert_string_equal(site_select(site, "g", NULL), "two=m@same-2.dist-info");
	site_distribution(site, SITE_PACKAGES, "same-3.dist-info", "same", "3", one);
	assert_string_equal(site_select(site, "g", NULL), "one=m@same-3.dist-info");
	assert_string_equal(site_explain(site, "g", NULL),
	                    "one=m@same-3.dist-info two=m@same-2.dist-info<same-3.dist-info");
}

/* A broken entry_points.txt that is shadowed causes no error, but is listed. */
static void test_shadowed_and_broken(void **state)
{
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "same-1.dist-info", "same", "1", one);
	site_distribution(site, OTHER, "same-2.dist-info", "same", "2", broken);
	site_open(site, NULL, SITE_PACKAGES, OTHER, NULL);
	assert_string_equal(site_select(site, "g", NULL), "one=m@same-1.dist-info");
	assert_int_equal(entrydb_set_problem_count(site->set), 0);
	survey(site);
	assert_non_null(entrydb_distribution_problem(find(site, "same-2.dist-info")));
	assert_string_equal(site_select(site, "g", NULL), "one=m@same-1.dist-info");
	site_remove(site, SITE_PACKAGES "/same-1.dist-info");
	site_select(site, "g", NULL);
	assert_int_equal(entrydb_set_problem_count(site->set), 1);
}

static void test_entries_lead_to_targets(void **state)
{
	struct site *site = *state;

	make_distributions(site);
	survey(site);
	assert_int_equal(entrydb_resolve(site->db, entrydb_set_get(site->set, 0), &site->target,
	                                 &site->error),
	                 0);
	assert_int_equal(entrydb_target_kind(site->target),
	                 ENTRYDB_KIND_UNRESOLVED); /* there is no module m */
}

static void test_refresh(void **state)
{
	struct site *site = *state;
	unsigned long long scanned, indexed;

	make_distributions(site);
	site_sleep(SITE_SETTLED);
	scanned = refresh(site);
	assert_true(refresh(site) == scanned);
	site_run(site, "update", site_path(site, "venv"), site_path(site, "other"), NULL);
	indexed = refresh(site);
	assert_true(indexed != scanned);
	assert_true(refresh(site) == indexed);
	site_select(site, "g", NULL);
	assert_true(refresh(site) == indexed);
	site_remove(site, OTHER "/same-2.dist-info");
	assert_true(refresh(site) != indexed);
}

RUN_TESTS(SITE_TEST(test_survey), SITE_TEST(test_find), SITE_TEST(test_metadata),
          SITE_TEST(test_no_longer_shadowed), SITE_TEST(test_shadowed_and_broken),
          SITE_TEST(test_entries_lead_to_targets), SITE_TEST(test_refresh))

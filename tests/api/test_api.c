/*
 * test_api.c - the public functions as used by a program: opening, selecting, order, shadowing, and
 * output parameters. Linked with the shared library and no other part of the project.
 */
#include "site.h"

#include <dirent.h>
#include <sys/stat.h>

#define OLD "old/lib/python3.12/site-packages"

static void *const untouched = &(char){0};

/* --- small things --- */

static void test_version(void **state)
{
	assert_string_equal(entrydb_version(), ENTRYDB_VERSION);
}

static void test_null_is_accepted(void **state)
{
	entrydb_close(NULL);
	entrydb_set_free(NULL);
	entrydb_target_free(NULL);
	entrydb_path_free(NULL);
	entrydb_verdict_free(NULL);
	entrydb_error_clear(NULL);
}

static void test_rules_parse(void **state)
{
	static const struct {
		const char *text;
		int code;
		enum entrydb_rules rules;
	} rows[] = {
	        {"3.10", 0, ENTRYDB_PYTHON_3_10},  {"3.11", 0, ENTRYDB_PYTHON_3_10},
	        {"3.12", 0, ENTRYDB_PYTHON_3_12},  {"3.13", 0, ENTRYDB_PYTHON_3_12},
	        {"3.100", 0, ENTRYDB_PYTHON_3_12}, {"im10", 0, ENTRYDB_IM_10_1},
	        {"3.9", ENTRYDB_EINVAL, 0},        {"3", ENTRYDB_EINVAL, 0},
	        {"3.", ENTRYDB_EINVAL, 0},         {"3.12x", ENTRYDB_EINVAL, 0},
	        {"3.-12", ENTRYDB_EINVAL, 0},      {"4.12", ENTRYDB_EINVAL, 0},
	        {"im", ENTRYDB_EINVAL, 0},         {"", ENTRYDB_EINVAL, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		enum entrydb_rules rules = ENTRYDB_RULES_DEFAULT;

		assert_int_equal(entrydb_rules_parse(rows[i].text, &rules), rows[i].code);
		assert_int_equal(rules, rows[i].rules);
	}
}

static void test_fresh_parse(void **state)
{
	static const char *const names[] = {"trust", "roots", "exact"};
	enum entrydb_fresh fresh = ENTRYDB_FRESH_DEFAULT;

	assert_int_equal(entrydb_fresh_parse("", &fresh), ENTRYDB_EINVAL);
	assert_int_equal(entrydb_fresh_parse("Trust", &fresh), ENTRYDB_EINVAL);
	assert_int_equal(fresh, ENTRYDB_FRESH_DEFAULT);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(entrydb_fresh_parse(names[i], &fresh), 0);
		assert_int_equal(fresh, ENTRYDB_FRESH_TRUST + i);
	}
}

static void test_names(void **state)
{
	assert_string_equal(entrydb_kind_name(ENTRYDB_KIND_UNRESOLVED), "unresolved");
	assert_string_equal(entrydb_kind_name(ENTRYDB_KIND_PYTHON), "python");
	assert_string_equal(entrydb_kind_name(ENTRYDB_KIND_NATIVE), "native");
	assert_string_equal(entrydb_kind_name(ENTRYDB_KIND_EXTENSION), "extension");
	assert_string_equal(entrydb_kind_name(ENTRYDB_KIND_BUNDLED), "bundled");
	assert_string_equal(entrydb_kind_name((enum entrydb_kind)99), "unknown");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_OK), "ok");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_MISSING), "missing");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_NO_SYMBOL), "no-symbol");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_AMBIGUOUS), "ambiguous");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_UNRESOLVED_EDITABLE),
	                    "unresolved-editable");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_WRONG_ARCHITECTURE),
	                    "wrong-architecture");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_MISSING_DEPENDENCY),
	                    "missing-dependency");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_NEEDS_HOST), "needs-host");
	assert_string_equal(entrydb_state_name(ENTRYDB_STATE_NOT_EXAMINED), "not-examined");
	assert_string_equal(entrydb_state_name((enum entrydb_state)99), "unknown");
	assert_string_equal(entrydb_path_state_name(ENTRYDB_PATH_ABSENT), "absent");
	assert_string_equal(entrydb_path_state_name(ENTRYDB_PATH_FRESH), "fresh");
	assert_string_equal(entrydb_path_state_name(ENTRYDB_PATH_CHECKED), "checked");
	assert_string_equal(entrydb_path_state_name(ENTRYDB_PATH_SCANNED), "scanned");
	assert_string_equal(entrydb_path_state_name((enum entrydb_path_state)99), "unknown");
}

static void test_errors(void **state)
{
	struct site *site = *state;

	assert_string_equal(entrydb_error_message(&site->error), "no error");
	site->db = untouched;
	assert_int_equal(entrydb_open_file("/no/such/file", NULL, &site->db, &site->error),
	                 ENTRYDB_ENOTFOUND);
	assert_ptr_equal(site->db, untouched);
	assert_int_equal(site->error.code, ENTRYDB_ENOTFOUND);
	assert_non_null(strstr(entrydb_error_message(&site->error), "/no/such/file"));
	assert_null(strchr(entrydb_error_message(&site->error), '\n'));
	entrydb_error_clear(&site->error);
	assert_int_equal(site->error.code, 0);
	assert_null(site->error.message);
	assert_int_equal(entrydb_open_file("/no/such/file", NULL, &site->db, NULL),
	                 ENTRYDB_ENOTFOUND);
	assert_ptr_equal(site->db, untouched);
	site->db = NULL;
}

/* --- opening --- */

static void refuse_options(struct site *site, const entrydb_options *options)
{
	site->db = untouched;
	assert_int_equal(entrydb_open(NULL, 0, options, &site->db, &site->error), ENTRYDB_EINVAL);
	assert_ptr_equal(site->db, untouched);
	site->db = NULL;
	assert_non_null(strstr(entrydb_error_message(&site->error), "ENTRYDB_OPTIONS_INIT"));
}

static void test_options(void **state)
{
	struct site *site = *state;
	struct {
		entrydb_options options;
		char more[16];
	} newer = {ENTRYDB_OPTIONS_INIT, ""};
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.size = 0;
	refuse_options(site, &options);
	options.size = sizeof(options) - 1;
	refuse_options(site, &options);
	options = (entrydb_options)ENTRYDB_OPTIONS_INIT;
	options.rules = (enum entrydb_rules)99;
	refuse_options(site, &options);
	options = (entrydb_options)ENTRYDB_OPTIONS_INIT;
	options.fresh = (enum entrydb_fresh)99;
	refuse_options(site, &options);
	newer.options.size = sizeof(newer);
	assert_int_equal(entrydb_open(NULL, 0, &newer.options, &site->db, &site->error), 0);
	site_close(site);
	newer.more[3] = 1; /* an option that this library does not know */
	refuse_options(site, &newer.options);
}

static void test_missing_path(void **state)
{
	struct site *site = *state;
	entrydb_path *path = untouched;

	site_write(site, "text", "neither a directory nor a zip");
	site_open(site, NULL, "absent", "text", "absent.zip", NULL);
	assert_string_equal(site_select(site, NULL, NULL), "");
	assert_int_equal(entrydb_set_count(site->set), 0);
	assert_null(entrydb_set_get(site->set, 0));
	assert_int_equal(entrydb_set_problem_count(site->set), 0);
	assert_null(entrydb_set_problem(site->set, 0));
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_ABSENT);
	assert_int_equal(entrydb_path_count(site->described), 3);
	assert_null(entrydb_path_get(site->described, 3));
	site_open(site, NULL, NULL);
	assert_int_equal(entrydb_describe_path(site->db, &path, &site->error), 0);
	assert_int_equal(entrydb_path_count(path), 0);
	assert_null(entrydb_path_get(path, 0));
	entrydb_path_free(path);
	assert_string_equal(site_select(site, "g", "n"), "");
}

static void test_missing_directory_appears(void **state)
{
	struct site *site = *state;

	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", NULL), "");
	site_distribution(site, SITE_PACKAGES, "a-1.dist-info", "a", "1", "[g]\nn = m:a\n");
	assert_string_equal(site_select(site, "g", NULL), "n=m:a@a-1.dist-info");
	site_remove(site, SITE_PACKAGES);
	assert_string_equal(site_select(site, "g", NULL), "");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_ABSENT);
}

static void test_default_path(void **state)
{
	struct site *site = *state;

	site_distribution(site, "one", "a-1.dist-info", "a", "1", "[g]\nn = one\n");
	site_distribution(site, SITE_PACKAGES, "b-1.dist-info", "b", "1", "[g]\nn = two\n");
	setenv("VIRTUAL_ENV", site_path(site, "venv"), 1);
	assert_int_equal(entrydb_open(NULL, 0, NULL, &site->db, &site->error), 0);
	assert_string_equal(site_select(site, "g", NULL), "n=two@b-1.dist-info");
	site_close(site);
	setenv("ENTRYDB_PATH", site_text(site, "/absent:%s/one", site->top), 1);
	assert_int_equal(entrydb_open(NULL, 0, NULL, &site->db, &site->error), 0);
	site_state(site, 0);
	assert_int_equal(entrydb_path_count(site->described), 2);
	assert_string_equal(site_select(site, "g", NULL), "n=one@a-1.dist-info");
}

/* --- selecting --- */

static const char three_groups[] = "[z]\nn = z:1\nm = z:2\n[a]\nn = a:1\n[z]\nn = z:3\n";

static void check_three_groups(struct site *site)
{
	assert_string_equal(site_select(site, "z", NULL),
	                    "n=z:1@d-1.dist-info m=z:2@d-1.dist-info n=z:3@d-1.dist-info");
	assert_string_equal(site_select(site, "z", "n"), "n=z:1@d-1.dist-info n=z:3@d-1.dist-info");
	assert_string_equal(site_select(site, NULL, "n"),
	                    "n=z:1@d-1.dist-info n=a:1@d-1.dist-info n=z:3@d-1.dist-info");
	assert_string_equal(site_select(site, NULL, NULL),
	                    "n=z:1@d-1.dist-info m=z:2@d-1.dist-info n=a:1@d-1.dist-info "
	                    "n=z:3@d-1.dist-info");
	assert_string_equal(site_select(site, "Z", NULL), "");
	assert_string_equal(site_select(site, "", NULL), "");
}

static void test_select(void **state)
{
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "d-1.dist-info", "d", "1", three_groups);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	check_three_groups(site);
	site_run(site, "update", site_path(site, "venv"), NULL);
	check_three_groups(site);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	check_three_groups(site);
}

static void test_groups_sorted_before_3_12(void **state)
{
	struct site *site = *state;
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.rules = ENTRYDB_PYTHON_3_10;
	site_distribution(site, SITE_PACKAGES, "d-1.dist-info", "d", "1", three_groups);
	for (int round = 0; round < 2; round++) {
		site_open(site, &options, SITE_PACKAGES, NULL);
		assert_string_equal(site_select(site, NULL, NULL),
		                    "n=a:1@d-1.dist-info n=z:1@d-1.dist-info m=z:2@d-1.dist-info "
		                    "n=z:3@d-1.dist-info");
		site_run(site, "update", site_path(site, "venv"), NULL);
	}
}

static void check_field(const entrydb_entry_point *entry, enum entrydb_field field,
                        const char *byname, const char *expected)
{
	size_t length = 99;
	const char *text = entrydb_entry_point_text(entry, field, &length);

	assert_ptr_equal(text, byname);
	assert_ptr_equal(entrydb_entry_point_text(entry, field, NULL), text);
	if (!expected) {
		assert_null(text);
		assert_int_equal(length, 0);
		return;
	}
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
}

static void check_fields(struct site *site, const char *value, const char *const parts[3])
{
	const entrydb_entry_point *e = entrydb_set_get(site->set, 0);

	assert_non_null(e);
	check_field(e, ENTRYDB_FIELD_GROUP, entrydb_entry_point_group(e), "g");
	check_field(e, ENTRYDB_FIELD_NAME, entrydb_entry_point_name(e), "n");
	check_field(e, ENTRYDB_FIELD_VALUE, entrydb_entry_point_value(e), value);
	check_field(e, ENTRYDB_FIELD_MODULE, entrydb_entry_point_module(e), parts[0]);
	check_field(e, ENTRYDB_FIELD_ATTR, entrydb_entry_point_attr(e), parts[1]);
	check_field(e, ENTRYDB_FIELD_EXTRAS, entrydb_entry_point_extras(e), parts[2]);
	check_field(e, ENTRYDB_FIELD_DISTRIBUTION, entrydb_entry_point_distribution(e), "The.Name");
	check_field(e, ENTRYDB_FIELD_VERSION, entrydb_entry_point_version(e), "1.0");
	check_field(e, ENTRYDB_FIELD_PATH, entrydb_entry_point_path(e),
	            site_path(site, SITE_PACKAGES));
	check_field(e, ENTRYDB_FIELD_FILE, entrydb_entry_point_file(e),
	            site_path(site, SITE_PACKAGES "/the_name-1.0.dist-info"));
	check_field(e, ENTRYDB_FIELD_SHADOWED_BY, entrydb_entry_point_shadowed_by(e), NULL);
	assert_null(entrydb_entry_point_text(e, (enum entrydb_field)99, NULL));
	assert_null(entrydb_entry_point_text(e, (enum entrydb_field) - 1, NULL));
}

static void test_fields(void **state)
{
	static const struct {
		const char *value, *parts[3];
	} rows[] = {
	        {"m.n:a.b [x, y-z]", {"m.n", "a.b", "x,y,z"}},
	        {"m", {"m", NULL, NULL}},
	        {"m []", {"m", NULL, NULL}},
	        {"not a value", {NULL, NULL, NULL}},
	        {"", {NULL, NULL, NULL}},
	};
	struct site *site = *state;

	for (size_t i = 0; i < 2 * COUNT(rows); i++) { /* unindexed, and indexed */
		const char *value = rows[i / 2].value;

		site_distribution(site, SITE_PACKAGES, "the_name-1.0.dist-info", "The.Name", "1.0",
		                  site_text(site, "[g]\nn = %s\n", value));
		if (i % 2)
			site_run(site, "update", "--fresh", "exact", site_path(site, "venv"), NULL);
		site_open(site, NULL, SITE_PACKAGES, NULL);
		site_select(site, "g", "n");
		check_fields(site, value, rows[i / 2].parts);
	}
}

static void test_no_metadata(void **state)
{
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "a-1.dist-info", "a", NULL, "[g]\nn = m\n");
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_string_equal(site_select(site, "g", "n"), "n=m@a-1.dist-info");
	assert_null(entrydb_entry_point_distribution(entrydb_set_get(site->set, 0)));
	assert_null(entrydb_entry_point_version(entrydb_set_get(site->set, 0)));
}

static void check_bytes(struct site *site, enum entrydb_field field, const char *bytes,
                        size_t length)
{
	size_t found;
	const char *text = entrydb_entry_point_text(entrydb_set_get(site->set, 0), field, &found);

	assert_int_equal(found, length);
	assert_memory_equal(text, bytes, length + 1);
}

static void test_embedded_nul(void **state)
{
	static const char text[] = "[g\0h]\nn\0x = m:a\0b\n";
	static const entrydb_options trusting = {
	        sizeof(trusting), 0, ENTRYDB_FRESH_TRUST, NULL, NULL, NULL, 0};
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "a-1.dist-info", "a", "1", "");
	site_write_bytes(site, SITE_PACKAGES "/a-1.dist-info/entry_points.txt", text,
	                 sizeof(text) - 1);
	for (int round = 0; round < 2; round++) {
		site_open(site, round ? &trusting : NULL, SITE_PACKAGES, NULL);
		site_select(site, NULL, NULL);
		assert_int_equal(entrydb_set_count(site->set), 1);
		check_bytes(site, ENTRYDB_FIELD_GROUP, "g\0h", 3);
		check_bytes(site, ENTRYDB_FIELD_NAME, "n\0x", 3);
		check_bytes(site, ENTRYDB_FIELD_VALUE, "m:a\0b", 5);
		assert_null(entrydb_entry_point_module(entrydb_set_get(site->set, 0)));
		site_run(site, "update", site_path(site, "venv"), NULL);
	}
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
}

static void test_set_outlives_handle(void **state)
{
	struct site *site = *state;
	const entrydb_entry_point *entry;

	site_distribution(site, SITE_PACKAGES, "a-1.dist-info", "a", "1", "[g]\nn = m:a [x]\n");
	site_write(site, SITE_PACKAGES "/b-1.dist-info/entry_points.txt", "[g]\nno value\n");
	site_run(site, "update", site_path(site, "venv"), NULL);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	site_select(site, NULL, NULL);
	site_close(site);
	site_remove(site, "venv");
	entry = entrydb_set_get(site->set, 0);
	assert_string_equal(entrydb_entry_point_extras(entry), "x");
	assert_string_equal(entrydb_entry_point_version(entry), "1");
	assert_string_equal(entrydb_entry_point_path(entry), site_path(site, SITE_PACKAGES));
	assert_non_null(strstr(entrydb_set_problem(site->set, 0), "b-1.dist-info"));
}

static void test_problems(void **state)
{
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "a-1.dist-info", "a", "1", "[g]\nn = m\n");
	site_distribution(site, SITE_PACKAGES, "b-1.dist-info", "b", "1", "[g]\nn = m\nno value\n");
	site_distribution(site, OLD, "c-1.dist-info", "c", "1", "[g]\nn = \xff\n");
	site_distribution(site, OLD, "B-0.dist-info", "b", "0", "[g]\nno value\n"); /* shadowed */
	for (int round = 0; round < 2; round++) {
		site_open(site, NULL, SITE_PACKAGES, OLD, NULL);
		assert_string_equal(site_select(site, "g", NULL), "n=m@a-1.dist-info");
		assert_int_equal(entrydb_set_problem_count(site->set), 2);
		assert_ptr_equal(strstr(entrydb_set_problem(site->set, 0),
		                        site_path(site, SITE_PACKAGES "/b-1.dist-info: ")),
		                 entrydb_set_problem(site->set, 0));
		assert_ptr_equal(strstr(entrydb_set_problem(site->set, 1),
		                        site_path(site, OLD "/c-1.dist-info: ")),
		                 entrydb_set_problem(site->set, 1));
		assert_null(entrydb_set_problem(site->set, 2));
		site_run(site, "update", site_path(site, "venv"), site_path(site, "old"), NULL);
	}
}

/* --- shadowing --- */

/* The child of @where that readdir() returns first of @a and @b. */
static const char *first_of(struct site *site, const char *where, const char *a, const char *b)
{
	DIR *directory = opendir(site_path(site, where));
	const char *first = NULL;
	struct dirent *child;

	assert_non_null(directory);
	while (!first && (child = readdir(directory)))
		first = strcmp(child->d_name, a) == 0   ? a
		        : strcmp(child->d_name, b) == 0 ? b
		                                        : NULL;
	closedir(directory);
	assert_non_null(first);
	return first;
}

static void test_shadowing_within(void **state)
{
	struct site *site = *state;
	const char *one = "My.Pkg-1.dist-info", *two = "my_pkg-2.egg-info";
	const char *first, *second;

	site_distribution(site, SITE_PACKAGES, one, "my-pkg", "1", "[g]\nn = m\n");
	site_distribution(site, SITE_PACKAGES, two, "my-pkg", "2", "[g]\nn = m\n");
	first = first_of(site, SITE_PACKAGES, one, two);
	second = first == one ? two : one;
	for (int round = 0; round < 2; round++)
		for (int rules = ENTRYDB_PYTHON_3_10; rules <= ENTRYDB_IM_10_1; rules++) {
			entrydb_options options = ENTRYDB_OPTIONS_INIT;

			options.rules = (enum entrydb_rules)rules;
			site_open(site, &options, SITE_PACKAGES, NULL);
			assert_string_equal(site_select(site, "g", NULL),
			                    site_text(site, "n=m@%s", first));
			assert_string_equal(
			        site_explain(site, "g", NULL),
			        site_text(site, "n=m@%s n=m@%s<%s", first, second, first));
			site_run(site, "update", site_path(site, "venv"), NULL);
		}
}

static void check_across(struct site *site, enum entrydb_rules rules, const char *selected,
                         const char *explained)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.rules = rules;
	site_open(site, &options, SITE_PACKAGES, OLD, NULL);
	assert_string_equal(site_select(site, "g", NULL), selected);
	assert_string_equal(site_explain(site, "g", NULL), explained);
}

/* "late" is first on the path but has no metadata; "early" is an ordinary distribution. */
static void test_shadowing_across(void **state)
{
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "late-1.dist-info", "late", NULL, "[g]\nl = m\n");
	site_distribution(site, OLD, "late-0.dist-info", "late", "0", "[g]\nl = m\n");
	for (int round = 0; round < 3; round++) {
		for (int rules = ENTRYDB_PYTHON_3_10; rules <= ENTRYDB_PYTHON_3_12; rules++)
			check_across(site, (enum entrydb_rules)rules, "l=m@late-1.dist-info",
			             "l=m@late-1.dist-info l=m@late-0.dist-info<late-1.dist-info");
		check_across(site, ENTRYDB_IM_10_1, "l=m@late-0.dist-info",
		             "l=m@late-0.dist-info l=m@late-1.dist-info<late-0.dist-info");
		/* Neither directory is indexed, then one, then both. */
		site_run(site, "update", site_path(site, round ? "old" : "venv"), NULL);
	}
}

static void test_distributions_without_metadata_come_last(void **state)
{
	struct site *site = *state;
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.rules = ENTRYDB_IM_10_1;
	site_distribution(site, SITE_PACKAGES, "late-1.dist-info", "late", NULL, "[g]\nl = m\n");
	site_distribution(site, OLD, "early-1.dist-info", "early", "1", "[g]\ne = m\n");
	site_write(site, OLD "/file.egg-info", "Name: file\n"); /* it is a file, and has metadata */
	for (int round = 0; round < 2; round++) {
		site_open(site, NULL, SITE_PACKAGES, OLD, NULL);
		assert_string_equal(site_select(site, "g", NULL),
		                    "l=m@late-1.dist-info e=m@early-1.dist-info");
		site_open(site, &options, SITE_PACKAGES, OLD, NULL);
		assert_string_equal(site_select(site, "g", NULL),
		                    "e=m@early-1.dist-info l=m@late-1.dist-info");
		site_run(site, "update", site_path(site, "venv"), site_path(site, "old"), NULL);
	}
}

static void test_empty_distribution_shadows(void **state)
{
	struct site *site = *state;

	site_write(site, SITE_PACKAGES "/a-2.egg-info", "");
	site_distribution(site, OLD, "a-1.dist-info", "a", "1", "[g]\nn = m\n");
	site_open(site, NULL, SITE_PACKAGES, OLD, NULL);
	assert_string_equal(site_select(site, "g", NULL), "");
	assert_string_equal(site_explain(site, "g", NULL), "n=m@a-1.dist-info<a-2.egg-info");
}

static void test_path_entry_twice(void **state)
{
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "a-1.dist-info", "a", "1", "[g]\nn = m\n");
	for (int round = 0; round < 2; round++) {
		site_open(site, NULL, SITE_PACKAGES, SITE_PACKAGES, NULL);
		assert_string_equal(site_select(site, "g", NULL), "n=m@a-1.dist-info");
		site_run(site, "update", site_path(site, "venv"), NULL);
	}
}

/* --- relative entries --- */

static void test_relative(void **state)
{
	static const char *const path[] = {"", "lib"};
	struct site *site = *state;

	site_distribution(site, "one", "a-1.dist-info", "a", "1", "[g]\na = 1\n");
	site_distribution(site, "one/lib", "b-1.dist-info", "b", "1", "[g]\nb = 1\n");
	site_distribution(site, "two", "a-2.dist-info", "a", "2", "[g]\na = 2\n");
	assert_int_equal(entrydb_open(path, 2, NULL, &site->db, &site->error), 0);
	assert_string_equal(site_select(site, "g", NULL), "");
	assert_int_equal(chdir(site_path(site, "one")), 0);
	assert_string_equal(site_select(site, "g", NULL), "a=1@a-1.dist-info b=1@b-1.dist-info");
	assert_string_equal(entrydb_entry_point_path(entrydb_set_get(site->set, 0)), "");
	assert_string_equal(entrydb_entry_point_file(entrydb_set_get(site->set, 0)),
	                    "a-1.dist-info");
	assert_string_equal(entrydb_entry_point_file(entrydb_set_get(site->set, 1)),
	                    "lib/b-1.dist-info");
	assert_int_equal(chdir(site_path(site, "two")), 0);
	assert_string_equal(site_select(site, "g", NULL), "a=2@a-2.dist-info");
	assert_int_equal(site_state(site, 1), ENTRYDB_PATH_ABSENT);
}

static void test_relative_indexed(void **state)
{
	static const entrydb_options trusting = {
	        sizeof(trusting), 0, ENTRYDB_FRESH_TRUST, NULL, NULL, NULL, 0};
	static const char *const path[] = {"lib/python3.12/site-packages"};
	struct site *site = *state;
	void *symbol;

	site_distribution(site, SITE_PACKAGES, "a-1.dist-info", "a", "1", "[g]\na = 1\n");
	site_distribution(site, OLD, "a-2.dist-info", "a", "2", "[g]\na = 2\n");
	site_write(site, "old/etc/entrydb/policy.conf", "[g]\na = disable\n");
	site_run(site, "update", site_path(site, "venv"), site_path(site, "old"), NULL);
	assert_int_equal(entrydb_open(path, 1, &trusting, &site->db, &site->error), 0);
	assert_int_equal(chdir(site_path(site, "venv")), 0);
	assert_string_equal(site_select(site, "g", NULL), "a=1@a-1.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
	assert_int_equal(chdir(site_path(site, "old")), 0);
	assert_string_equal(site_select(site, "g", NULL), "a=2@a-2.dist-info");
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
	assert_int_equal(
	        entrydb_load(site->db, entrydb_set_get(site->set, 0), &symbol, &site->error),
	        ENTRYDB_EDISABLED);
}

static void test_removed_directory(void **state)
{
	static const char *const path[] = {""};
	struct site *site = *state;

	assert_int_equal(mkdir("gone", 0755), 0);
	assert_int_equal(chdir("gone"), 0);
	assert_int_equal(rmdir(site_path(site, "gone")), 0);
	assert_int_equal(entrydb_open(path, 1, NULL, &site->db, &site->error), 0);
	assert_string_equal(site_select(site, "g", NULL), "");
	assert_int_equal(chdir(site->top), 0);
}

RUN_TESTS(cmocka_unit_test(test_version), cmocka_unit_test(test_null_is_accepted),
          cmocka_unit_test(test_rules_parse), cmocka_unit_test(test_fresh_parse),
          SITE_TEST(test_names), SITE_TEST(test_errors), SITE_TEST(test_options),
          SITE_TEST(test_missing_path), SITE_TEST(test_missing_directory_appears),
          SITE_TEST(test_default_path), SITE_TEST(test_select),
          SITE_TEST(test_groups_sorted_before_3_12), SITE_TEST(test_fields),
          SITE_TEST(test_no_metadata), SITE_TEST(test_embedded_nul),
          SITE_TEST(test_set_outlives_handle), SITE_TEST(test_problems),
          SITE_TEST(test_shadowing_within), SITE_TEST(test_shadowing_across),
          SITE_TEST(test_distributions_without_metadata_come_last),
          SITE_TEST(test_empty_distribution_shadows), SITE_TEST(test_path_entry_twice),
          SITE_TEST(test_relative), SITE_TEST(test_relative_indexed),
          SITE_TEST(test_removed_directory))

/*
 * test_registry.c - registered and installed names are looked up and listed, and the plugins of a
 * group are autoloaded. The rules are those of PyTorch's registry of compiler back ends and of its
 * autoload.
 */
#include <pthread.h>

#include "site.h"

static const char values[] = "[g]\n"
                             "native = plugins.native:entry\n"
                             "second = plugins.native:GetPjrtApi\n"
                             "lacking = undefined:entry\n"
                             "python = pure.cli:main\n"
                             "[h]\n"
                             "x; $(touch owned) = undefined:entry\n";

static int built_in, another;

/* The state of a registry test, which the site's teardown does not release. */
static entrydb_registry *registry;

static int setup(void **state)
{
	struct site *site;

	if (site_setup(state) != 0)
		return -1;
	site = *state;
	site_plugin(site, "native.so", SITE_PACKAGES "/plugins/native.so");
	site_plugin(site, "undefined.so", SITE_PACKAGES "/undefined.so");
	site_write(site, SITE_PACKAGES "/pure/cli.py", "def main(): pass\n");
	site_distribution(site, SITE_PACKAGES, "all-1.dist-info", "all", "1", values);
	site_open(site, NULL, SITE_PACKAGES, NULL);
	return entrydb_registry_open(site->db, "g", NULL, &registry, NULL);
}

static int teardown(void **state)
{
	entrydb_registry_close(registry);
	unsetenv("ENTRYDB_DISABLE");
	unsetenv("HOST_AUTOLOAD");
	return site_teardown(state);
}

/* --- the registry --- */

static const char *names(struct site *site, const char *exclude)
{
	const char *text = "";
	entrydb_names *list;

	assert_int_equal(entrydb_registry_names(registry, exclude, &list, &site->error), 0);
	for (size_t i = 0; i < entrydb_names_count(list); i++)
		text = site_text(site, "%s%s%s", text, i ? " " : "", entrydb_names_get(list, i));
	assert_null(entrydb_names_get(list, entrydb_names_count(list)));
	entrydb_names_free(list);
	return text;
}

static void add(struct site *site, const char *name, void *object, const char *tags)
{
	assert_int_equal(entrydb_registry_register(registry, name, object, tags, &site->error), 0);
}

static void *look_up(struct site *site, const char *name)
{
	void *object = site;

	assert_int_equal(entrydb_registry_lookup(registry, name, &object, &site->error), 0);
	return object;
}

static void refuse(struct site *site, const char *name, int code, const char *part)
{
	void *object = site;

	assert_int_equal(entrydb_registry_lookup(registry, name, &object, &site->error), code);
	assert_ptr_equal(object, site);
	if (!strstr(entrydb_error_message(&site->error), part))
		fail_msg("\"%s\" is not in \"%s\"", part, entrydb_error_message(&site->error));
}

static void test_names_are_sorted_and_filtered(void **state)
{
	struct site *site = *state;

	add(site, "zeta", &built_in, NULL);
	add(site, "alpha", &built_in, "debug,slow");
	add(site, "beta", &built_in, "experimental");
	assert_string_equal(names(site, NULL), "alpha beta lacking native python second zeta");
	assert_string_equal(names(site, "debug,experimental"), "lacking native python second zeta");
	assert_string_equal(names(site, "slow"), "beta lacking native python second zeta");
	assert_string_equal(names(site, "deb"), "alpha beta lacking native python second zeta");
	assert_string_equal(names(site, ""), "alpha beta lacking native python second zeta");
}

static void test_duplicates(void **state)
{
	struct site *site = *state;

	add(site, "mine", &built_in, NULL);
	assert_int_equal(entrydb_registry_register(registry, "mine", &another, NULL, &site->error),
	                 ENTRYDB_EEXISTS);
	assert_string_equal(entrydb_error_message(&site->error), "duplicate name: mine");
	assert_ptr_equal(look_up(site, "mine"), &built_in);
	look_up(site, "native");
	assert_int_equal(
	        entrydb_registry_register(registry, "native", &another, NULL, &site->error),
	        ENTRYDB_EEXISTS);
}

/* Registered names are never shadowed by installed ones, and listed once. */
static void test_registered_names_come_first(void **state)
{
	struct site *site = *state;

	add(site, "native", &built_in, "debug");
	assert_ptr_equal(look_up(site, "native"), &built_in);
	assert_string_equal(names(site, NULL), "lacking native python second");
	assert_ptr_equal(look_up(site, "native"), &built_in);
	assert_string_equal(names(site, "debug"), "lacking python second");
	add(site, "second", &another, NULL); /* found, but not loaded yet */
	assert_ptr_equal(look_up(site, "second"), &another);
}

static void test_look_up_loads(void **state)
{
	struct site *site = *state;
	void *first = look_up(site, "native");

	assert_int_equal(site_call(first), 42);
	assert_ptr_equal(look_up(site, "native"), first);
	add(site, "null", NULL, NULL);
	assert_null(look_up(site, "null"));
}

static void test_unknown_names(void **state)
{
	struct site *site = *state;

	refuse(site, "natve", ENTRYDB_EUNKNOWN,
	       "there is no 'natve' in 'g'; did you mean 'native'? Available: lacking, native, "
	       "python, second");
	refuse(site, "nothing-like-it", ENTRYDB_EUNKNOWN,
	       "there is no 'nothing-like-it' in 'g'. Available: ");
	for (int i = 0; i < 30; i++)
		add(site, site_text(site, "n%02d", i), &built_in, NULL);
	refuse(site, "nothing-like-it", ENTRYDB_EUNKNOWN, " and 14 more");
}

static void test_failure_is_not_cached(void **state)
{
	struct site *site = *state;

	for (int i = 0; i < 2; i++)
		refuse(site, "lacking", ENTRYDB_EUNDEFINED, "missing_from_everywhere");
	refuse(site, "python", ENTRYDB_EPYTHON, "pure.cli:main");
	site_remove(site, SITE_PACKAGES "/undefined.so");
	site_plugin(site, "native.so", SITE_PACKAGES "/undefined.so");
	assert_int_equal(site_call(look_up(site, "lacking")), 42);
}

/* The database is queried once. */
static void test_later_installations_are_ignored(void **state)
{
	struct site *site = *state;

	assert_string_equal(names(site, NULL), "lacking native python second");
	site_distribution(site, SITE_PACKAGES, "more-1.dist-info", "more", "1",
	                  "[g]\nlater = plugins.native:entry\n");
	refuse(site, "later", ENTRYDB_EUNKNOWN, "there is no 'later'");
}

static void test_policy(void **state)
{
	struct site *site = *state;

	setenv("ENTRYDB_DISABLE", "g/native", 1);
	assert_string_equal(names(site, NULL), "lacking python second");
	refuse(site, "native", ENTRYDB_EUNKNOWN, "there is no 'native'");
}

/* Of two entry points with the same name, the one with higher priority is used. */
static void test_priority(void **state)
{
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "more-1.dist-info", "more", "1",
	                  "[g]\nlacking = plugins.native:entry\n");
	site_write(site, "venv/etc/entrydb/policy.conf",
	           "[g]\nlacking = priority=1 distribution=more\n");
	site_open(site, NULL, SITE_PACKAGES, NULL);
	entrydb_registry_close(registry);
	assert_int_equal(entrydb_registry_open(site->db, "g", NULL, &registry, NULL), 0);
	assert_int_equal(site_call(look_up(site, "lacking")), 42);
}

static void test_options_of_another_size(void **state)
{
	struct site *site = *state;
	entrydb_load_options options = ENTRYDB_LOAD_OPTIONS_INIT;
	entrydb_registry *out = NULL;

	options.size--;
	assert_int_equal(entrydb_registry_open(site->db, "g", &options, &out, NULL),
	                 ENTRYDB_EINVAL);
	assert_null(out);
}

static void *look_up_often(void *payload)
{
	void *object = NULL;

	(void)payload;
	for (int i = 0; i < 1000; i++)
		if (entrydb_registry_lookup(registry, "native", &object, NULL) < 0)
			return NULL;
	return object;
}

static void test_threads(void **state)
{
	pthread_t threads[8];
	void *first = NULL, *found;

	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_up_often, NULL), 0);
	for (size_t i = 0; i < 8; i++) {
		pthread_join(threads[i], &found);
		assert_non_null(found);
		assert_true(i == 0 || found == first);
		first = found;
	}
}

/* --- autoload --- */

struct calls {
	struct site *site;
	const char *called, *failed;
};

static const char *call(void *symbol, const entrydb_entry_point *entry_point, void *payload)
{
	struct calls *calls = payload;

	assert_non_null(symbol);
	calls->called = site_text(calls->site, "%s %s", calls->called,
	                          entrydb_entry_point_name(entry_point));
	return strcmp(entrydb_entry_point_name(entry_point), "second") == 0 ? "no such device"
	                                                                    : NULL;
}

static void failed(const entrydb_entry_point *entry_point, const entrydb_error *error,
                   void *payload)
{
	struct calls *calls = payload;

	calls->failed = site_text(calls->site, "%s %s:%d", calls->failed,
	                          entrydb_entry_point_name(entry_point), error->code);
}

/* @changed: changes the options first. */
static int autoload(struct site *site, const entrydb_autoload_options *changed, const char *called,
                    const char *failures)
{
	struct calls calls = {site, "", ""};
	entrydb_autoload_options options = *changed;
	int code;

	options.call = call;
	options.failed = failed;
	options.payload = &calls;
	code = entrydb_autoload(site->db, "g", &options, &site->error);
	assert_string_equal(calls.called, called);
	assert_string_equal(calls.failed, failures);
	return code;
}

static void test_autoload_stops_at_the_first_failure(void **state)
{
	entrydb_autoload_options options = ENTRYDB_AUTOLOAD_OPTIONS_INIT;
	struct site *site = *state;

	options.variable = "HOST_AUTOLOAD";
	assert_int_equal(autoload(site, &options, " native second", " second:-21"),
	                 ENTRYDB_EPLUGIN);
	assert_string_equal(entrydb_error_message(&site->error),
	                    "failed to load the extension second: no such device; "
	                    "HOST_AUTOLOAD=0 disables all extensions; to disable this one, "
	                    "run: entrydb disable g/second");
	entrydb_error_clear(&site->error);
	assert_int_equal(entrydb_autoload(site->db, "h", NULL, &site->error), ENTRYDB_EUNDEFINED);
	assert_non_null(strstr(entrydb_error_message(&site->error),
	                       "run: entrydb disable 'h/x; $(touch owned)'"));
}

static void test_autoload_collects_all(void **state)
{
	entrydb_autoload_options options = ENTRYDB_AUTOLOAD_OPTIONS_INIT;
	struct site *site = *state;

	options.flags = ENTRYDB_AUTOLOAD_ALL;
	assert_int_equal(
	        autoload(site, &options, " native second", " second:-21 lacking:-15 python:-8"),
	        ENTRYDB_EPLUGIN);
	options.flags |= ENTRYDB_AUTOLOAD_NATIVE_ONLY;
	assert_int_equal(autoload(site, &options, " native second", " second:-21 lacking:-15"),
	                 ENTRYDB_EPLUGIN);
}

static void test_autoload_selected(void **state)
{
	static const char *const only[] = {"native", "absent"};
	entrydb_autoload_options options = ENTRYDB_AUTOLOAD_OPTIONS_INIT;
	struct site *site = *state;

	options.only = only;
	options.only_count = 2;
	assert_int_equal(autoload(site, &options, " native", ""), 0);
	options.only_count = 0;
	assert_int_equal(autoload(site, &options, "", ""), 0);
}

/* Autoload is on if the variable is unset or exactly "1", as in PyTorch. */
static void test_autoload_variable(void **state)
{
	static const char *const off[] = {"0", "", "true", "11", "1 ", "no"};
	static const char *const only[] = {"native"};
	entrydb_autoload_options options = ENTRYDB_AUTOLOAD_OPTIONS_INIT;
	struct site *site = *state;

	options.variable = "HOST_AUTOLOAD";
	options.only = only;
	options.only_count = 1;
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++) {
		setenv("HOST_AUTOLOAD", off[i], 1);
		assert_int_equal(autoload(site, &options, "", ""), 0);
	}
	setenv("HOST_AUTOLOAD", "1", 1);
	assert_int_equal(autoload(site, &options, " native", ""), 0);
}

/* Two of the same name are both called, disabled ones are not; higher priorities come first. */
static void test_autoload_order(void **state)
{
	entrydb_autoload_options options = ENTRYDB_AUTOLOAD_OPTIONS_INIT;
	struct site *site = *state;

	site_distribution(site, SITE_PACKAGES, "all-1.dist-info", "all", "1",
	                  "[g]\na = plugins.native:entry\nb = plugins.native:entry\n"
	                  "c = plugins.native:entry\na = plugins.native:GetPjrtApi\n"
	                  "d = plugins.native:entry\n");
	site_write(site, "venv/etc/entrydb/policy.conf",
	           "[g]\nc = priority=5\nd = priority=-1\nb = disable\n");
	site_open(site, NULL, SITE_PACKAGES, NULL);
	assert_int_equal(autoload(site, &options, " c a a d", ""), 0);
}

/* Without a call function of the host, the plugin is a function that returns 0. */
static void test_autoload_default_call(void **state)
{
	struct site *site = *state;

	assert_int_equal(entrydb_autoload(site->db, "g", NULL, &site->error), ENTRYDB_EPLUGIN);
	assert_non_null(strstr(entrydb_error_message(&site->error),
	                       "the extension native: it returned 42; to disable this one"));
	assert_int_equal(entrydb_autoload(site->db, "no such group", NULL, &site->error), 0);
}

RUN_TESTS(TEST(test_names_are_sorted_and_filtered), TEST(test_duplicates),
          TEST(test_registered_names_come_first), TEST(test_look_up_loads),
          TEST(test_unknown_names), TEST(test_failure_is_not_cached),
          TEST(test_later_installations_are_ignored), TEST(test_policy), TEST(test_priority),
          TEST(test_options_of_another_size), TEST(test_threads),
          TEST(test_autoload_stops_at_the_first_failure), TEST(test_autoload_collects_all),
          TEST(test_autoload_selected), TEST(test_autoload_variable), TEST(test_autoload_order),
          TEST(test_autoload_default_call))

/*
 * test_loading.c - resolving and loading entry points; every test runs before and after the
 * environment is indexed.
 */
#include "site.h"

#include <dlfcn.h>
#include <sys/stat.h>

static const char values[] = "[g]\n"
                             "native = plugins.native:entry\n"
                             "python = pure.cli:main\n"
                             "extension = needs_python:entry\n"
                             "undefined = undefined:entry\n"
                             "missing = nowhere:entry\n"
                             "no-symbol = plugins.native:absent\n"
                             "no-value = plugins native\n";

/* Install the plugins of the fixtures as a wheel would. */
static void install(struct site *site, const char *value)
{
	site_plugin(site, "native.so", SITE_PACKAGES "/plugins/native.so");
	site_plugin(site, "needs_python.so", SITE_PACKAGES "/needs_python.so");
	site_plugin(site, "undefined.so", SITE_PACKAGES "/undefined.so");
	site_write(site, SITE_PACKAGES "/pure/__init__.py", "");
	site_write(site, SITE_PACKAGES "/pure/cli.py", "def main(): pass\n");
	site_distribution(site, SITE_PACKAGES, "all-1.dist-info", "all-plugins", "1", value);
	site_write(site, SITE_PACKAGES "/all-1.dist-info/RECORD",
	           "plugins/native.so,,\nneeds_python.so,,\nundefined.so,,\npure/__init__.py,,\n"
	           "pure/cli.py,,\n");
}

/* Round 0: not indexed; 1: indexed, and the rows are trusted. */
static void open_round(struct site *site, int round)
{
	static const entrydb_options trusting = {
	        sizeof(trusting), 0, ENTRYDB_FRESH_TRUST, NULL, NULL, NULL, 0};

	if (round)
		site_run(site, "update", site_path(site, "venv"), NULL);
	site_open(site, round ? &trusting : NULL, SITE_PACKAGES, NULL);
	assert_int_equal(site_state(site, 0), round ? ENTRYDB_PATH_FRESH : ENTRYDB_PATH_SCANNED);
}

static const entrydb_entry_point *entry_of(struct site *site, const char *name)
{
	site_select(site, "g", name);
	assert_int_equal(entrydb_set_count(site->set), 1);
	return entrydb_set_get(site->set, 0);
}

/* --- resolving --- */

static void check_text(const char *text, const char *expected)
{
	if (expected) {
		assert_non_null(text);
		assert_string_equal(text, expected);
	} else {
		assert_null(text);
	}
}

struct expected {
	enum entrydb_kind kind;
	enum entrydb_state state;
	const char *object, *symbol;
};

static void check_target(struct site *site, const char *name, const struct expected *expected)
{
	entrydb_target_free(site->target);
	site->target = NULL;
	assert_int_equal(
	        entrydb_resolve(site->db, entry_of(site, name), &site->target, &site->error), 0);
	assert_int_equal(entrydb_target_kind(site->target), expected->kind);
	assert_int_equal(entrydb_target_state(site->target), expected->state);
	check_text(entrydb_target_symbol(site->target), expected->symbol);
	check_text(entrydb_target_object(site->target),
	           expected->object
	                   ? site_text(site, "%s/" SITE_PACKAGES "/%s", site->top, expected->object)
	                   : NULL);
}

static void test_resolve(void **state)
{
	static const struct {
		const char *name;
		struct expected target;
	} rows[] = {
	        {"native", {ENTRYDB_KIND_NATIVE, ENTRYDB_STATE_OK, "plugins/native.so", "entry"}},
	        {"python", {ENTRYDB_KIND_PYTHON, ENTRYDB_STATE_OK, NULL, NULL}},
	        {"extension", {ENTRYDB_KIND_EXTENSION, ENTRYDB_STATE_OK, "needs_python.so", NULL}},
	        {"undefined",
	         {ENTRYDB_KIND_NATIVE, ENTRYDB_STATE_NEEDS_HOST, "undefined.so", "entry"}},
	        {"missing", {ENTRYDB_KIND_UNRESOLVED, ENTRYDB_STATE_MISSING, NULL, NULL}},
	        {"no-symbol",
	         {ENTRYDB_KIND_UNRESOLVED, ENTRYDB_STATE_NO_SYMBOL, "plugins/native.so", NULL}},
	};
	struct site *site = *state;

	install(site, values);
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			check_target(site, rows[i].name, &rows[i].target);
	}
}

/* The database was replaced after the entry was selected. */
static void test_resolve_old_entry(void **state)
{
	struct site *site = *state;
	entrydb *other;

	install(site, values);
	open_round(site, 1);
	entry_of(site, "native");
	site_remove(site, "venv/var");
	open_round(site, 0);
	other = site->db;
	assert_int_equal(
	        entrydb_resolve(other, entrydb_set_get(site->set, 0), &site->target, &site->error),
	        0);
	assert_int_equal(entrydb_target_kind(site->target), ENTRYDB_KIND_NATIVE);
}

static void test_resolve_removed_distribution(void **state)
{
	struct site *site = *state;
	int code;

	install(site, values);
	open_round(site, 0);
	entry_of(site, "native");
	site_remove(site, SITE_PACKAGES);
	code = entrydb_resolve(site->db, entrydb_set_get(site->set, 0), &site->target,
	                       &site->error);
	assert_int_equal(code, ENTRYDB_ENOTFOUND);
	assert_null(site->target);
	assert_non_null(strstr(entrydb_error_message(&site->error), SITE_PACKAGES));
}

/* --- loading --- */

static void test_load(void **state)
{
	struct site *site = *state;
	void *first, *again;

	install(site, values);
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		assert_int_equal(
		        entrydb_load(site->db, entry_of(site, "native"), &first, &site->error), 0);
		assert_int_equal(site_call(first), 42);
		assert_int_equal(
		        entrydb_load(site->db, entry_of(site, "native"), &again, &site->error), 0);
		assert_ptr_equal(first, again);
		site_close(site);
		assert_int_equal(site_call(first), 42);
	}
}

/* Loading must fail with @code and a message containing @part, and not set the symbol. */
static void refuse(struct site *site, const char *name, int code, const char *part)
{
	void *symbol = site;

	assert_int_equal(entrydb_load(site->db, entry_of(site, name), &symbol, &site->error), code);
	assert_ptr_equal(symbol, site);
	assert_int_equal(site->error.code, code);
	if (!strstr(entrydb_error_message(&site->error), part))
		fail_msg("\"%s\" is not in \"%s\"", part, entrydb_error_message(&site->error));
	assert_null(strchr(entrydb_error_message(&site->error), '\n'));
	assert_int_equal(entrydb_load(site->db, entrydb_set_get(site->set, 0), &symbol, NULL),
	                 code);
}

static void test_no_object(void **state)
{
	struct site *site = *state;

	install(site, values);
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		refuse(site, "python", ENTRYDB_EPYTHON,
		       site_text(site,
		                 "python = pure.cli:main of %s/%s/all-1.dist-info: python (ok): "
		                 "no shared object that a program without Python can open",
		                 site->top, SITE_PACKAGES));
		refuse(site, "extension", ENTRYDB_EPYTHON, "extension");
		refuse(site, "missing", ENTRYDB_ENOTFOUND, "missing");
		refuse(site, "no-symbol", ENTRYDB_ENOSYMBOL, "no-symbol");
		refuse(site, "no-value", ENTRYDB_EUNRESOLVED, "no-value = plugins native");
	}
}

/* An editable install, and a package with two plugins for the group. */
static void test_unresolved(void **state)
{
	struct site *site = *state;

	install(site, "[g]\nelsewhere = elsewhere:entry\n");
	site_write(site, SITE_PACKAGES "/all-1.dist-info/direct_url.json",
	           "{\"url\": \"file:///src\", \"dir_info\": {\"editable\": true}}");
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		check_target(site, "elsewhere",
		             &(struct expected){ENTRYDB_KIND_UNRESOLVED,
		                                ENTRYDB_STATE_UNRESOLVED_EDITABLE, NULL, NULL});
		refuse(site, "elsewhere", ENTRYDB_EUNRESOLVED, "unresolved-editable");
	}
}

/* --- policy --- */

static void check_verdict(struct site *site, const char *name, const char *reason)
{
	entrydb_verdict *verdict;

	assert_int_equal(
	        entrydb_check_policy(site->db, "g", name, NULL, NULL, &verdict, &site->error), 0);
	assert_int_equal(entrydb_verdict_allowed(verdict), reason == NULL);
	if (reason)
		assert_string_equal(entrydb_verdict_reason(verdict), reason);
	else
		assert_null(entrydb_verdict_reason(verdict));
	entrydb_verdict_free(verdict);
}

/* Disabled entry points, Python's or native, are found but not loaded. */
static void test_policy(void **state)
{
	struct site *site = *state;
	void *symbol;

	install(site, values);
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		setenv("ENTRYDB_DISABLE", "other, g/native ,g/python", 1);
		check_verdict(site, "native", "ENTRYDB_DISABLE names g/native");
		check_verdict(site, "extension", NULL);
		refuse(site, "native", ENTRYDB_EDISABLED, "ENTRYDB_DISABLE names g/native");
		refuse(site, "python", ENTRYDB_EDISABLED, "ENTRYDB_DISABLE names g/python");
		refuse(site, "extension", ENTRYDB_EPYTHON, "extension");
		setenv("ENTRYDB_DISABLE", "g", 1);
		check_verdict(site, "extension", "ENTRYDB_DISABLE names g");
		refuse(site, "extension", ENTRYDB_EDISABLED, "ENTRYDB_DISABLE names g");
		unsetenv("ENTRYDB_DISABLE");
		check_verdict(site, "native", NULL);
		assert_int_equal(
		        entrydb_load(site->db, entry_of(site, "native"), &symbol, &site->error), 0);
	}
}

/* --- the dynamic linker --- */

static void test_dlerror_is_quoted(void **state)
{
	struct site *site = *state;
	const char *words;

	install(site, values);
	assert_null(dlopen(site_path(site, SITE_PACKAGES "/undefined.so"), RTLD_NOW | RTLD_LOCAL));
	words = site_text(site, "%s", dlerror());
	assert_non_null(strstr(words, "missing_from_everywhere"));
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		refuse(site, "undefined", ENTRYDB_EUNDEFINED, words);
		refuse(site, "undefined", ENTRYDB_EUNDEFINED, "all-plugins");
	}
}

static void test_symbol_removed_after_indexing(void **state)
{
	struct site *site = *state;

	install(site, "[g]\nn = late:GetPjrtApi\n");
	site_plugin(site, "native.so", SITE_PACKAGES "/late.so");
	open_round(site, 1);
	site_plugin(site, "plain.so", SITE_PACKAGES "/late.so");
	refuse(site, "n", ENTRYDB_ENOSYMBOL, "GetPjrtApi");
	site_remove(site, SITE_PACKAGES "/late.so");
	refuse(site, "n", ENTRYDB_ENOTFOUND, "late.so");
}

/* --- options --- */

static const char *refusing(void *symbol, void *payload)
{
	assert_int_equal(site_call(symbol), 42);
	return payload;
}

static int load_with(struct site *site, unsigned flags, entrydb_accept *accept, void *payload)
{
	entrydb_load_options options = ENTRYDB_LOAD_OPTIONS_INIT;
	void *symbol = site;
	int code;

	options.flags = flags;
	options.accept = accept;
	options.payload = payload;
	code = entrydb_load_with(site->db, entry_of(site, "native"), &options, &symbol,
	                         &site->error);
	if (code < 0)
		assert_ptr_equal(symbol, site);
	else
		assert_int_equal(site_call(symbol), 42);
	return code;
}

static void test_load_options(void **state)
{
	entrydb_load_options options = ENTRYDB_LOAD_OPTIONS_INIT;
	struct site *site = *state;
	void *symbol;

	install(site, values);
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		assert_int_equal(load_with(site, ENTRYDB_LOAD_LAZY, NULL, NULL), 0);
		assert_int_equal(load_with(site, ENTRYDB_LOAD_GUARDED, refusing, NULL), 0);
		assert_int_equal(load_with(site, 0, refusing, "too old"), ENTRYDB_EREFUSED);
		assert_non_null(strstr(entrydb_error_message(&site->error),
		                       "(of all-plugins) is not accepted: too old"));
	}
	options.size--;
	assert_int_equal(entrydb_load_with(site->db, entry_of(site, "native"), &options, &symbol,
	                                   &site->error),
	                 ENTRYDB_EINVAL);
}

/* The build-id is stored when indexing, a hash is known if RECORD has one. */
static void test_identity(void **state)
{
	struct site *site = *state;

	install(site, values);
	open_round(site, 1);
	assert_int_equal(load_with(site, ENTRYDB_LOAD_HASH, NULL, NULL), ENTRYDB_ECHANGED);
	assert_int_equal(load_with(site, ENTRYDB_LOAD_SAME, NULL, NULL), 0);
	open_round(site, 1);                                   /* like the first time */
	site_remove(site, SITE_PACKAGES "/plugins/native.so"); /* mapped memory is unaffected */
	site_plugin(site, "versioned.so", SITE_PACKAGES "/plugins/native.so");
	assert_int_equal(load_with(site, ENTRYDB_LOAD_SAME, NULL, NULL), ENTRYDB_ECHANGED);
	assert_non_null(strstr(entrydb_error_message(&site->error), "build-id"));
}

/* --- permissions --- */

static void test_writable_by_others(void **state)
{
	struct site *site = *state;
	const char *object = site_path(site, SITE_PACKAGES "/plugins/native.so");
	const char *directory = site_path(site, SITE_PACKAGES);

	install(site, values);
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		assert_int_equal(chmod(object, 0646), 0);
		refuse(site, "native", ENTRYDB_EPERMISSION,
		       site_text(site, "others may write to %s; chmod go-w it", object));
		assert_int_equal(chmod(object, 0644), 0);
		assert_int_equal(chmod(directory, 0777), 0);
		refuse(site, "native", ENTRYDB_EPERMISSION,
		       site_text(site, "others may write to %s; chmod go-w it", directory));
		assert_int_equal(chmod(directory, 0755), 0);
	}
	entry_of(site, "native");
	assert_int_equal(entrydb_load(site->db, entrydb_set_get(site->set, 0), (void *[]){NULL},
	                              &site->error),
	                 0);
}

static void test_owned_by_another_user(void **state)
{
	struct site *site = *state;
	const char *object = site_path(site, SITE_PACKAGES "/plugins/native.so");

	if (geteuid() != 0)
		skip(); /* only root can give files away */
	install(site, values);
	assert_int_equal(chown(object, 12345, (gid_t)-1), 0);
	for (int round = 0; round < 2; round++) {
		open_round(site, round);
		refuse(site, "native", ENTRYDB_EPERMISSION, object);
		refuse(site, "native", ENTRYDB_EPERMISSION, "user 12345");
	}
}

RUN_TESTS(SITE_TEST(test_resolve), SITE_TEST(test_resolve_old_entry),
          SITE_TEST(test_resolve_removed_distribution), SITE_TEST(test_load),
          SITE_TEST(test_no_object), SITE_TEST(test_unresolved), SITE_TEST(test_policy),
          SITE_TEST(test_dlerror_is_quoted), SITE_TEST(test_symbol_removed_after_indexing),
          SITE_TEST(test_load_options), SITE_TEST(test_identity),
          SITE_TEST(test_writable_by_others), SITE_TEST(test_owned_by_another_user))

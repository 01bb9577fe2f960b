/*
 * test_target.c - resolving values to files: by RECORD alone, by the directory, and for the plugins
 * of fixtures/plugins, whose kinds are known.
 */
#include <fcntl.h>
#include <limits.h>

#include "db/base/cleanup.h"
#include "libquery/disk/target/target.h"
#include "scratch.h"

#define TAGGED(xy) ".cpython-" xy "-x86_64-linux-gnu.so"

struct fixture {
	int site_fd; /* of the path entry */
	struct arena arena;
	struct target_site site;
	struct entry_point_record wanted;
	struct target_record target;
};

static int setup(void **state)
{
	struct fixture *f = scratch_fixture(state, sizeof(*f));

	f->site_fd = open(scratch_top(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->site.modules.fd = f->site.objects.fd = f->site_fd;
	f->wanted.group = SLICE("some.group");
	return f->site_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_free(&f->arena);
	close(f->site_fd);
	return scratch_teardown(state);
}

/* Install a plugin at @path, or an empty file if @plugin is NULL. */
static void install(const char *path, const char *plugin)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t length = 0;

	if (plugin)
		bytes = scratch_plugin(plugin, &length);
	scratch_write(path, bytes, length);
}

static void assert_same(const struct target_record *a, const struct target_record *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->machine, b->machine);
	assert_true(slice_equal(a->object, b->object));
	assert_true(slice_equal(a->symbol, b->symbol));
	assert_true(slice_equal(a->sha256, b->sha256));
	assert_true(slice_equal(a->build_id, b->build_id));
}

/* A sorted RECORD, cached listings and cached results must not change any answer. */
static void resolve_cached(struct fixture *f)
{
	CLEANUP(path_index_free) struct path_index sorted = {0};
	CLEANUP(import_cache_free) struct import_cache cache = {0};
	struct target_site site = f->site;
	struct target_record target;

	site.modules.cache = &cache;
	if (!slice_is_null(site.modules.record.text)) {
		assert_true(wheel_record_index(&site.modules.record, &sorted));
		site.modules.record.index = &sorted;
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(target_resolve(&site, &f->wanted, &f->arena, &target, NULL), 0);
		assert_same(&target, &f->target);
	}
}

static void resolve_uncached(struct fixture *f)
{
	CLEANUP(import_cache_free) struct import_cache cache = {0};
	struct target_site site = f->site;

	site.modules.cache = &cache;
	assert_int_equal(target_resolve(&site, &f->wanted, &f->arena, &f->target, NULL), 0);
}

static void resolve(struct fixture *f, const char *module, const char *attr)
{
	f->wanted.module = slice_of(module);
	f->wanted.attr = slice_of(attr);
	resolve_uncached(f);
	resolve_cached(f);
}

/* Resolve and compare; @object NULL: none. */
static void check(struct fixture *f, const char *module, const char *attr, const char *answer,
                  const char *object)
{
	char text[64];

	resolve(f, module, attr);
	snprintf(text, sizeof(text), "%s %s", target_kinds.all[f->target.kind],
	         target_states.all[f->target.state]);
	assert_string_equal(text, answer);
	assert_int_equal(slice_is_null(f->target.object), object == NULL);
	assert_true(slice_equal(f->target.object, slice_of(object)));
}

static void test_python_by_record(void **state)
{
	struct fixture *f = *state;

	f->site.modules.fd = f->site.objects.fd = -1;
	f->site.modules.record.text = SLICE("pkg/__init__.py,sha256=aaa,1\r\n"
	                                    "pkg/cli.py,sha256=bbb,2\r\n"
	                                    "\"pkg/quoted.py\",sha256=ccc,3\r\n"
	                                    "pkg/sub/__init__.py,,\r\n"
	                                    "pkg/sub.py,,\r\n"
	                                    "other/pkg/trap.py,,\r\n"
	                                    "pkg-1.dist-info/RECORD,,\r\n"
	                                    "last.py");
	check(f, "pkg", "main", "python ok", "pkg/__init__.py");
	assert_true(slice_equal(f->target.sha256, SLICE("sha256=aaa")));
	check(f, "pkg.cli", "main", "python ok", "pkg/cli.py");
	assert_true(slice_equal(f->target.sha256, SLICE("sha256=bbb")));
	check(f, "pkg.quoted", NULL, "python ok", "pkg/quoted.py");
	assert_true(slice_equal(f->target.sha256, SLICE("sha256=ccc")));
	check(f, "pkg.sub", "a.b", "python ok", "pkg/sub/__init__.py");
	assert_true(slice_is_null(f->target.sha256));
	check(f, "last", "main", "python ok", "last.py");
	check(f, "pkg.trap", "main", "unresolved missing", NULL);
	check(f, "kg.cli", "main", "unresolved missing", NULL);
	assert_null(f->arena.blocks); /* nothing was allocated */
}

static void test_stray_modules(void **state)
{
	struct fixture *f = *state;
	static const char *const modules[] = {"",       ".",   ".pkg",   "pkg.", "a..b",
	                                      "../etc", "a/b", "pkg\nx", NULL};

	f->site.modules.record.text = SLICE("pkg.py,,\n/b.py,,\n../etc.py,,\na/b.py,,\n");
	for (size_t i = 0; modules[i]; i++)
		check(f, modules[i], "x", "unresolved missing", NULL);
	check(f, NULL, "x", "unresolved missing", NULL);
	check(f, "pkg", "x", "python ok", "pkg.py");
}

static void test_editable(void **state)
{
	struct fixture *f = *state;

	f->site.editable = true;
	f->site.modules.record.text = SLICE("__editable__.pkg.pth,,\n");
	check(f, "pkg.cli", "main", "unresolved unresolved-editable", NULL);
}

static void test_native(void **state)
{
	struct fixture *f = *state;

	install("pkg/plugin.so", "native.so");
	f->site.modules.record.text = SLICE("pkg/__init__.py,,\npkg/plugin.so,sha256=abc,99\n");
	check(f, "pkg.plugin", "entry", "native ok", "pkg/plugin.so");
	assert_true(slice_equal(f->target.symbol, SLICE("entry")));
	assert_true(slice_equal(f->target.sha256, SLICE("sha256=abc")));
	assert_int_equal(f->target.build_id.len, 40);
	assert_int_not_equal(f->target.machine, 0);
	check(f, "pkg.plugin", "absent", "unresolved no-symbol", "pkg/plugin.so");
	check(f, "pkg.plugin", NULL, "unresolved no-symbol", "pkg/plugin.so");
	check(f, "pkg.plugin", "entry.sub", "unresolved no-symbol", "pkg/plugin.so");
	assert_true(slice_is_null(f->target.symbol));
}

static void test_extension(void **state)
{
	struct fixture *f = *state;

	install("needs_python.abi3.so", "needs_python.so");
	install("other" TAGGED("312"), "needs_python.so");
	check(f, "needs_python", "entry", "extension ok", "needs_python.abi3.so");
	check(f, "needs_python", NULL, "extension ok", "needs_python.abi3.so");
	check(f, "other", "x", "extension ok", "other" TAGGED("312"));
}

/* Files that import would choose although they do not work. */
static void test_broken_objects(void **state)
{
	struct fixture *f = *state;

	scratch_text("text.so", "no object");
	install("program.so", "program");
	scratch_directory("dir.so");
	f->site.modules.record.text = SLICE("text.so,,\nprogram.so,,\ndir.so,,\ngone.so,,\n");
	check(f, "text", "entry", "unresolved no-symbol", "text.so");
	check(f, "program", "entry", "unresolved no-symbol", "program.so");
	check(f, "dir", "entry", "unresolved no-symbol", "dir.so");
	check(f, "gone", "entry", "unresolved missing", NULL);
}

/* The files of the package "m" in the order of import; removed one by one. */
static const char *const by_preference[] = {
        "m/__init__" TAGGED("312"),
        "m/__init__.abi3.so",
        "m/__init__.so",
        "m/__init__.py",
        "m" TAGGED("313"),
        "m" TAGGED("312"),
        "m" TAGGED("39"),
        "m" TAGGED("313t"),
        "m.abi3.so",
        "m.so",
        "m.py",
};

#define PREFERENCES (sizeof(by_preference) / sizeof(by_preference[0]))

static void test_order(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < PREFERENCES; i++)
		install(by_preference[i], "native.so");
	for (size_t i = 0; i < PREFERENCES; i++) {
		bool python = strstr(by_preference[i], ".py") != NULL &&
		              strstr(by_preference[i], ".so") == NULL;

		check(f, "m", "entry", python ? "python ok" : "native ok", by_preference[i]);
		assert_int_equal(unlinkat(f->site_fd, by_preference[i], 0), 0);
	}
	check(f, "m", "entry", "python ok", "m"); /* an empty directory is a package */
}

static void test_order_in_record(void **state)
{
	struct fixture *f = *state;
	char record[PATH_MAX] = "";

	f->site.modules.fd = f->site.objects.fd = -1;
	for (size_t i = 0; i < PREFERENCES; i++) {
		char longer[PATH_MAX];

		snprintf(longer, sizeof(longer), "%.3000s,,\n%.900s",
		         by_preference[PREFERENCES - 1 - i], record);
		strcpy(record, longer);
	}
	for (size_t i = 0; i < PREFERENCES; i++) {
		bool python = strstr(by_preference[i], ".so") == NULL;

		f->site.modules.record.text = slice_of(record);
		/* The file cannot be read here, so an object is "missing". */
		check(f, "m", "entry", python ? "python ok" : "unresolved missing",
		      python ? by_preference[i] : NULL);
		*strstr(record, by_preference[i]) = '-';
	}
}

/* The module is in another distribution of the path entry, or there is no RECORD. */
static void test_directory(void **state)
{
	struct fixture *f = *state;

	install("pkg/__init__.py", NULL);
	install("pkg/cli.py", NULL);
	install("pkg/deep/er/x.py", NULL);
	f->site.modules.record.text = SLICE("mine.py,,\n");
	check(f, "pkg", "x", "python ok", "pkg/__init__.py");
	check(f, "pkg.cli", "x", "python ok", "pkg/cli.py");
	f->site.modules.record.text = (struct slice){0};
	check(f, "pkg.cli", "x", "python ok", "pkg/cli.py");
	check(f, "pkg.deep.er.x", "x", "python ok", "pkg/deep/er/x.py");
	check(f, "pkg.deep", "x", "python ok", "pkg/deep");
	check(f, "pkg.absent", "x", "unresolved missing", NULL);
	check(f, "absent.cli", "x", "unresolved missing", NULL);
}

static void test_dangling_link(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(symlink("nowhere", "m.so"), 0);
	install("m.py", NULL);
	check(f, "m", "x", "python ok", "m.py");
}

/* Files that import ignores, by RECORD and by directory; each is preferred to those before it. */
static void test_libraries(void **state)
{
	static const char *const better[] = {
	        "pkg/libtowel.duckdb_extension",
	        "pkg/libtowel.so.0.9.0",
	        "pkg/libtowel.so.0.10",
	        "pkg/libtowel.so",
	        "pkg/towel.duckdb_extension",
	        "pkg/towel.so.2",
	        "pkg/towel.so.10",
	};
	struct fixture *f = *state;
	char record[512] = "";

	for (size_t i = 0; i < sizeof(better) / sizeof(*better); i++) {
		install(better[i], "native.so");
		strcat(strcat(record, better[i]), ",,\n");
		f->site.modules.record.text = (struct slice){0};
		check(f, "pkg.towel", "entry", "native ok", better[i]);
		f->site.modules.record.text = slice_of(record);
		check(f, "pkg.towel", "entry", "native ok", better[i]);
	}
	check(f, "pkg.towel", NULL, "unresolved missing", NULL);
	check(f, "pkg.towel", "no_such", "unresolved missing", NULL);
	check(f, "pkg.towel", "entry.more", "unresolved missing", NULL);
	check(f, "pkg.libtowel", "entry", "native ok", "pkg/libtowel.so");
	install("pkg/towel.py", NULL); /* import precedes all of them */
	f->site.modules.record.text = (struct slice){0};
	check(f, "pkg.towel", "entry", "python ok", "pkg/towel.py");
	install("pkg/libtext.so.1", NULL);
	check(f, "pkg.text", "entry", "unresolved missing", NULL);
	install("pkg/libstray.so.x", "native.so");
	install("pkg/stray.so-1", "native.so");
	check(f, "pkg.stray", "entry", "unresolved missing", NULL);
	install("libtop.so.3", "native.so");
	check(f, "top", "entry", "native ok", "libtop.so.3");
	f->site.editable = true;
	check(f, "pkg.stray", "entry", "unresolved unresolved-editable", NULL);
}

static void test_bundled(void **state)
{
	struct fixture *f = *state;

	f->wanted.group = SLICE("jax_plugins");
	install("jax_plugins/xla/__init__.py", NULL);
	install("jax_plugins/xla/plugin.so", "native.so");
	install("jax_plugins/xla/helper.so", "plain.so");
	install("xla.libs/copy.so", "native.so");
	f->site.modules.record.text =
	        SLICE("jax_plugins/xla/__init__.py,,\njax_plugins/xla/helper.so,,\n"
	              "jax_plugins/xla/plugin.so,sha256=xyz,5\nxla.libs/copy.so,,\n"
	              "jax_plugins/xla/gone.so,,\n");
	check(f, "jax_plugins.xla", NULL, "bundled ok", "jax_plugins/xla/plugin.so");
	assert_true(slice_equal(f->target.symbol, SLICE("GetPjrtApi")));
	assert_true(slice_equal(f->target.sha256, SLICE("sha256=xyz")));
	check(f, "jax_plugins.xla.plugin", "GetPjrtApi", "native ok", "jax_plugins/xla/plugin.so");
	f->site.modules.record.text = (struct slice){0};
	check(f, "jax_plugins.xla", NULL, "bundled ok", "jax_plugins/xla/plugin.so");
	f->wanted.group = SLICE("other_plugins");
	check(f, "jax_plugins.xla", NULL, "python ok", "jax_plugins/xla/__init__.py");
}

static void test_ambiguous(void **state)
{
	struct fixture *f = *state;

	f->wanted.group = SLICE("jax_plugins");
	install("p/__init__.py", NULL);
	install("p/c.so", "native.so");
	install("p/a.so", "native.so");
	install("p/b.so", "native.so");
	f->site.modules.record.text = SLICE("p/__init__.py,,\np/c.so,,\np/a.so,,\np/b.so,,\n");
	check(f, "p", NULL, "unresolved ambiguous", NULL);
	f->site.modules.record.text = (struct slice){0};
	check(f, "p", NULL, "unresolved ambiguous", NULL);
}

static void test_bundle_without_object(void **state)
{
	struct fixture *f = *state;

	f->wanted.group = SLICE("jax_plugins");
	install("p/helper.so", "plain.so");
	f->site.modules.record.text = SLICE("p/__init__.py,,\np/helper.so,,\nm.py,,\n");
	check(f, "p", NULL, "python ok", "p/__init__.py");
	check(f, "m", NULL, "python ok", "m.py");
}

/* A wheel with one file, native.so under the name in the payload. */
static int fetch(void *payload, struct slice path, uint64_t *unpacked, struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t length;

	if (!slice_equal(path, slice_of(payload)))
		return error_set(error, ERROR_NOTFOUND, "not in the wheel");
	bytes = scratch_plugin("native.so", &length);
	*unpacked = length;
	return scratch_memory(bytes, length);
}

static void test_wheel(void **state)
{
	struct fixture *f = *state;
	char name[] = "x-1.data/platlib/pkg/a.so";

	install("pkg/elsewhere.py", NULL); /* not in the wheel */
	f->site.modules.fd = f->site.objects.fd = -1;
	f->site.objects.fetch = fetch;
	f->site.objects.payload = name;
	f->site.modules.record.text =
	        SLICE("x-1.data/platlib/pkg/a.so,sha256=q,1\nx-1.data/purelib/pkg/b.py,,\n"
	              "x-1.data/scripts/pkg/c.py,,\npkg/gone.so,,\n");
	check(f, "pkg.a", "entry", "native ok", "pkg/a.so");
	assert_true(slice_equal(f->target.sha256, SLICE("sha256=q")));
	check(f, "pkg.b", "x", "python ok", "pkg/b.py");
	check(f, "pkg.c", "x", "unresolved missing", NULL);
	check(f, "pkg.gone", "x", "unresolved missing", NULL);
	check(f, "pkg.elsewhere", "x", "unresolved missing", NULL);
	check(f, "pkg", "x", "python ok", "pkg"); /* a package by its files */
}

/* The bytes unpacked are limited, however many entry points lead to large objects. */
static void test_budget(void **state)
{
	struct fixture *f = *state;
	uint64_t examined = OBJECTS_EXAMINED_MAX - 1;
	char name[] = "pkg/a.so";

	f->site.modules.fd = f->site.objects.fd = -1;
	f->site.objects.fetch = fetch;
	f->site.objects.payload = name;
	f->site.objects.examined = &examined;
	f->wanted.module = SLICE("pkg.a");
	f->wanted.attr = SLICE("entry");
	f->site.modules.record.text = SLICE("pkg/a.so,sha256=q,1\n");
	for (int i = 0; i < 2; i++) {
		resolve_uncached(f);
		assert_int_equal(f->target.state, TARGET_NOT_EXAMINED);
		assert_true(examined == OBJECTS_EXAMINED_MAX);
		f->site.objects.payload = "now nobody asks for it";
	}
}

RUN_TESTS(TEST(test_python_by_record), TEST(test_stray_modules), TEST(test_editable),
          TEST(test_native), TEST(test_extension), TEST(test_broken_objects), TEST(test_order),
          TEST(test_order_in_record), TEST(test_directory), TEST(test_dangling_link),
          TEST(test_libraries), TEST(test_bundled), TEST(test_ambiguous),
          TEST(test_bundle_without_object), TEST(test_wheel), TEST(test_budget))

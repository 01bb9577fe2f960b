/*
 * test_plugin_kinds.c - the kinds and names of plugins, by their symbols.
 */
#include "test.h"

#include "db/base/text.h"
#include "libquery/disk/target/plugin_kinds.h"

struct fixture {
	struct plugin_kinds *kinds;
	struct error error;
	char text[256]; /* of found() */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->kinds = plugin_kinds_create();
	return f->kinds && plugin_kinds_add(f->kinds, slice_of(plugin_kinds_text), &f->error) == 0
	               ? 0
	               : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	plugin_kinds_free(f->kinds);
	plugin_kinds_free(NULL);
	error_clear(&f->error);
	free(f);
	return 0;
}

/* "kind name symbol; ..." for a file @name with the space-separated exports @symbols. */
static const char *found(struct fixture *f, const char *name, const char *symbols)
{
	static struct plugin_match match;
	struct plugin_found plugin;
	struct slice rest = slice_of(symbols);
	size_t at = 0, length = 0;

	f->text[0] = '\0';
	plugin_match_begin(&match, f->kinds, slice_of(name));
	while (rest.len > 0) {
		const char *space = memchr(rest.ptr, ' ', rest.len);
		struct slice symbol = space ? slice_between(rest.ptr, space) : rest;

		plugin_match_symbol(&match, symbol);
		rest = slice_from(rest, symbol.len + (space != NULL));
	}
	while (plugin_match_next(&match, &at, &plugin))
		length += (size_t)snprintf(f->text + length, sizeof(f->text) - length,
		                           "%.*s %.*s %.*s;", (int)plugin.kind.len, plugin.kind.ptr,
		                           (int)plugin.name.len, plugin.name.ptr,
		                           (int)plugin.symbol.len, plugin.symbol.ptr);
	return f->text;
}

static void test_shipped(void **state)
{
	static const struct {
		const char *file, *symbols, *found;
	} rows[] = {
	        {"xla_cuda_plugin.so", "x GetPjrtApi y", "pjrt cuda GetPjrtApi;"},
	        {"libtpu.so", "GetPjrtApi", "pjrt tpu GetPjrtApi;"},
	        {"libtpu.so", "GetPjrtApiX XGetPjrtApi", ""},
	        {"libonnxruntime_providers_webgpu.so", "ReleaseEpFactory CreateEpFactories",
	         "onnxruntime webgpu CreateEpFactories;"},
	        {"libonnxruntime_providers_webgpu.so", "CreateEpFactories", ""},
	        {"libadbc_driver_sqlite.so", "AdbcDriverSqliteInit AdbcDriverInit",
	         "adbc sqlite AdbcDriverInit;"},
	        {"libadbc_driver_own.so", "AdbcDriverOwnInit", "adbc own AdbcDriverOwnInit;"},
	        {"vec0.so", "sqlite3_vec_numpy_init sqlite3_vec_init",
	         "sqlite vec0 sqlite3_vec_init;"},
	        {"libsqlite3.so.0", "sqlite3_os_init sqlite3_open", ""},
	        {"x.duckdb_extension", "x_duckdb_cpp_init", "duckdb x x_duckdb_cpp_init;"},
	        {"libx.so", "x_duckdb_cpp_init", ""},
	        {"libpocl-21062cec.so", "clGetExtensionFunctionAddress",
	         "opencl pocl clGetExtensionFunctionAddress;"},
	        {"libOpenCL.so.1", "clGetExtensionFunctionAddress", ""},
	        {"libopenvino_intel_cpu_plugin.so", "create_plugin_engine",
	         "openvino intel_cpu create_plugin_engine;"},
	        {"libnvjpeg_ext.so.0.9.0", "nvimgcodecExtensionModuleEntry",
	         "nvimgcodec nvjpeg nvimgcodecExtensionModuleEntry;"},
	        {"libgsttowel.so", "gst_plugin_towel_get_desc",
	         "gstreamer towel gst_plugin_towel_get_desc;"},
	        {"x.so", "ladspa_descriptor vampGetPluginDescriptor",
	         "ladspa x ladspa_descriptor;vamp x vampGetPluginDescriptor;"},
	        {"_x.cpython-312-x86_64-linux-gnu.so", "GetPjrtApi", ""},
	        {"_x.abi3.so", "GetPjrtApi", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(found(*state, rows[i].file, rows[i].symbols), rows[i].found);
}

static void test_files(void **state)
{
	struct fixture *f = *state;

	assert_true(plugin_kinds_want(f->kinds, SLICE("x.so")));
	assert_true(plugin_kinds_want(f->kinds, SLICE("x.so.1.2")));
	assert_true(plugin_kinds_want(f->kinds, SLICE("x.duckdb_extension")));
	assert_false(plugin_kinds_want(f->kinds, SLICE("x.py")));
	assert_false(plugin_kinds_want(f->kinds, SLICE("so")));
	assert_false(plugin_kinds_want(f->kinds, SLICE("x.so.py")));
	assert_false(plugin_kinds_want(f->kinds, SLICE("x.so.1.py")));
	assert_false(plugin_kinds_want(f->kinds, SLICE("x.cpython-312-x86_64-linux-gnu.so")));
	assert_false(plugin_kinds_want(f->kinds, SLICE("")));
}

/* A later definition replaces the earlier kind of the same name only. */
static void test_kinds_defined_by_the_site(void **state)
{
	struct fixture *f = *state;
	int64_t before = plugin_kinds_digest(f->kinds);

	assert_int_equal(plugin_kinds_add(f->kinds,
	                                  SLICE("[pjrt]\nsymbol = OwnApi\n[own]\nfile = *.own\n"
	                                        "symbol = own_*_entry\nname = symbol\n"),
	                                  &f->error),
	                 0);
	assert_true(plugin_kinds_digest(f->kinds) != before);
	assert_string_equal(found(f, "x.so", "GetPjrtApi"), "");
	assert_string_equal(found(f, "x.so", "OwnApi"), "pjrt x OwnApi;");
	assert_string_equal(found(f, "x.own", "own_y_entry"), "own y own_y_entry;");
	assert_string_equal(found(f, "x.so", "ladspa_descriptor"), "ladspa x ladspa_descriptor;");
}

static void refuse(struct fixture *f, const char *text, int code, const char *part)
{
	int64_t before = plugin_kinds_digest(f->kinds);

	assert_int_equal(plugin_kinds_add(f->kinds, slice_of(text), &f->error), code);
	assert_non_null(strstr(error_text(&f->error), part));
	assert_true(plugin_kinds_digest(f->kinds) == before);
	assert_string_equal(found(f, "libtpu.so", "GetPjrtApi"), "pjrt tpu GetPjrtApi;");
}

static void test_refused(void **state)
{
	char *many = malloc(20 * PLUGIN_RULES_MAX + 64), *at = many;

	refuse(*state, "[pjrt]\nsymbol\n", ERROR_FORMAT, "");
	refuse(*state, "[pjrt]\ncolour = red\n", ERROR_FORMAT, "line 2: 'colour'");
	refuse(*state, "[pjrt]\nsymbol = !x\n", ERROR_FORMAT, "line 2: no symbol");
	refuse(*state, "[pjrt]\nsymbol =\n", ERROR_FORMAT, "line 2: no symbol");
	refuse(*state, "[pjrt]\nsymbol = \xff\n", ERROR_FORMAT, "UTF-8");
	refuse(*state, "[pjrt]\nsymbol = a b c d e f g h i j k l m n o p q\n", ERROR_LIMIT,
	       "line 2: too many");
	at += sprintf(at, "[pjrt]\n");
	for (size_t i = 0; i < PLUGIN_RULES_MAX; i++)
		at += sprintf(at, "symbol = s%zu\n", i);
	refuse(*state, many, ERROR_LIMIT, "too many");
	free(many);
}

RUN_TESTS(TEST(test_shipped), TEST(test_files), TEST(test_kinds_defined_by_the_site),
          TEST(test_refused))

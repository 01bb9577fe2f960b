/*
 * test_sites.c - the site directories of a machine, found by their names in another root, which
 * contains only what the test creates, and by environment variables.
 */
#include "libquery/sites.h"

#include <sys/stat.h>

#include "scratch.h"

struct fixture {
	struct sites sites;
	char *text; /* the paths, each followed by a newline */
};

static int setup(void **state)
{
	scratch_fixture(state, sizeof(struct fixture));
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sites_free(&f->sites);
	free(f->text);
	return scratch_teardown(state);
}

/* Compare the paths, made relative to the scratch directory; then clear them. */
static void check(struct fixture *f, const char *expected)
{
	size_t size, top = strlen(scratch_top());
	FILE *stream;

	free(f->text);
	stream = open_memstream(&f->text, &size);
	for (size_t i = 0; i < f->sites.count; i++) {
		const char *path = f->sites.paths[i];

		fprintf(stream, "%s\n", strncmp(path, scratch_top(), top) ? path : path + top);
	}
	fclose(stream);
	assert_string_equal(f->text, expected);
	sites_free(&f->sites);
}

static void test_no_duplicates(void **state)
{
	struct fixture *f = *state;

	assert_true(sites_add(&f->sites, "/b"));
	assert_true(sites_add(&f->sites, "/a"));
	assert_true(sites_add(&f->sites, "/b"));
	check(f, "/b\n/a\n");
}

static void test_debian(void **state)
{
	struct fixture *f = *state;

	scratch_directory("image/usr/lib/python3/dist-packages");
	scratch_directory("image/usr/lib/python3.11/lib-dynload");
	scratch_directory("image/usr/lib/python3.11/dist-packages");
	scratch_directory("image/usr/local/lib/python3.11/dist-packages");
	scratch_directory("image/usr/local/lib/python3.9/dist-packages");
	scratch_directory("image/usr/bin");
	assert_int_equal(symlink("python3.11", "image/usr/bin/python3"), 0);
	assert_int_equal(sites_default(&f->sites, NULL, scratch_path("image"), NULL), 0);
	check(f, "/usr/local/lib/python3.11/dist-packages\n/usr/lib/python3/dist-packages\n"
	         "/usr/lib/python3.11/dist-packages\n");
	assert_int_equal(sites_default(&f->sites, "3.9", scratch_path("image"), NULL), 0);
	check(f, "/usr/local/lib/python3.9/dist-packages\n/usr/lib/python3/dist-packages\n");
	assert_int_equal(sites_of_machine(&f->sites, scratch_path("image"), NULL), 0);
	check(f, "/usr/local/lib/python3.11/dist-packages\n/usr/local/lib/python3.11\n"
	         "/usr/local/lib/python3.9/dist-packages\n/usr/local/lib/python3.9\n"
	         "/usr/lib/python3.11/dist-packages\n/usr/lib/python3.11\n"
	         "/usr/lib/python3.11/lib-dynload\n/usr/lib/python3/dist-packages\n");
}

static void test_others(void **state)
{
	struct fixture *f = *state;

	scratch_directory("image/usr/lib/python3.9/site-packages");
	scratch_directory("image/usr/lib/python3.13/site-packages");
	scratch_directory("image/usr/lib64/python3.13/site-packages");
	scratch_directory("image/usr/local/lib/python3.13/site-packages");
	assert_int_equal(sites_default(&f->sites, NULL, scratch_path("image"), NULL), 0);
	check(f, "/usr/local/lib/python3.13/site-packages\n/usr/lib64/python3.13/site-packages\n"
	         "/usr/lib/python3.13/site-packages\n");
}

static void test_virtual_environment(void **state)
{
	struct fixture *f = *state;

	scratch_directory("venv/lib/python3.12/site-packages");
	scratch_directory("venv/lib/python3.9/site-packages");
	scratch_directory("conda/lib/python3.13/site-packages");
	assert_int_equal(symlink("lib", "venv/lib64"), 0);
	setenv("CONDA_PREFIX", scratch_path("conda"), 1);
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "/conda/lib/python3.13/site-packages\n");
	setenv("VIRTUAL_ENV", scratch_path("venv"), 1);
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "/venv/lib/python3.12/site-packages\n");
	assert_int_equal(sites_default(&f->sites, "3.9", NULL, NULL), 0);
	check(f, "/venv/lib/python3.9/site-packages\n");
	setenv("VIRTUAL_ENV", scratch_path("absent"), 1);
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "");
}

/* PyPy's directory is named after its executable, which may be just pypy3. */
static void test_pypy(void **state)
{
	struct fixture *f = *state;

	scratch_directory("venv/lib/pypy3.10/site-packages");
	scratch_directory("short/lib/pypy3/site-packages");
	setenv("VIRTUAL_ENV", scratch_path("venv"), 1);
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "/venv/lib/pypy3.10/site-packages\n");
	setenv("VIRTUAL_ENV", scratch_path("short"), 1);
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "/short/lib/pypy3/site-packages\n");
}

static void test_given(void **state)
{
	struct fixture *f = *state;

	setenv("VIRTUAL_ENV", scratch_path("venv"), 1);
	setenv("ENTRYDB_PATH", "/b::rel:/a:/b", 1);
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "/b\n\nrel\n/a\n");
	assert_int_equal(sites_default(&f->sites, NULL, scratch_path("image"), NULL), 0);
	check(f, "");
}

static void test_pth(void **state)
{
	struct fixture *f = *state;

	scratch_directory("venv/lib/python3.12/site-packages/sub");
	scratch_directory("source/tree");
	scratch_directory("nested");
	setenv("VIRTUAL_ENV", scratch_path("venv"), 1);
	scratch_text("venv/lib/python3.12/site-packages/b.pth",
	             "# a comment\nsub\nabsent\n\nimport os; os.abort()\nimport\tos\n");
	scratch_text("venv/lib/python3.12/site-packages/a.pth", scratch_path("source/tree  \r"));
	scratch_text("venv/lib/python3.12/site-packages/.hidden.pth", scratch_path("nested"));
	scratch_text("venv/lib/python3.12/site-packages/sub/c.pth", scratch_path("nested"));
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "/venv/lib/python3.12/site-packages\n/source/tree\n"
	         "/venv/lib/python3.12/site-packages/sub\n");
}

/* Directories from a .pth file follow its own site directory, not all site directories. */
static void test_pth_of_several(void **state)
{
	struct fixture *f = *state;

	scratch_directory("image/usr/lib/python3/dist-packages");
	scratch_directory("image/usr/local/lib/python3.11/dist-packages");
	scratch_directory("image/co/deep");
	scratch_text("image/usr/local/lib/python3.11/dist-packages/dev.pth",
	             "/co/./deep/..\n../../../../lib/python3/dist-packages\n/co/egg.egg\n");
	scratch_text("image/usr/lib/python3/dist-packages/own.pth", "/co/deep\n/co\n");
	scratch_text("image/co/egg.egg", "");
	assert_int_equal(sites_default(&f->sites, "3.11", scratch_path("image"), NULL), 0);
	check(f, "/usr/local/lib/python3.11/dist-packages\n/co\n"
	         "/usr/lib/python3/dist-packages\n/co/egg.egg\n/co/deep\n");
}

/* FIFOs and endless files do not block. */
static void test_strange_pth(void **state)
{
	struct fixture *f = *state;

	scratch_directory("venv/lib/python3.12/site-packages/a");
	setenv("VIRTUAL_ENV", scratch_path("venv"), 1);
	assert_int_equal(mkfifo("venv/lib/python3.12/site-packages/a.pth", 0600), 0);
	assert_int_equal(symlink("/dev/zero", "venv/lib/python3.12/site-packages/b.pth"), 0);
	assert_int_equal(mkfifo("venv/pyvenv.cfg", 0600), 0);
	scratch_text("venv/lib/python3.12/site-packages/c.pth", "\xef\xbb\xbf"
	                                                        "a\ra\n");
	assert_int_equal(sites_default(&f->sites, NULL, NULL, NULL), 0);
	check(f, "/venv/lib/python3.12/site-packages\n/venv/lib/python3.12/site-packages/a\n");
}

static void test_of_prefix(void **state)
{
	struct fixture *f = *state;

	scratch_directory("p/lib/python3.12/site-packages");
	scratch_directory("p/lib64/python3.12/site-packages");
	scratch_directory("p/lib/pypy3.10/site-packages");
	scratch_directory("p/lib/pythonic/site-packages");
	assert_int_equal(sites_of_prefix(&f->sites, scratch_path("p"), NULL, NULL), 0);
	check(f, "/p/lib/python3.12/site-packages\n/p/lib/python3.12\n"
	         "/p/lib/pypy3.10/site-packages\n/p/lib/pypy3.10\n"
	         "/p/lib64/python3.12/site-packages\n/p/lib64/python3.12\n");
	assert_int_equal(sites_of_prefix(&f->sites, "/p", scratch_top(), NULL), 0);
	assert_int_equal(f->sites.count, 6);
	assert_string_equal(f->sites.paths[0], "/p/lib/python3.12/site-packages");
	sites_free(&f->sites);
	assert_int_equal(sites_of_prefix(&f->sites, "/absent", NULL, NULL), 0);
	check(f, "");
}

RUN_TESTS(TEST(test_no_duplicates), TEST(test_debian), TEST(test_others),
          TEST(test_virtual_environment), TEST(test_pypy), TEST(test_given), TEST(test_pth),
          TEST(test_pth_of_several), TEST(test_strange_pth), TEST(test_of_prefix))

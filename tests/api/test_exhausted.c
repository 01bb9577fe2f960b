/*
 * test_exhausted.c - a host without free file descriptors or memory gets an error, never an
 * incomplete answer, and the right answer as soon as it has them again.
 */
#include "site.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define DESCRIPTORS 128

/* --- taking resources away --- */

static int taken[DESCRIPTORS];
static size_t taken_count;

static void take_descriptors(void)
{
	struct rlimit limit;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = DESCRIPTORS;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (taken_count < DESCRIPTORS && (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		taken[taken_count++] = fd;
	assert_in_range(taken_count, 1, DESCRIPTORS - 1);
}

static void return_descriptors(void)
{
	while (taken_count > 0)
		close(taken[--taken_count]);
}

struct block {
	struct block *next;
};

static struct block *blocks;

/* Under an emulator that ignores the limit, the test would exhaust the machine's memory. */
static void skip_without_limits(void)
{
	void *more = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (more == MAP_FAILED)
		return;
	munmap(more, 1);
	print_message("SKIP: this machine ignores RLIMIT_AS\n");
	skip();
}

/* Allocate blocks down to the smallest size of malloc(). */
static void take_memory(void)
{
	struct rlimit limit;
	struct block *block;

	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = 1;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	skip_without_limits();
	for (size_t size = (size_t)1 << 20; size >= sizeof(*block); size /= 2)
		while ((block = malloc(size))) {
			block->next = blocks;
			blocks = block;
		}
}

static void return_memory(void)
{
	struct rlimit limit;

	while (blocks) {
		struct block *block = blocks;

		blocks = block->next;
		free(block);
	}
	if (getrlimit(RLIMIT_AS, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_AS, &limit);
	}
}

static int teardown(void **state)
{
	return_memory();
	return_descriptors();
	return site_teardown(state);
}

/* --- the site and the queries --- */

static void make_site(struct site *site)
{
	site_distribution(site, SITE_PACKAGES, "alpha-1.dist-info", "alpha", "1", "[g]\na = m:a\n");
	site_distribution(site, SITE_PACKAGES, "beta-1.dist-info", "beta", "1", "[g]\nb = m:b\n");
}

/* The rows are trusted and no longer watched. */
static void index_site(struct site *site)
{
	make_site(site);
	site_sleep(SITE_SETTLED);
	site_run(site, "update", site_path(site, "venv"), NULL);
}

static void open_site(struct site *site, enum entrydb_fresh fresh)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;

	options.fresh = fresh;
	site_open(site, &options, SITE_PACKAGES, NULL);
}

static void assert_complete(struct site *site)
{
	const char *names = site_select(site, "g", NULL);

	assert_non_null(strstr(names, "a=m:a@alpha-1.dist-info"));
	assert_non_null(strstr(names, "b=m:b@beta-1.dist-info"));
	assert_int_equal(entrydb_set_problem_count(site->set), 0);
}

/* A complete answer or an error. Does not use cmocka, which needs memory. */
static int ask(struct site *site)
{
	entrydb_set *set = NULL;
	int code = entrydb_select(site->db, "g", NULL, &set, NULL);

	if (code == 0 && (entrydb_set_count(set) != 2 || entrydb_set_problem_count(set) != 0))
		code = 1;
	entrydb_set_free(set);
	return code;
}

static int survey(struct site *site)
{
	entrydb_set *set = NULL;
	int code = entrydb_survey(site->db, &set, NULL);

	if (code == 0 && entrydb_set_distribution_count(set) != 2)
		code = 1;
	entrydb_set_free(set);
	return code;
}

/* --- file descriptors --- */

static void test_scan_without_descriptors(void **state)
{
	struct site *site = *state;

	make_site(site);
	open_site(site, ENTRYDB_FRESH_ROOTS);
	take_descriptors();
	assert_int_equal(ask(site), ENTRYDB_EIO);
	assert_int_equal(survey(site), ENTRYDB_EIO);
	return_descriptors();
	assert_complete(site);
	site_distribution(site, SITE_PACKAGES, "gamma-1.dist-info", "gamma", "1", "[h]\nc = m:c\n");
	take_descriptors();
	assert_int_equal(ask(site), ENTRYDB_EIO);
	return_descriptors();
	assert_complete(site);
}

/* The database is retried, too, at each level. */
static void test_database_without_descriptors(void **state)
{
	static const enum entrydb_fresh levels[] = {ENTRYDB_FRESH_TRUST, ENTRYDB_FRESH_ROOTS,
	                                            ENTRYDB_FRESH_EXACT};
	struct site *site = *state;

	index_site(site);
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		open_site(site, levels[i]);
		take_descriptors();
		assert_int_equal(ask(site), ENTRYDB_EIO);
		return_descriptors();
		assert_complete(site);
		assert_int_equal(site_state(site, 0), levels[i] == ENTRYDB_FRESH_EXACT
		                                              ? ENTRYDB_PATH_SCANNED
		                                              : ENTRYDB_PATH_FRESH);
		site_close(site);
	}
}

/* One descriptor suffices to scan, but not to open the database: the disk is read. */
static void test_one_descriptor(void **state)
{
	struct site *site = *state;
	int code;

	index_site(site);
	open_site(site, ENTRYDB_FRESH_ROOTS);
	take_descriptors();
	for (int i = 0; i < 4; i++) {
		close(taken[--taken_count]);
		code = ask(site);
		assert_true(code == 0 || code == ENTRYDB_EIO);
	}
	assert_int_equal(code, 0);
	return_descriptors();
	assert_complete(site);
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
}

static void test_target_without_descriptors(void **state)
{
	struct site *site = *state;

	make_site(site);
	site_write(site, SITE_PACKAGES "/m.py", "");
	open_site(site, ENTRYDB_FRESH_ROOTS);
	assert_complete(site);
	take_descriptors();
	assert_int_equal(entrydb_resolve(site->db, entrydb_set_get(site->set, 0), &site->target,
	                                 &site->error),
	                 ENTRYDB_EIO);
	assert_null(site->target);
	return_descriptors();
	assert_int_equal(entrydb_resolve(site->db, entrydb_set_get(site->set, 0), &site->target,
	                                 &site->error),
	                 0);
	assert_int_equal(entrydb_target_kind(site->target), ENTRYDB_KIND_PYTHON);
}

/* --- memory --- */

static void check_memory(struct site *site)
{
	int selected, surveyed;

#ifdef __SANITIZE_ADDRESS__
	print_message("AddressSanitizer has its own allocator\n");
	skip();
#endif
	take_memory();
	selected = ask(site);
	surveyed = survey(site);
	return_memory();
	assert_int_equal(selected, ENTRYDB_ENOMEM);
	assert_int_equal(surveyed, ENTRYDB_ENOMEM);
	assert_complete(site);
}

static void test_scan_without_memory(void **state)
{
	struct site *site = *state;

	make_site(site);
	open_site(site, ENTRYDB_FRESH_ROOTS);
	check_memory(site);
	check_memory(site); /* the directory has been read before */
}

static void test_database_without_memory(void **state)
{
	struct site *site = *state;

	index_site(site);
	open_site(site, ENTRYDB_FRESH_ROOTS);
	check_memory(site);
	check_memory(site);
	assert_int_equal(site_state(site, 0), ENTRYDB_PATH_FRESH);
}

#define EXHAUSTED_TEST(function) cmocka_unit_test_setup_teardown(function, site_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EXHAUSTED_TEST(test_scan_without_descriptors),
	        EXHAUSTED_TEST(test_database_without_descriptors),
	        EXHAUSTED_TEST(test_one_descriptor),
	        EXHAUSTED_TEST(test_target_without_descriptors),
	        EXHAUSTED_TEST(test_scan_without_memory),
	        EXHAUSTED_TEST(test_database_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

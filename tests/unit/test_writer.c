/*
 * test_writer.c - what is written comes back; and whatever fails on the way, for
 * want of memory, space or rights, the published file is the old one or the new
 * one, whole, and nothing is left beside it.
 */
#include "writer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "reader.h"
#include "records.h"
#include "scratch.h"

#define FILE_NAME "d/e/entry_points.db"
#define NOBODY    ((uid_t)65534)
#define STRIDE    7 /* of the failures that stay: SQLite asks for memory often */

struct fixture {
	struct writer *writer;
	struct reader *reader;
	struct error error;
	struct root_record root;
	char *before, *after, *now;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_enter();
	*state = f;
	return f ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	writer_close(f->writer);
	reader_close(f->reader);
	error_clear(&f->error);
	root_record_free(&f->root);
	free(f->before);
	free(f->after);
	free(f->now);
	free(f);
	scratch_leave();
	return 0;
}

static int open_writer(struct fixture *f)
{
	struct writer_options options = {
	        .file = FILE_NAME, .command = "test", .lock_timeout = 50, .may_replace = true};

	writer_close(f->writer);
	f->writer = NULL;
	return writer_open(&options, &f->writer, &f->error);
}

static void store(struct fixture *f, const char *path, size_t count)
{
	if (records_store(FILE_NAME, path, count, &f->error) < 0)
		fail_msg("%s", error_text(&f->error));
}

static const char *dump(struct fixture *f)
{
	free(f->now);
	f->now = records_dump(FILE_NAME, &f->error);
	if (!f->now)
		fail_msg("%s", error_text(&f->error));
	return f->now;
}

#define STAMPS "-9223372036854775808|9223372036854775807|\n"
#define ENTRY_POINTS                                                                               \
	"    g|n0x|not a value|-|-|-|\n"                                                           \
	"    g|native|p.n:entry [x,y]|p.n|entry|x,y|native|ok|p/n.so|entry|abcd|sha256=x|62|\n"    \
	"    |||-|-|-|\n"

/* By position, not by id. */
static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	struct stat status;

	store(f, "r", 3);
	assert_string_equal(
	        dump(f), "r|1|1|1|2|3|1|1|1|3|\n"
	                 "  d2-1.dist-info|d1|D|1|why it is broken|sha256=y|1048578|0|1|1|1|" STAMPS
	                         ENTRY_POINTS
	                 "  d1-1.dist-info|d1|D|-|-|-|1048577|1|1|0|0|" STAMPS ENTRY_POINTS
	                 "  d0-1.dist-info|d0|D|-|-|-|1048576|2|1|0|1|" STAMPS "index|r|-|test|\n");
	assert_int_equal(stat(FILE_NAME, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_false(scratch_exists(FILE_NAME ".new"));
	assert_true(scratch_exists(FILE_NAME ".lock"));
}

static void test_roots_have_their_own_ids(void **state)
{
	struct fixture *f = *state;

	store(f, "one", 1);
	store(f, "two", 2);
	dump(f);
	assert_non_null(strstr(f->now, "one|1|"));
	assert_non_null(strstr(f->now, "two|2|"));
	assert_non_null(strstr(f->now, "|1048576|"));
	assert_non_null(strstr(f->now, "|2097153|"));
}

static void test_nothing_without_commit(void **state)
{
	struct fixture *f = *state;
	ino_t inode;
	struct stat status;

	assert_int_equal(open_writer(f), 0);
	writer_close(f->writer);
	f->writer = NULL;
	assert_false(scratch_exists(FILE_NAME));
	store(f, "r", 1);
	assert_int_equal(stat(FILE_NAME, &status), 0);
	inode = status.st_ino;
	assert_int_equal(open_writer(f), 0);
	assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0); /* nothing has changed */
	assert_int_equal(open_writer(f), 0);
	assert_int_equal(writer_drop_root(f->writer, 1, &f->error), 0);
	writer_close(f->writer);
	f->writer = NULL;
	assert_int_equal(stat(FILE_NAME, &status), 0);
	assert_int_equal(status.st_ino, inode);
	assert_false(scratch_exists(FILE_NAME ".new"));
	writer_close(NULL);
}

static int count_root(void *payload, const struct root_record *root)
{
	size_t *count = payload;

	(void)root;
	return (int)++*count == 2 ? 17 : 0;
}

static void test_find_and_change(void **state)
{
	struct fixture *f = *state;
	size_t count = 0;

	store(f, "r", 3);
	store(f, "s", 0);
	assert_int_equal(open_writer(f), 0);
	assert_null(writer_was_rebuilt(f->writer));
	assert_int_equal(writer_roots(f->writer, count_root, &count, &f->error), 17);
	assert_int_equal(writer_find_root(f->writer, SLICE("absent"), &f->root, &f->error), 0);
	assert_int_equal(writer_find_root(f->writer, SLICE("r"), &f->root, &f->error), 1);
	assert_int_equal(f->root.distribution_count, 3);
	f->root.distributions[0].position = 7; /* in order of position: d2, d1, d0 */
	assert_int_equal(writer_move_distribution(f->writer, &f->root.distributions[0], &f->error),
	                 0);
	assert_int_equal(
	        writer_drop_distribution(f->writer, f->root.distributions[1].id, &f->error), 0);
	assert_int_equal(
	        writer_put_distribution(f->writer, &f->root, &f->root.distributions[2], &f->error),
	        0);
	assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0);
	dump(f);
	assert_non_null(
	        strstr(f->now, "d2-1.dist-info|d1|D|1|why it is broken|sha256=y|1048578|7|"));
	assert_null(strstr(f->now, "d1-1.dist-info"));
	assert_non_null(strstr(f->now, "d0-1.dist-info|d0|D|-|-|-|1048576|2|1|0|1|" STAMPS "  d2"));
}

/* How many entry points called "native" come from a name that another distribution has, too. */
static size_t count_contested(struct fixture *f)
{
	struct reader_row row;
	size_t count = 0;

	assert_int_equal(reader_open(FILE_NAME, (uid_t)-1, &f->reader, &f->error), 0);
	assert_int_equal(reader_select(f->reader, SLICE("g"), SLICE("native"), &f->error), 0);
	while (reader_next(f->reader, &row, &f->error) > 0)
		count += row.contested;
	reader_close(f->reader);
	f->reader = NULL;
	return count;
}

static void test_contested(void **state)
{
	struct fixture *f = *state;

	store(f, "r", 2);
	assert_int_equal(count_contested(f), 0);
	store(f, "s", 2); /* d0 and d1 are there, too */
	assert_int_equal(count_contested(f), 2);
	store(f, "t", 5); /* d1, again called d1, d3, d4 */
	assert_int_equal(count_contested(f), 4);
	assert_int_equal(open_writer(f), 0);
	assert_int_equal(writer_drop_root(f->writer, 3, &f->error), 0);
	assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0);
	assert_int_equal(count_contested(f), 2);
	assert_int_equal(open_writer(f), 0);
	assert_int_equal(writer_find_root(f->writer, SLICE("s"), &f->root, &f->error), 1);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
		        writer_drop_distribution(f->writer, f->root.distributions[i].id, &f->error),
		        0);
	assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0);
	assert_int_equal(count_contested(f), 0);
}

static void test_locked(void **state)
{
	struct fixture *f = *state;
	struct writer_options options = {.file = FILE_NAME, .lock_timeout = 30};
	struct writer *second = NULL;

	assert_int_equal(open_writer(f), 0);
	assert_int_equal(writer_open(&options, &second, &f->error), ERROR_BUSY);
	assert_null(second);
	assert_non_null(strstr(error_text(&f->error), FILE_NAME));
	assert_true(scratch_exists(FILE_NAME ".new")); /* the first one's */
}

/* --- what was there before --- */

static void test_rebuilt_with_its_events(void **state)
{
	struct fixture *f = *state;
	size_t length;
	char *bytes;

	store(f, "r", 3);
	bytes = scratch_read(FILE_NAME, &length);
	bytes[63] = 99; /* user_version */
	scratch_write(FILE_NAME, bytes, length);
	free(bytes);
	assert_int_equal(open_writer(f), 0);
	assert_non_null(strstr(writer_was_rebuilt(f->writer), "version 99"));
	assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0);
	dump(f);
	assert_ptr_equal(strstr(f->now, "index|r|-|test|\nrepair||"), f->now);
	assert_true(scratch_exists(FILE_NAME ".damaged"));
}

static void test_rebuilt_when_truncated(void **state)
{
	static const size_t lengths[] = {0, 1, 15, 16, 40, 99, 100, 511, 512, 4095, 4096, 5000};
	struct fixture *f = *state;
	size_t whole;
	char *bytes;

	store(f, "old", 3);
	bytes = scratch_read(FILE_NAME, &whole);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		scratch_write(FILE_NAME, bytes, lengths[i]);
		store(f, "r", 1);
		assert_non_null(strstr(dump(f), "r|1|"));
	}
	free(bytes);
}

static void test_foreign_files_are_left_alone(void **state)
{
	struct fixture *f = *state;
	struct writer_options options = {.file = "named.db", .may_replace = false};
	size_t length;
	char *bytes;

	scratch_text("named.db", "somebody's letter");
	assert_int_equal(writer_open(&options, &f->writer, &f->error), ERROR_FORMAT);
	assert_non_null(strstr(error_text(&f->error), "--db"));
	bytes = scratch_read("named.db", &length);
	assert_memory_equal(bytes, "somebody's letter", length);
	free(bytes);
	store(f, "r", 1);
	bytes = scratch_read(FILE_NAME, &length);
	memset(bytes + 68, 7, 4); /* application_id */
	scratch_write(FILE_NAME, bytes, length);
	free(bytes);
	assert_int_equal(open_writer(f), ERROR_INVALID);
	assert_non_null(strstr(error_text(&f->error), "not one of entrydb"));
}

/* --- failures --- */

/* Afterwards: the old or the new file, and no other. Returns whether it is the new one. */
static bool check_published(struct fixture *f, int code)
{
	const char *now = dump(f);
	bool is_new = strcmp(now, f->after) == 0;

	if (!is_new)
		assert_string_equal(now, f->before);
	assert_true(code < 0 || is_new);
	assert_false(scratch_exists(FILE_NAME ".new"));
	assert_false(scratch_exists(FILE_NAME ".new-journal"));
	assert_false(scratch_exists(FILE_NAME ".damaged"));
	return is_new;
}

static void restore(struct fixture *f)
{
	unlink(FILE_NAME);
	store(f, "r", 3);
	free(f->before);
	f->before = strdup(dump(f));
}

static void prepare(struct fixture *f)
{
	restore(f);
	store(f, "s", 4);
	f->after = strdup(dump(f));
	restore(f);
}

static void fail_in_turn(struct fixture *f, enum fault fault, bool stay, int expected)
{
	bool struck = true;

	prepare(f);
	for (long at = 0; struck; at += stay ? STRIDE : 1) {
		int code;

		error_clear(&f->error);
		faults_begin(fault, at, stay);
		code = records_store(FILE_NAME, "s", 4, &f->error);
		struck = faults_end();
		assert_int_equal(f->error.code, code);
		if (code < 0 && code != expected)
			fail_msg("failure %ld gives %d: %s", at, code, error_text(&f->error));
		error_clear(&f->error);
		if (check_published(f, code))
			restore(f);
	}
}

static void test_no_memory_once(void **state)
{
	fail_in_turn(*state, FAULT_MEMORY, false, ERROR_NOMEM);
}

static void test_no_memory_from_then_on(void **state)
{
	fail_in_turn(*state, FAULT_MEMORY, true, ERROR_NOMEM);
}

static void test_system_calls_fail_once(void **state)
{
	fail_in_turn(*state, FAULT_SYSTEM, false, ERROR_IO);
}

static void test_system_calls_fail_from_then_on(void **state)
{
	fail_in_turn(*state, FAULT_SYSTEM, true, ERROR_IO);
}

/* As on a full disk: files may not grow beyond a size. */
static void test_file_size_limit(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, limit;
	int code = -1;

	prepare(f);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	for (limit.rlim_cur = 0; code < 0; limit.rlim_cur += 4096) {
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		code = records_store(FILE_NAME, "s", 4, &f->error);
		setrlimit(RLIMIT_FSIZE, &before);
		assert_true(code == 0 || code == ERROR_IO);
		check_published(f, code);
	}
	signal(SIGXFSZ, SIG_DFL);
	assert_true(limit.rlim_cur > 16384);
}

/* As another user, when the tests run as root, to whom nothing is read-only. */
static void test_read_only_directory(void **state)
{
	struct fixture *f = *state;
	bool root = geteuid() == 0;
	int code;

	store(f, "r", 1);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(chmod("d/e", 0555), 0);
	if (root)
		assert_int_equal(seteuid(NOBODY), 0);
	code = open_writer(f);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod("d/e", 0755), 0);
	assert_int_equal(code, ERROR_PERMISSION);
	assert_non_null(strstr(error_text(&f->error), FILE_NAME));
}

static void test_lock_is_no_link(void **state)
{
	struct fixture *f = *state;

	scratch_directory("d/e");
	assert_int_equal(symlink("/etc/passwd", FILE_NAME ".lock"), 0);
	assert_int_equal(open_writer(f), ERROR_IO);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_round_trip),
	        TEST(test_roots_have_their_own_ids),
	        TEST(test_nothing_without_commit),
	        TEST(test_find_and_change),
	        TEST(test_contested),
	        TEST(test_locked),
	        TEST(test_rebuilt_with_its_events),
	        TEST(test_rebuilt_when_truncated),
	        TEST(test_foreign_files_are_left_alone),
	        TEST(test_no_memory_once),
	        TEST(test_no_memory_from_then_on),
	        TEST(test_system_calls_fail_once),
	        TEST(test_system_calls_fail_from_then_on),
	        TEST(test_file_size_limit),
	        TEST(test_read_only_directory),
	        TEST(test_lock_is_no_link),
	};

	faults_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

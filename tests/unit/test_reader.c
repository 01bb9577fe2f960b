/*
 * test_reader.c - which files are trusted, and what is read from them; lack of memory and damaged
 * pages lead to an error and never to a partial answer.
 */
#include "db/document.h"
#include "db/reader.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "db/base/trust.h"
#include "faults.h"
#include "records.h"
#include "scratch.h"

#define FILE_NAME "a b?#%41/c.db" /* characters with a meaning in URIs */
#define STRANGER  ((uid_t)12345)
#define NOT_ASKED ((uid_t)-1)

struct fixture {
	struct reader *reader;
	struct root_record root;
	struct error error;
	char *whole, *now;
	size_t count;
};

static int setup(void **state)
{
	scratch_fixture(state, sizeof(struct fixture));
	assert_int_equal(records_store(FILE_NAME, "r", 4, NULL), 0);
	return records_store(FILE_NAME, "s", 1, NULL);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	reader_close(f->reader);
	reader_close(NULL);
	root_record_free(&f->root);
	error_clear(&f->error);
	free(f->whole);
	free(f->now);
	return scratch_teardown(state);
}

static int open_file(struct fixture *f, const char *file, uid_t owner)
{
	reader_close(f->reader);
	f->reader = NULL;
	return reader_open(file, owner, &f->reader, &f->error);
}

static void refuse(struct fixture *f, const char *file, int code, const char *part)
{
	assert_int_equal(open_file(f, file, NOT_ASKED), code);
	assert_null(f->reader);
	assert_non_null(strstr(error_text(&f->error), part));
	assert_non_null(strstr(error_text(&f->error), file));
}

/* --- opening --- */

static void test_refused(void **state)
{
	struct fixture *f = *state;

	refuse(f, "absent.db", ERROR_NOTFOUND, "No such file");
	refuse(f, "absent/x.db", ERROR_NOTFOUND, "No such file");
	scratch_text("empty.db", "");
	refuse(f, "empty.db", ERROR_FORMAT, "not a SQLite database");
	scratch_text("text.db", "a letter");
	refuse(f, "text.db", ERROR_FORMAT, "not a SQLite database");
	scratch_text("short.db", "SQLite format 3");
	assert_int_equal(truncate("short.db", 50), 0);
	refuse(f, "short.db", ERROR_FORMAT, "truncated");
	scratch_directory("directory.db");
	refuse(f, "directory.db", ERROR_FORMAT, "not a regular file");
}

static void change_header(size_t at, char value)
{
	size_t length;
	char *bytes = scratch_read(FILE_NAME, &length);

	bytes[at] = value;
	scratch_write(FILE_NAME, bytes, length);
	free(bytes);
}

static void test_other_versions(void **state)
{
	struct fixture *f = *state;

	change_header(63, 2);
	refuse(f, FILE_NAME, ERROR_FORMAT, "version 2");
	change_header(68, 'X');
	refuse(f, FILE_NAME, ERROR_INVALID, "not one of entrydb");
}

static void test_trust(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(chmod(FILE_NAME, 0646), 0);
	refuse(f, FILE_NAME, ERROR_PERMISSION, "chmod go-w");
	assert_int_equal(chmod(FILE_NAME, 0664), 0);
	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	if (geteuid() != 0)
		return; /* only root can give files away */
	assert_int_equal(chown(FILE_NAME, STRANGER, STRANGER), 0);
	refuse(f, FILE_NAME, ERROR_PERMISSION, "user 12345");
	assert_int_equal(open_file(f, FILE_NAME, STRANGER + 1), ERROR_PERMISSION);
	assert_int_equal(open_file(f, FILE_NAME, STRANGER), 0);
	assert_int_equal(reader_status(f->reader).owner, STRANGER);
	assert_int_equal(reader_status(f->reader).mode, 0664);
	assert_int_equal(chown(FILE_NAME, 0, STRANGER), 0);
	refuse(f, FILE_NAME, ERROR_PERMISSION, "chmod go-w");
}

static void test_link(void **state)
{
	assert_int_equal(symlink(scratch_path(FILE_NAME), "link.db"), 0);
	refuse(*state, "link.db", ERROR_PERMISSION, "symbolic link");
}

static void test_nothing_is_written(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	assert_int_equal(reader_root(f->reader, SLICE("r"), &f->root, &f->error), 1);
	assert_false(scratch_exists(FILE_NAME "-journal"));
	assert_false(scratch_exists(FILE_NAME "-wal"));
	assert_false(scratch_exists(FILE_NAME "-shm"));
}

static void test_is_current(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	assert_true(reader_is_current(f->reader));
	assert_int_equal(records_store(FILE_NAME, "t", 1, NULL), 0);
	assert_false(reader_is_current(f->reader));
	assert_int_equal(reader_root(f->reader, SLICE("t"), &f->root, &f->error),
	                 0); /* still the old file */
	unlink(FILE_NAME);
	assert_false(reader_is_current(f->reader));
	assert_int_equal(reader_root(f->reader, SLICE("r"), &f->root, &f->error), 1);
}

/* --- reading --- */

static int count_holder(void *payload, struct distribution_record *holder)
{
	struct fixture *f = payload;

	assert_int_equal(ROOT_OF_DISTRIBUTION(holder->id), 1);
	assert_true(holder->has_metadata);
	f->count++;
	return 0;
}

static int check_problem(void *payload, struct distribution_record *problem)
{
	struct fixture *f = payload;

	assert_true(slice_equal(problem->directory, SLICE("d2-1.dist-info")));
	assert_true(slice_equal(problem->error, SLICE("why it is broken")));
	assert_int_equal(problem->position, 1);
	f->count++;
	return 17;
}

static void test_holders_and_problems(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	assert_int_equal(reader_named(f->reader, SLICE("d1"), count_holder, f, &f->error), 0);
	assert_int_equal(f->count, 2);
	assert_int_equal(reader_named(f->reader, SLICE("d9"), count_holder, f, &f->error), 0);
	assert_int_equal(f->count, 2);
	assert_int_equal(reader_broken(f->reader, 1, check_problem, f, &f->error), 17);
	assert_int_equal(reader_broken(f->reader, 2, check_problem, f, &f->error), 0);
	assert_int_equal(f->count, 3);
}

static size_t count_rows(struct fixture *f, struct slice group, struct slice name)
{
	struct reader_row row;
	size_t count = 0;
	int code = reader_select(f->reader, false, group, name, &f->error);

	while (code == 0 && (code = reader_next(f->reader, &row, &f->error)) > 0) {
		assert_int_equal(row.root, 1);
		assert_int_equal(row.contested,
		                 slice_equal(row.distribution.normalized_name, SLICE("d1")));
		assert_true(row.ordinal < 3);
		count++;
		code = 0;
	}
	assert_int_equal(code, 0);
	return count;
}

static void test_select(void **state)
{
	struct fixture *f = *state;
	const struct slice any = {0};

	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(count_rows(f, any, any), 9);
		assert_int_equal(count_rows(f, SLICE("g"), any), 6);
		assert_int_equal(count_rows(f, SLICE(""), any), 3);
		assert_int_equal(count_rows(f, any, SLICE("native")), 3);
		assert_int_equal(count_rows(f, SLICE("g"), SLICE("n\0x")), 3);
		assert_int_equal(count_rows(f, SLICE("g"), SLICE("n")), 0);
		assert_int_equal(count_rows(f, SLICE("G"), any), 0);
	}
}

static void test_target(void **state)
{
	struct fixture *f = *state;
	struct target_record target;
	struct reader_row row;

	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	assert_int_equal(reader_select(f->reader, false, SLICE("g"), SLICE("native"), &f->error),
	                 0);
	assert_int_equal(reader_next(f->reader, &row, &f->error), 1);
	assert_int_equal(reader_target(f->reader, row.id, &target, &f->error), 1);
	assert_true(slice_equal(target.object, SLICE("p/n.so")));
	assert_int_equal(target.machine, 62);
	assert_int_equal(reader_target(f->reader, row.id - 1, &target, &f->error), 0);
}

static void test_plugins(void **state)
{
	const struct slice any = {0};
	struct fixture *f = *state;
	struct target_record target;
	struct reader_row row;

	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	assert_int_equal(reader_select(f->reader, true, SLICE("k"), SLICE("plug"), &f->error), 0);
	assert_int_equal(reader_next(f->reader, &row, &f->error), 1);
	assert_true(slice_equal(row.entry_point.group, SLICE("k")));
	assert_true(slice_equal(row.entry_point.value, SLICE("p/n.so:entry")));
	assert_int_equal(row.ordinal, 0);
	assert_int_equal(reader_target(f->reader, row.id, &target, &f->error), 1);
	assert_true(slice_equal(target.missing, SLICE("libnone.so.1 GLIBC_2.99")));
	assert_int_equal(target.size, (int64_t)1 << 40);
	assert_int_equal(reader_select(f->reader, true, SLICE("g"), any, &f->error), 0);
	assert_int_equal(reader_next(f->reader, &row, &f->error), 0);
	assert_int_equal(reader_select(f->reader, false, SLICE("k"), any, &f->error), 0);
	assert_int_equal(reader_next(f->reader, &row, &f->error), 0);
}

/* --- failures --- */

static void fail_in_turn(struct fixture *f, enum fault fault, bool stay, int expected)
{
	bool struck = true;

	for (long at = 0; struck; at++) {
		free(f->now);
		faults_begin(fault, at, stay);
		f->now = records_dump(FILE_NAME, &f->error);
		struck = faults_end();
		if (f->now)
			assert_string_equal(f->now, f->whole);
		else
			assert_int_equal(f->error.code, expected);
	}
	assert_non_null(f->now);
}

/* An error of the system means neither absent nor damaged. */
static void test_failures(void **state)
{
	struct fixture *f = *state;

	f->whole = records_dump(FILE_NAME, &f->error);
	assert_non_null(f->whole);
	fail_in_turn(f, FAULT_MEMORY, false, ERROR_NOMEM);
	fail_in_turn(f, FAULT_MEMORY, true, ERROR_NOMEM);
	fail_in_turn(f, FAULT_SYSTEM, false, ERROR_IO);
	fail_in_turn(f, FAULT_SYSTEM, true, ERROR_IO);
}

/* As in a process with no file descriptor left. */
static void test_no_descriptors(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), ERROR_IO);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_non_null(strstr(error_text(&f->error), strerror(EMFILE)));
	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
}

/* --- files that entrydb's writer has not written --- */

static void tamper(const char *statements)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(FILE_NAME, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* JSON that PostgreSQL accepts: no NUL, valid UTF-8 only, keys of up to 300 bytes. */
static void test_document(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;
	size_t size, rows;
	FILE *stream = open_memstream(&text, &size);

	tamper("INSERT INTO startup VALUES ((SELECT min(id) FROM root) << 20, 'a.pth', 7, "
	       "'import', CAST(x'FF225C0A' AS TEXT)); "
	       "UPDATE entry_point SET group_name = printf('%.*c', 400, 'k') WHERE name = '';");
	assert_int_equal(open_file(f, FILE_NAME, NOT_ASKED), 0);
	assert_int_equal(document_write(f->reader, stream, &rows, &f->error), 0);
	fclose(stream);
	f->now = text;
	assert_memory_equal(text, "[[[\"r\",\"d0-1.dist-info\",\"D\",null,", 32);
	assert_non_null(strstr(
	        text,
	        "],[[\"r\",\"D\",\"g\",\"n\\\\x00x\",\"not a value\",\"python\",\"ok\",null],"));
	assert_non_null(strstr(
	        text,
	        "[\"r\",\"D\",\"g\",\"native\",\"p.n:entry [x,y]\",\"native\",\"ok\",\"p/n.so\"]"));
	assert_non_null(strstr(
	        text, "],[[\"r\",\"a.pth\",7,\"import\",\"\\\\xff\\\"\\\\\\\\\\\\x0a\"]],["));
	assert_int_equal(strspn(strstr(text, "kkkk"), "k"), 300);
	assert_string_equal(text + strlen(text) - 2, "]]");
}

/* A view with endless rows in place of a table; texts that are NULL. See test_writer.c, too. */
static void test_other_schemas(void **state)
{
	static const char *const statements[] = {
	        "DROP VIEW entry_points; DROP VIEW conflicts; DROP VIEW broken; DROP TABLE "
	        "distribution; CREATE VIEW distribution AS WITH RECURSIVE n(x) AS (VALUES (1) "
	        "UNION ALL SELECT x + 1 FROM n) SELECT x AS id, 1 AS root, 'd' AS directory, 1 AS "
	        "position, 'd' AS normalized_name, 1 AS contested, 'd' AS name, '1' AS version, 1 "
	        "AS has_metadata, 0 AS watched, NULL AS error, 1 AS settled, 0 AS directory_stamp, "
	        "0 AS files_stamp, NULL AS record_sha256 FROM n",
	        "DROP VIEW IF EXISTS entry_points; DROP VIEW IF EXISTS conflicts; DROP VIEW IF "
	        "EXISTS broken; CREATE TABLE loose AS SELECT id, distribution, NULL AS group_name, "
	        "name, value, module, attr, extras FROM entry_point; DROP TABLE entry_point; ALTER "
	        "TABLE loose RENAME TO entry_point",
	};

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		tamper(statements[i]);
		refuse(*state, FILE_NAME, ERROR_FORMAT, "schema");
	}
}

static void test_wal(void **state)
{
	tamper("PRAGMA journal_mode = WAL");
	refuse(*state, FILE_NAME, ERROR_FORMAT, "journal mode");
}

/* With pages that point back to other pages, the reader ends with an error. */
static void test_endless_rows(void **state)
{
	struct fixture *f = *state;
	unsigned char *page;
	size_t length, failures = 0;

	f->whole = scratch_read(FILE_NAME, &length);
	for (size_t at = 4096; at + 4096 <= length; at += 4096) {
		page = (unsigned char *)f->whole + at;
		if (page[0] != 13)
			continue; /* turn a leaf page of a table into one that is its own child */
		page[0] = 5;
		page[8] = page[9] = page[10] = 0;
		page[11] = (unsigned char)(at / 4096 + 1);
		scratch_write("damaged.db", f->whole, length);
		free(f->now);
		f->now = records_dump("damaged.db", &f->error);
		failures += f->now == NULL;
	}
	assert_true(failures > 0);
}

static void test_unknown_words(void **state)
{
	struct fixture *f = *state;

	tamper("PRAGMA ignore_check_constraints = 1; UPDATE target SET state = 'fine'");
	assert_null(records_dump(FILE_NAME, &f->error));
	assert_int_equal(f->error.code, ERROR_FORMAT);
}

static void test_truncated(void **state)
{
	struct fixture *f = *state;
	size_t length;

	f->whole = scratch_read(FILE_NAME, &length);
	for (size_t size = 0; size < length; size += 512) {
		scratch_write("damaged.db", f->whole, size);
		free(f->now);
		f->now = records_dump("damaged.db", &f->error);
		assert_null(f->now);
		assert_int_equal(f->error.code, ERROR_FORMAT);
	}
}

RUN_TESTS_AFTER(faults_install(), TEST(test_refused), TEST(test_other_versions), TEST(test_trust),
                TEST(test_link), TEST(test_nothing_is_written), TEST(test_is_current),
                TEST(test_holders_and_problems), TEST(test_select), TEST(test_target),
                TEST(test_plugins), TEST(test_document), TEST(test_failures),
                TEST(test_no_descriptors), TEST(test_truncated), TEST(test_endless_rows),
                TEST(test_other_schemas), TEST(test_wal), TEST(test_unknown_words))

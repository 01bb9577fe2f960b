/*
 * test_writer.c - a database that was written is read back equal; after any failure of memory, disk
 * or permissions, the published file is completely the old or completely the new one, and no other
 * file remains.
 */
#include "db/writer.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "db/base/cleanup.h"
#include "db/publish.h"
#include "db/reader.h"
#include "faults.h"
#include "records.h"
#include "scratch.h"

#define FILE_NAME "d/e/entry_points.db"
#define NOBODY    ((uid_t)65534)
#define STRIDE    7 /* step between failures that persist: SQLite allocates often */

struct fixture {
	struct writer *writer;
	struct reader *reader;
	struct error error;
	struct root_record root;
	char *before, *after, *now;
};

static int setup(void **state)
{
	scratch_fixture(state, sizeof(struct fixture));
	return 0;
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
	return scratch_teardown(state);
}

static int open_writer(struct fixture *f)
{
	struct writer_options options = {
	        .file = FILE_NAME, .command = "test", .wait.timeout = 50, .may_replace = true};

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

#define STAMPS "-9223372036854775808|9223372036854775807|1|40|-5|0|0|0|\n"
#define TARGET                                                                                     \
	"native|ok|p/n.so|entry|abcd|sha256=x|2.34|3.4.30|libnone.so.1 GLIBC_2.99|host_symbol|"    \
	"libp.so|62|1099511627776|\n"
#define ENTRY_POINTS                                                                               \
	"    g|n0x|not a value|-|-|-|\n"                                                           \
	"    g|native|p.n:entry [x,y]|p.n|entry|x,y|" TARGET                                       \
	"    |||-|-|-|\n    k|plug|-|-|-|-|" TARGET

/* In order of position, not of id. */
static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	struct stat status;

	store(f, "r", 3);
	assert_string_equal(
	        dump(f), "r|1|1|1|2|3|1|1|1|3|0|4|\n"
	                 "  d2-1.dist-info|d1|D|1|why it is broken|sha256=y|1048578|0|1|1|1|" STAMPS
	                         ENTRY_POINTS
	                 "  d1-1.dist-info|d1|D|-|-|-|1048577|1|1|0|0|" STAMPS ENTRY_POINTS
	                 "  d0-1.dist-info|d0|D|-|-|-|1048576|2|1|0|1|" STAMPS "index|r|-|test|\n");
	assert_int_equal(stat(FILE_NAME, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_false(scratch_exists(FILE_NAME ".new"));
	assert_true(scratch_exists(FILE_NAME ".lock"));
}

/* A reader identifies the published file by these values. */
static void test_publication_stamps(void **state)
{
	struct fixture *f = *state;
	struct publication_record said = {.sealed = true};
	struct reader *reader = NULL;
	struct stat status;
	int64_t changed;

	store(f, "r", 1);
	assert_int_equal(stat(FILE_NAME, &status), 0);
	assert_int_equal(reader_open(FILE_NAME, (uid_t)-1, &reader, &f->error), 0);
	assert_int_equal(reader_publication(reader, &said, &f->error), 1);
	reader_close(reader);
	changed = (int64_t)status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec;
	assert_int_equal(said.inode, (int64_t)status.st_ino);
	assert_true(said.time <= changed);
	assert_true(changed - said.time < 60000000000);
	assert_false(said.sealed);
}

static void test_ids_of_roots(void **state)
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
	assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0); /* no change */
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

/* Another file system's clock may differ: its files are not compared with this one. */
static void test_clock_of_another_file_system(void **state)
{
	struct fixture *f = *state;
	struct timespec now, later;
	struct stat here;

	assert_int_equal(open_writer(f), 0);
	assert_int_equal(stat(FILE_NAME ".lock", &here), 0);
	now = writer_time_on(f->writer, here.st_dev, false);
	later = writer_time_on(f->writer, here.st_dev, true);
	assert_true(later.tv_sec > 0);
	assert_true(later.tv_sec > now.tv_sec ||
	            (later.tv_sec == now.tv_sec && later.tv_nsec >= now.tv_nsec));
	now = writer_time_on(f->writer, here.st_dev + 1, false);
	assert_true(now.tv_sec == 0 && now.tv_nsec == 0);
}

static void test_find_and_change(void **state)
{
	struct fixture *f = *state;
	size_t count = 0;

	store(f, "r", 3);
	store(f, "s", 0);
	assert_int_equal(open_writer(f), 0);
	assert_null(writer_was_rebuilt(f->writer));
	assert_int_equal(reader_roots(writer_reader(f->writer), count_root, &count, &f->error), 17);
	assert_int_equal(writer_find_root(f->writer, SLICE("absent"), &f->root, &f->error), 0);
	assert_int_equal(writer_find_root(f->writer, SLICE("r"), &f->root, &f->error), 1);
	assert_int_equal(f->root.distribution_count, 3);
	f->root.distributions[0].position = 7; /* in order of position: d2, d1, d0 */
	f->root.distributions[0].files_stamp = 8;
	f->root.distributions[0].metadata = (struct outline){true, 9, 10};
	assert_int_equal(
	        writer_anchor_distribution(f->writer, &f->root.distributions[0], &f->error), 0);
	assert_int_equal(
	        writer_drop_distribution(f->writer, f->root.distributions[1].id, &f->error), 0);
	assert_int_equal(
	        writer_put_distribution(f->writer, &f->root, &f->root.distributions[2], &f->error),
	        0);
	f->root.distribution_count = 2;
	assert_int_equal(writer_put_root(f->writer, &f->root, &f->error), 0);
	assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0);
	dump(f);
	assert_non_null(
	        strstr(f->now, "d2-1.dist-info|d1|D|1|why it is broken|sha256=y|1048578|7|"));
	assert_non_null(strstr(f->now, "|-9223372036854775808|8|1|40|-5|1|9|10|"));
	assert_null(strstr(f->now, "d1-1.dist-info"));
	assert_non_null(strstr(f->now, "d0-1.dist-info|d0|D|-|-|-|1048576|2|1|0|1|" STAMPS "  d2"));
}

/* The number of entry points named "native" whose distribution's name occurs more than once. */
static size_t count_contested(struct fixture *f)
{
	struct reader_row row;
	size_t count = 0;

	assert_int_equal(reader_open(FILE_NAME, (uid_t)-1, &f->reader, &f->error), 0);
	assert_int_equal(reader_select(f->reader, false, SLICE("g"), SLICE("native"), &f->error),
	                 0);
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
	store(f, "s", 2); /* d0 and d1 again */
	assert_int_equal(count_contested(f), 2);
	store(f, "t", 5); /* d1, a second d1, d3, d4 */
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
	struct writer_options options = {.file = FILE_NAME, .wait.timeout = 30};
	struct writer *second = NULL;

	assert_int_equal(open_writer(f), 0);
	assert_int_equal(writer_open(&options, &second, &f->error), ERROR_BUSY);
	assert_null(second);
	assert_non_null(strstr(error_text(&f->error), FILE_NAME));
	assert_true(scratch_exists(FILE_NAME ".new")); /* that of the first writer */
}

/* --- existing files --- */

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

/* The old or the new file and no other exists. Returns whether it is the new one. */
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
	free(f->after);
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

static void test_no_memory(void **state)
{
	fail_in_turn(*state, FAULT_MEMORY, false, ERROR_NOMEM);
	fail_in_turn(*state, FAULT_MEMORY, true, ERROR_NOMEM);
}

static void test_system_calls_fail(void **state)
{
	fail_in_turn(*state, FAULT_SYSTEM, false, ERROR_IO);
	fail_in_turn(*state, FAULT_SYSTEM, true, ERROR_IO);
}

/* A limit on file sizes acts like a full disk. */
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

static int open_and_close(void *payload)
{
	struct fixture *f = payload;
	int code = open_writer(f);

	writer_close(f->writer);
	return -code;
}

/* If the tests run as root, for whom nothing is read-only, act as another user. */
static void test_read_only_directory(void **state)
{
	struct fixture *f = *state;
	int code;

	assert_int_equal(chmod(".", 0755), 0);
	store(f, "r", 1);
	assert_int_equal(chmod("d/e", 0555), 0);
	code = geteuid() == 0 ? scratch_as(NOBODY, open_and_close, f) : open_and_close(f);
	assert_int_equal(chmod("d/e", 0755), 0);
	assert_int_equal(code, -ERROR_PERMISSION);
}

/* --- obstacles --- */

static void test_link_in_place_of_the_lock(void **state)
{
	struct fixture *f = *state;

	scratch_text("victim", "precious");
	scratch_directory("d/e");
	assert_int_equal(symlink("../../victim", FILE_NAME ".lock"), 0);
	assert_int_equal(open_writer(f), ERROR_FORMAT);
	assert_non_null(strstr(error_text(&f->error), FILE_NAME ".lock"));
	scratch_check("victim", "precious");
}

/* Empty directories of these names are removed; directories with contents are not. */
static void test_obstacles(void **state)
{
	static const char *const suffixes[] = {".new", ".damaged", ".new-journal"};
	struct fixture *f = *state;
	char path[100];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(path, sizeof(path), FILE_NAME "%s", suffixes[i]);
		scratch_directory(path);
	}
	scratch_text(FILE_NAME, "SQLite format 3");
	store(f, "r", 1);
	assert_non_null(strstr(dump(f), "r|1|"));
	scratch_check(FILE_NAME ".damaged", "SQLite format 3");
	assert_false(scratch_exists(FILE_NAME ".new"));
	scratch_text(FILE_NAME ".new/inside", "kept");
	assert_true(open_writer(f) < 0);
	assert_non_null(strstr(error_text(&f->error), FILE_NAME ".new"));
	scratch_check(FILE_NAME ".new/inside", "kept");
}

/* If the database is not a regular file: in its own place it is set aside. */
static void test_not_a_regular_file(void **state)
{
	struct fixture *f = *state;

	scratch_text("victim", "precious");
	for (int i = 0; i < 3; i++) {
		unlink(FILE_NAME);
		scratch_directory("d/e");
		if (i == 0)
			scratch_directory(FILE_NAME);
		else if (i == 1)
			assert_int_equal(symlink("../../victim", FILE_NAME), 0);
		else
			assert_int_equal(mkfifo(FILE_NAME, 0600), 0);
		store(f, "r", 1);
		assert_non_null(strstr(dump(f), "repair||"));
		assert_non_null(strstr(f->now, "not a regular file"));
		assert_true(scratch_exists(FILE_NAME ".damaged"));
	}
	scratch_check("victim", "precious");
}

/* Nothing from a file that another user can write is copied, including its history. */
static void test_file_of_another_user(void **state)
{
	struct fixture *f = *state;

	store(f, "forged", 1);
	assert_int_equal(chmod(FILE_NAME, 0666), 0);
	store(f, "r", 1);
	assert_non_null(strstr(dump(f), "not trusted: others may write to"));
	assert_null(strstr(f->now, "forged"));
	if (geteuid() != 0)
		return; /* only root can give files away */
	store(f, "forged", 1);
	assert_int_equal(chown(FILE_NAME, NOBODY, (gid_t)-1), 0);
	store(f, "r", 1);
	assert_non_null(strstr(dump(f), "belongs to user 65534"));
	assert_null(strstr(f->now, "forged"));
	assert_true(scratch_exists(FILE_NAME ".damaged"));
}

/* A lock file of root that no other user can open is in the way. */
static void test_lock_of_root(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(".", 0755), 0);
	store(f, "r", 1);
	assert_int_equal(chown("d/e", NOBODY, (gid_t)-1), 0);
	assert_int_equal(chown(FILE_NAME, NOBODY, (gid_t)-1), 0);
	assert_int_equal(scratch_as(NOBODY, open_and_close, f), -ERROR_PERMISSION);
	assert_int_equal(unlink(FILE_NAME ".lock"), 0);
	assert_int_equal(scratch_as(NOBODY, open_and_close, f), 0);
	/* Root does not touch a directory that belongs to another user. */
	assert_int_equal(open_writer(f), ERROR_PERMISSION);
	assert_non_null(strstr(error_text(&f->error), "belongs to user 65534"));
}

/* --- databases not written by entrydb --- */

static void tamper(const char *statements)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	assert_int_equal(sqlite3_open(FILE_NAME, &db), SQLITE_OK);
	if (sqlite3_exec(db, statements, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", statements, why);
	sqlite3_close(db);
}

/* Each schema would run code with the user's rights, or lose rows: none is accepted. */
static void test_other_schemas(void **state)
{
	static const char *const statements[] = {
	        "CREATE TRIGGER t AFTER INSERT ON root BEGIN DELETE FROM event; END",
	        "CREATE TRIGGER t BEFORE INSERT ON entry_point BEGIN SELECT RAISE(IGNORE); END",
	        "CREATE TABLE more (x)",
	        "CREATE VIEW more AS SELECT 1",
	        "CREATE INDEX more ON root (kind)",
	        "DROP VIEW history",
	        "DROP INDEX distribution_name",
	        "DROP VIEW history; CREATE VIEW history AS SELECT * FROM event",
	        "ALTER TABLE target ADD COLUMN more TEXT",
	        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'UNIQUE', "
	        "'UNIQUE ') WHERE name = 'root'",
	        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET tbl_name = 'event' WHERE "
	        "name = 'history'",
	        "ANALYZE",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		unlink(FILE_NAME);
		store(f, "old", 1);
		tamper(statements[i]);
		assert_null(records_dump(FILE_NAME, &f->error));
		assert_int_equal(f->error.code, ERROR_FORMAT);
		store(f, "r", 1);
		if (!strstr(dump(f), "r|1|") || strstr(f->now, "old|1|"))
			fail_msg("%s: %s", statements[i], f->now);
		assert_non_null(strstr(f->now, "schema"));
		if (!strstr(f->now, "index|old|-|test|\nrepair|") && !strstr(f->now, "malformed"))
			fail_msg("%s: %s", statements[i], f->now);
	}
}

/* The table of events is another one: its rows are not copied. */
static void test_other_events(void **state)
{
	struct fixture *f = *state;

	store(f, "old", 1);
	tamper("DROP VIEW history; DROP TABLE event; CREATE VIEW event AS WITH RECURSIVE n(x) AS "
	       "(VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT 1 AS id, x AS time, 'index' AS "
	       "action, 'forged' AS root, NULL AS distribution, NULL AS old_version, NULL AS "
	       "version, NULL AS detail, NULL AS command, 0 AS uid FROM n");
	store(f, "r", 1);
	assert_null(strstr(dump(f), "forged"));
	assert_non_null(strstr(f->now, "r|1|"));
}

/* Another order, as after VACUUM, is the same schema; WAL mode is accepted, too. */
static void test_harmless_changes(void **state)
{
	static const char *const statements[] = {"VACUUM", "PRAGMA journal_mode = WAL"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		unlink(FILE_NAME);
		store(f, "old", 1);
		tamper(statements[i]);
		store(f, "r", 1);
		assert_non_null(strstr(dump(f), "old|1|"));
		assert_null(strstr(f->now, "repair"));
		assert_false(scratch_exists(FILE_NAME ".damaged"));
	}
}

/* An index with an entry for a missing row would be published again. */
static void test_broken_index(void **state)
{
	struct fixture *f = *state;

	store(f, "old", 3);
	tamper("CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'entry_point_name';"
	       "PRAGMA writable_schema = 1;"
	       "DELETE FROM sqlite_schema WHERE name = 'entry_point_name'");
	tamper("DELETE FROM entry_point WHERE name = 'native'");
	tamper("PRAGMA writable_schema = 1; INSERT INTO sqlite_schema SELECT * FROM kept");
	tamper("DROP TABLE kept");
	assert_int_equal(open_writer(f), 0);
	assert_non_null(strstr(writer_was_rebuilt(f->writer), "damaged"));
}

/* Orphaned rows would never be deleted and would block the places of others. */
static void test_orphaned_rows(void **state)
{
	static const char *const statements[] = {
	        "UPDATE root SET id = id + 1",
	        "UPDATE distribution SET id = id + (1 << 40)",
	        "DELETE FROM target; UPDATE entry_point SET id = -id",
	        "UPDATE target SET entry_point = -entry_point",
	        "UPDATE root SET distributions = distributions - 1",
	        "UPDATE root SET broken = 0",
	        "UPDATE root SET watched = 0",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		store(f, "r", 3);
		tamper(statements[i]);
		assert_int_equal(open_writer(f), 0);
		assert_non_null(strstr(writer_was_rebuilt(f->writer), "damaged"));
		writer_close(take(f->writer));
		store(f, "r", 3);
	}
}

static bool stopped(void)
{
	return true;
}

/* A signal interrupts a writer within a statement, without effect on the database. */
static void test_stopped(void **state)
{
	struct fixture *f = *state;
	struct writer_options options = {
	        .file = FILE_NAME, .wait.stopped = stopped, .may_replace = true};

	store(f, "r", 1);
	tamper("WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 50000) "
	       "INSERT INTO event (time, action, root, uid) SELECT x, 'index', 'r', 0 FROM n");
	assert_int_equal(writer_open(&options, &f->writer, &f->error), ERROR_IO);
	assert_null(f->writer);
	assert_non_null(strstr(error_text(&f->error), "interrupted"));
	assert_false(scratch_exists(FILE_NAME ".new"));
	assert_false(scratch_exists(FILE_NAME ".damaged"));
	assert_int_equal(open_writer(f), 0);
	assert_null(writer_was_rebuilt(f->writer));
}

/* --- the stale mark --- */

static void test_marked_stale(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(publish_mark_stale(FILE_NAME, NULL, &f->error), ERROR_NOTFOUND);
	store(f, "r", 1);
	assert_int_equal(reader_open(FILE_NAME, (uid_t)-1, &f->reader, &f->error), 0);
	assert_false(reader_status(f->reader).is_marked_stale);
	assert_int_equal(publish_mark_stale(FILE_NAME, NULL, &f->error), 0);
	assert_false(reader_is_current(f->reader));
	reader_close(f->reader);
	store(f, "s", 1); /* without scanning "r" */
	assert_int_equal(reader_open(FILE_NAME, (uid_t)-1, &f->reader, &f->error), 0);
	assert_true(reader_status(f->reader).is_marked_stale);
	reader_close(take(f->reader));
	assert_int_equal(open_writer(f), 0);
	assert_int_equal(writer_unmark(f->writer, &f->error), 0);
	assert_int_equal(reader_open(FILE_NAME, (uid_t)-1, &f->reader, &f->error), 0);
	assert_false(reader_status(f->reader).is_marked_stale);
}

static bool is_marked(void)
{
	struct stat status;

	assert_int_equal(stat(FILE_NAME, &status), 0);
	return publish_is_marked(&status);
}

/* Set by a process that gave up waiting for this writer and saw a later change. */
static void test_marked_while_writing(void **state)
{
	struct fixture *f = *state;
	struct root_record root;

	store(f, "r", 1);
	for (int before = 0; before < 2; before++) {
		assert_int_equal(is_marked(), before);
		assert_int_equal(open_writer(f), 0);
		root = (struct root_record){.path = slice_of(before ? "t" : "s")};
		assert_int_equal(writer_put_root(f->writer, &root, &f->error), 0);
		if (before)
			assert_int_equal(writer_unmark(f->writer, &f->error), 0);
		assert_int_equal(publish_mark_stale(FILE_NAME, NULL, &f->error), 0);
		assert_int_equal(writer_commit(f->writer, 0644, &f->error), 0);
		writer_close(take(f->writer));
		assert_true(is_marked());
	}
}

RUN_TESTS_AFTER(faults_install(), TEST(test_round_trip), TEST(test_publication_stamps),
                TEST(test_ids_of_roots), TEST(test_nothing_without_commit),
                TEST(test_clock_of_another_file_system), TEST(test_find_and_change),
                TEST(test_contested), TEST(test_locked), TEST(test_rebuilt_with_its_events),
                TEST(test_rebuilt_when_truncated), TEST(test_foreign_files_are_left_alone),
                TEST(test_no_memory), TEST(test_system_calls_fail), TEST(test_file_size_limit),
                TEST(test_read_only_directory), TEST(test_link_in_place_of_the_lock),
                TEST(test_obstacles), TEST(test_not_a_regular_file),
                TEST(test_file_of_another_user), TEST(test_lock_of_root), TEST(test_other_schemas),
                TEST(test_other_events), TEST(test_harmless_changes), TEST(test_broken_index),
                TEST(test_orphaned_rows), TEST(test_stopped), TEST(test_marked_stale),
                TEST(test_marked_while_writing))

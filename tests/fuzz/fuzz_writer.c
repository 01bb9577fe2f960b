/*
 * fuzz_writer.c - after any changes to a database, one update leaves a valid one with the
 * distributions on the disk. Only a file with the application_id of another program is left
 * unchanged.
 *
 * The input is that of hostile_change().
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/verb.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

#define SITE          "venv/lib/python3.12/site-packages"
#define DATABASE      "venv/var/lib/entrydb/entry_points.db"
#define DISTRIBUTIONS 12

static void write_distribution(unsigned number)
{
	char path[128], text[256];
	int len;

	snprintf(path, sizeof(path), SITE "/d%u-%u.dist-info", number % 10, number);
	scratch_directory(path);
	len = snprintf(text, sizeof(text), "Name: D%u\nVersion: %u\n", number % 10, number);
	snprintf(path, sizeof(path), SITE "/d%u-%u.dist-info/METADATA", number % 10, number);
	scratch_write(path, (struct slice){text, (size_t)len});
	len = snprintf(text, sizeof(text),
	               "[g%u]\nn%u = m.%u:f [x,y]\n[console_scripts]\nc=m:f\n%s", number % 3,
	               number, number, number % 5 ? "" : "[broken\n");
	snprintf(path, sizeof(path), SITE "/d%u-%u.dist-info/entry_points.txt", number % 10,
	         number);
	scratch_write(path, (struct slice){text, (size_t)len});
}

static void update(enum status expected)
{
	const char *arguments[] = {scratch_path("venv")};
	struct options options = {
	        .command = "fuzz", .quiet = true, .arguments = arguments, .argument_count = 1};
	struct error error = {0};
	int code = command_update(&options, &error);

	error_clear(&error);
	require((code < 0 ? STATUS_COULD_NOT : code) == (int)expected);
}

/* The number that a statement returns. */
static int64_t count_of(const char *statement)
{
	CLEANUP(cleanup_free)
	char *uri = text_format("file:%s?mode=ro&immutable=1", scratch_path(DATABASE));
	sqlite3_stmt *prepared;
	int64_t answer;
	sqlite3 *db = NULL;

	require(uri && sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) ==
	                       SQLITE_OK);
	require(sqlite3_prepare_v2(db, statement, -1, &prepared, NULL) == SQLITE_OK);
	require(sqlite3_step(prepared) == SQLITE_ROW);
	answer = sqlite3_column_int64(prepared, 0);
	sqlite3_finalize(prepared);
	sqlite3_close(db);
	return answer;
}

struct bytes {
	char of[1 << 20];
	size_t len;
};

static struct slice read_database(struct bytes *bytes)
{
	int fd = open(scratch_path(DATABASE), O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, bytes->of, sizeof(bytes->of));

	require(len >= 0 && (size_t)len < sizeof(bytes->of));
	close(fd);
	bytes->len = (size_t)len;
	return (struct slice){bytes->of, bytes->len};
}

/* The database created by an update, computed once. */
static struct slice sound(void)
{
	static struct bytes bytes;

	if (bytes.len > 0)
		return (struct slice){bytes.of, bytes.len};
	for (unsigned i = 0; i < DISTRIBUTIONS; i++)
		write_distribution(i);
	update(STATUS_DONE);
	require(read_database(&bytes).len > 0);
	unlink(scratch_path(DATABASE));
	return (struct slice){bytes.of, bytes.len};
}

/* A complete SQLite header with another application_id, or none. */
static bool is_of_others(struct slice file)
{
	static const unsigned char ours[] = {'E', 'P', 'D', 'I'};

	return file.len >= 100 && memcmp(file.ptr, "SQLite format 3", 16) == 0 &&
	       memcmp(file.ptr + 68, ours, sizeof(ours)) != 0;
}

static void check_left_alone(struct slice file)
{
	static struct bytes after;

	update(STATUS_COULD_NOT);
	require(slice_equal(read_database(&after), file));
}

/*
 * Unchanged rows are trusted, because only the owner of the file can write them. Touching the
 * directory makes the update list it again.
 */
static void touch_site(void)
{
	scratch_directory(SITE "/other");
	require(rmdir(scratch_path(SITE "/other")) == 0);
}

static void check_repaired(void)
{
	update(STATUS_DONE);
	require(count_of("SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1);
	require(count_of("SELECT count(*) FROM distribution d JOIN root r ON r.id = d.root"
	                 " WHERE r.path = 'lib/python3.12/site-packages'") == DISTRIBUTIONS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bytes changed;
	struct slice file;

	scratch();
	scratch_silence();
	hostile_change(scratch_write(DATABASE, sound()), input_of(data, size));
	file = read_database(&changed);
	touch_site();
	if (is_of_others(file))
		check_left_alone(file);
	else
		check_repaired();
	return 0;
}

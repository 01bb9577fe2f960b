/*
 * hostile.c - changes a valid database as described by the input of a fuzz target.
 */
#include "tests/fuzz/hostile.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "tests/fuzz/input.h"

#define PAGE        ((off_t)4096)
#define CHANGES_MAX 64
#define STEPS_MAX   200 /* thousands of instructions for all statements */
#define TEXT_MAX    (1 << 16)

/* --- pages --- */

static off_t page_at(int fd, struct slice *input)
{
	struct stat status;
	off_t pages;

	require(fstat(fd, &status) == 0);
	pages = status.st_size / PAGE;
	return pages ? input_byte(input) % pages * PAGE : 0;
}

static void copy_page(int fd, struct slice *input)
{
	char page[PAGE] = {0};

	require(pread(fd, page, sizeof(page), page_at(fd, input)) >= 0);
	require(pwrite(fd, page, sizeof(page), page_at(fd, input)) == sizeof(page));
}

static void change_page(int fd, char kind, struct slice *input)
{
	static const char zeros[PAGE];
	off_t at;

	if (kind == 'b') {
		struct slice bytes;

		at = page_at(fd, input) + (off_t)input_number(input, 2) % PAGE;
		bytes = input_piece(input);
		require(pwrite(fd, bytes.ptr, bytes.len, at) == (ssize_t)bytes.len);
	} else if (kind == 'p') {
		copy_page(fd, input);
	} else if (kind == 'z') {
		require(pwrite(fd, zeros, PAGE, page_at(fd, input)) == PAGE);
	} else if (kind == 't') {
		at = page_at(fd, input);
		require(ftruncate(fd, at + (off_t)input_number(input, 2) % (2 * PAGE)) == 0);
	}
}

/* --- statements --- */

static int forbid(void *payload, int action, const char *a, const char *b, const char *c,
                  const char *d)
{
	static const char *const harmless[] = {"application_id", "user_version", "writable_schema"};

	(void)payload, (void)b, (void)c, (void)d;
	if (action == SQLITE_ATTACH || action == SQLITE_DETACH)
		return SQLITE_DENY;
	if (action != SQLITE_PRAGMA)
		return SQLITE_OK;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (strcasecmp(a, harmless[i]) == 0)
			return SQLITE_OK;
	return SQLITE_DENY;
}

static int count_steps(void *payload)
{
	unsigned *steps = payload;

	return ++*steps > STEPS_MAX;
}

static void run_statement(const char *file, struct slice statement)
{
	CLEANUP(cleanup_free) char *text = strndup(statement.ptr, statement.len);
	unsigned steps = 0;
	sqlite3 *db = NULL;

	require(text && sqlite3_open(file, &db) == SQLITE_OK);
	sqlite3_exec(db, "PRAGMA ignore_check_constraints = 1; PRAGMA journal_mode = OFF", NULL,
	             NULL, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
	sqlite3_set_authorizer(db, forbid, NULL);
	sqlite3_progress_handler(db, 1000, count_steps, &steps);
	sqlite3_exec(db, text, NULL, NULL, NULL);
	sqlite3_close(db);
}

void hostile_change(const char *file, struct slice input)
{
	for (size_t i = 0; i < CHANGES_MAX && input.len > 0; i++) {
		char kind = (char)input_byte(&input);
		CLEANUP(cleanup_close) int fd = -1;

		if (kind == 's') {
			run_statement(file, input_piece(&input));
			continue;
		}
		fd = open(file, O_RDWR | O_CLOEXEC);
		require(fd >= 0);
		change_page(fd, kind, &input);
	}
}

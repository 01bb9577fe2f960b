/*
 * test_mutants.c - databases with bits, bytes and pages that are not as they were
 * written. Readers come to an end, with rows or an error; a writer goes on with what is
 * sound or begins anew, and what it publishes is sound, indexes included.
 *
 * ENTRYDB_TEST_MUTANTS: how many, default 200; ENTRYDB_TEST_SEED: of which kind. Most
 * telling under AddressSanitizer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "records.h"
#include "scratch.h"

#define FILE_NAME       "d/entry_points.db"
#define PAGE            4096
#define SECONDS_ALLOWED 30 /* for one of them; a sound one takes milliseconds */

static uint64_t random_state;

static size_t choose(size_t count)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state % count);
}

static long number_of(const char *variable, long otherwise)
{
	const char *text = getenv(variable);

	return text ? atol(text) : otherwise;
}

/* --- mutations; most leave the header alone, without which nothing else is looked at --- */

static size_t place(size_t length)
{
	return choose(10) ? 100 + choose(length - 100) : choose(length);
}

static size_t flip_bits(char *bytes, size_t length)
{
	for (size_t i = choose(3) ? 1 : 50; i > 0; i--)
		bytes[place(length)] ^= (char)(1 << choose(8));
	return length;
}

static size_t set_bytes(char *bytes, size_t length)
{
	static const unsigned char values[] = {0, 1, 2, 5, 10, 13, 127, 128, 255};

	for (size_t i = choose(8) + 1; i > 0; i--)
		bytes[place(length)] = (char)values[choose(sizeof(values))];
	return length;
}

/* In the head of a page: its kind, its cells, where they are. */
static size_t change_page_head(char *bytes, size_t length)
{
	char *page = bytes + PAGE * choose(length / PAGE);

	page[(page == bytes ? 100 : 0) + choose(40)] = (char)choose(256);
	return length;
}

static size_t copy_page(char *bytes, size_t length)
{
	size_t from = choose(length / PAGE), to = 1 + choose(length / PAGE - 1);

	memmove(bytes + to * PAGE, bytes + from * PAGE, PAGE);
	return length;
}

static size_t move_bytes(char *bytes, size_t length)
{
	size_t size = 1 + choose(300), from = choose(length - size), to = place(length - size);

	memmove(bytes + to, bytes + from, size);
	return length;
}

static size_t cut_off(char *bytes, size_t length)
{
	(void)bytes;
	return choose(2) ? choose(length) : PAGE * choose(length / PAGE);
}

static size_t mutate(char *bytes, size_t length)
{
	static size_t (*const ways[])(char *, size_t) = {
	        flip_bits, set_bytes, change_page_head, copy_page, move_bytes, cut_off,
	};

	return ways[choose(sizeof(ways) / sizeof(*ways))](bytes, length);
}

/* --- what must hold --- */

static void check_sound(long number)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(FILE_NAME, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
	                 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	if (strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0)
		fail_msg("mutant %ld was published: %s", number, sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void try_one(const char *whole, size_t length, long number)
{
	struct error error = {0};
	char *bytes = malloc(length), *text;
	size_t size;

	memcpy(bytes, whole, length);
	size = mutate(bytes, length);
	scratch_write(FILE_NAME, bytes, size);
	free(bytes);
	alarm(SECONDS_ALLOWED);
	free(records_dump(FILE_NAME, &error));
	if (records_store(FILE_NAME, "new", 2, &error) < 0) {
		/* Somebody else's database, for all that can be seen: it is left alone. */
		if (error.code != ERROR_INVALID)
			fail_msg("mutant %ld: %s", number, error_text(&error));
	} else {
		check_sound(number);
		text = records_dump(FILE_NAME, &error);
		if (!text)
			fail_msg("mutant %ld: %s", number, error_text(&error));
		free(text);
	}
	alarm(0);
	error_clear(&error);
}

static void test_mutants(void **state)
{
	long count = number_of("ENTRYDB_TEST_MUTANTS", 200);
	long seed = number_of("ENTRYDB_TEST_SEED", (long)time(NULL));
	size_t length;
	char *whole;

	(void)state;
	print_message("seed %ld\n", seed);
	random_state = (uint64_t)seed * 2654435761u + 1;
	for (size_t i = 0; i < 40; i++) {
		char path[16];

		snprintf(path, sizeof(path), "r%zu", i);
		assert_int_equal(records_store(FILE_NAME, path, 1 + i % RECORDS_MAX, NULL), 0);
	}
	whole = scratch_read(FILE_NAME, &length);
	for (long number = 0; number < count; number++)
		try_one(whole, length, number);
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_mutants, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

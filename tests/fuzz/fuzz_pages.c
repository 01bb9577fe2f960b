/*
 * fuzz_pages.c - a database with changed pages, rows or schema yields rows or an error from the
 * reader, the writer and the library.
 *
 * The input is that of hostile_change().
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/fuzz/ask.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"
#include "tests/unit/records.h"

#define ROOTS 24 /* enough for tables of several pages */

/* The contents of the unchanged database, the same in each run. */
static struct slice sound(void)
{
	static char bytes[1 << 20];
	static size_t len;
	const char *file = scratch_path("sound.db");

	for (unsigned i = 0; len == 0 && i < ROOTS; i++) {
		char path[32];

		snprintf(path, sizeof(path), "%s%u", i ? "lib/python3.12/site-packages" : "/x.zip",
		         i);
		require(records_store(file, path, RECORDS_MAX, NULL) == 0);
	}
	if (len == 0) {
		int fd = open(file, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, bytes, sizeof(bytes));

		require(n > 0 && (size_t)n < sizeof(bytes));
		len = (size_t)n;
		close(fd);
	}
	return (struct slice){bytes, len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *file = scratch_write("x.db", sound());

	hostile_change(file, input_of(data, size));
	ask_reader(file);
	ask_writer(file);
	ask_library(file);
	return 0;
}

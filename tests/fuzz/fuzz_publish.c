/*
 * fuzz_publish.c - whatever is in the way of the names that a writer uses, it either
 * publishes its whole file or leaves what there was, removes its own, and touches nothing
 * outside.
 *
 * The input is what each of four writers does, a byte for each, and a tree; see scratch.h.
 */
#include "db/publish.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

#define FILE_NAME "in/x.db"
#define OUTSIDE   "outside"
#define WRITERS   4

enum {
	DO_COPY = 1,
	DO_RESTART = 2,
	DO_SET_ASIDE = 4,
	DO_FINISH = 8,
	DO_MARK = 16,
	DO_UNMARK = 32,
};

/* Does the file at @path hold just this? */
static bool holds(const char *path, struct slice bytes)
{
	CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	char buffer[64];
	ssize_t len = fd < 0 ? -1 : read(fd, buffer, sizeof(buffer));

	return len >= 0 && slice_equal((struct slice){buffer, (size_t)len}, bytes);
}

static void check_outside(void)
{
	struct stat status;

	require(holds(scratch_path(OUTSIDE), SLICE("precious")));
	require(stat(scratch_path(OUTSIDE), &status) == 0 && (status.st_mode & 0777) == 0600);
}

static void write_new(struct publication *publication, struct slice bytes)
{
	require(ftruncate(publication->new_fd, 0) == 0);
	require(pwrite(publication->new_fd, bytes.ptr, bytes.len, 0) == (ssize_t)bytes.len);
}

static void check_published(struct slice bytes)
{
	struct stat status;

	require(holds(scratch_path(FILE_NAME), bytes));
	require(lstat(scratch_path(FILE_NAME), &status) == 0 && S_ISREG(status.st_mode) &&
	        (status.st_mode & 0777) == 0640);
}

static void run_writer(unsigned what, struct slice bytes)
{
	CLEANUP(publication_end) struct publication publication = PUBLICATION_INIT;
	struct stat status;

	if (publication_begin(&publication, scratch_path(FILE_NAME), 0, NULL) < 0)
		return;
	require(fstat(publication.new_fd, &status) == 0 && status.st_size == 0);
	if (what & DO_COPY)
		publication_copy(&publication, NULL);
	if (what & DO_RESTART)
		require(publication_restart(&publication, NULL) == 0);
	if (what & DO_SET_ASIDE)
		publication_set_aside(&publication, ".damaged", NULL);
	if (what & DO_UNMARK)
		publication_unmark(&publication, NULL);
	write_new(&publication, bytes);
	if (what & DO_FINISH && publication_finish(&publication, 0640, NULL) == 0)
		check_published(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = input_of(data, size);
	unsigned what[WRITERS];

	for (size_t i = 0; i < WRITERS; i++)
		what[i] = input_byte(&rest);
	scratch_clear();
	require(chmod(scratch_write(OUTSIDE, SLICE("precious")), 0600) == 0);
	scratch_tree("in", rest);
	for (size_t i = 0; i < WRITERS; i++) {
		char bytes[16];
		int len = snprintf(bytes, sizeof(bytes), "version %zu", i);

		run_writer(what[i], (struct slice){bytes, (size_t)len});
		if (what[i] & DO_MARK)
			publish_mark_stale(scratch_path(FILE_NAME), NULL, NULL);
		check_outside();
	}
	return 0;
}

/*
 * scratch.c - a temporary directory for each test.
 */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFERS 8

static char top[64];

const char *scratch_top(void)
{
	return top;
}

int scratch_memory(const void *bytes, size_t length)
{
	int fd = memfd_create("scratch", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	return fd;
}

const char *scratch_path(const char *path)
{
	static char buffers[BUFFERS][SCRATCH_PATH];
	static size_t turn;
	char *buffer = buffers[turn++ % BUFFERS];

	assert_true(snprintf(buffer, SCRATCH_PATH, "%s/%s", top, path) < SCRATCH_PATH);
	return buffer;
}

void scratch_enter(void)
{
	static const char *const names[] = {"ENTRYDB_PATH",    "ENTRYDB_FRESH", "ENTRYDB_DISABLE",
	                                    "XDG_CONFIG_HOME", "VIRTUAL_ENV",   "CONDA_PREFIX",
	                                    "PYENV_ROOT"};

	strcpy(top, "/tmp/entrydb_unit_XXXXXX");
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	setenv("HOME", scratch_path("home"), 1);
	setenv("XDG_STATE_HOME", scratch_path("state"), 1);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

void scratch_leave(void)
{
	nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void scratch_remove(const char *path)
{
	assert_int_equal(nftw(scratch_path(path), remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

void *scratch_fixture(void **state, size_t size)
{
	*state = calloc(1, size);
	assert_non_null(*state);
	scratch_enter();
	return *state;
}

int scratch_setup(void **state)
{
	(void)state;
	scratch_enter();
	return 0;
}

int scratch_teardown(void **state)
{
	free(*state);
	scratch_leave();
	return 0;
}

/* Create all directories above the file @path. */
static void make_parents(const char *path)
{
	char parent[SCRATCH_PATH];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		assert_true(mkdir(scratch_path(parent), 0755) == 0 || errno == EEXIST);
	}
}

void scratch_directory(const char *path)
{
	make_parents(path);
	assert_true(mkdir(scratch_path(path), 0755) == 0 || errno == EEXIST);
}

void scratch_write(const char *path, const void *bytes, size_t length)
{
	int fd;

	make_parents(path);
	fd = open(scratch_path(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

void scratch_text(const char *path, const char *text)
{
	scratch_write(path, text, strlen(text));
}

bool scratch_exists(const char *path)
{
	struct stat status;

	return lstat(scratch_path(path), &status) == 0;
}

static char *read_all(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	bytes = malloc((size_t)status.st_size + 1);
	assert_non_null(bytes);
	*length = (size_t)status.st_size;
	assert_int_equal(read(fd, bytes, *length), status.st_size);
	close(fd);
	return bytes;
}

char *scratch_read(const char *path, size_t *length)
{
	return read_all(scratch_path(path), length);
}

char *scratch_plugin(const char *name, size_t *length)
{
	char path[PATH_MAX];

	assert_non_null(getenv("ENTRYDB_TEST_PLUGINS"));
	snprintf(path, sizeof(path), "%s/%s", getenv("ENTRYDB_TEST_PLUGINS"), name);
	return read_all(path, length);
}

void scratch_check(const char *path, const char *text)
{
	size_t length;
	char *bytes = scratch_read(path, &length);

	assert_int_equal(length, strlen(text));
	assert_memory_equal(bytes, text, length);
	free(bytes);
}

int scratch_as(unsigned user, int (*run)(void *payload), void *payload)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0
		              ? 128
		              : run(payload));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

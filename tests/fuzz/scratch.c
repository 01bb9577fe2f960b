/*
 * scratch.c - a temporary directory for a fuzz target.
 */
#include "tests/fuzz/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "tests/fuzz/input.h"

#define BUFFERS 8
#define THINGS  256 /* created for one input */

static char top[64];
static pid_t owner; /* the process that created it: children do not remove it */

/* --- the directory --- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)type;
	if (place->level == 0)
		return 0;
	return S_ISDIR(status->st_mode) ? rmdir(path) : unlink(path);
}

void scratch_clear(void)
{
	require(nftw(scratch(), remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

static void remove_all(void)
{
	if (getpid() != owner)
		return;
	nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	rmdir(top);
}

static void forget_environment(void)
{
	static const char *const names[] = {"ENTRYDB_PATH", "ENTRYDB_FRESH", "ENTRYDB_DISABLE",
	                                    "VIRTUAL_ENV",  "CONDA_PREFIX",  "PYENV_ROOT"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	setenv("PATH", "/nowhere", 1);
	setenv("HOME", scratch_path("home"), 1);
	setenv("XDG_STATE_HOME", scratch_path("state"), 1);
}

const char *scratch(void)
{
	if (!top[0]) {
		snprintf(top, sizeof(top), "%s/entrydb_fuzz_XXXXXX",
		         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		require(mkdtemp(top) != NULL);
		owner = getpid();
		atexit(remove_all);
		forget_environment();
	}
	return top;
}

const char *scratch_path(const char *path)
{
	static char buffers[BUFFERS][PATH_MAX];
	static size_t turn;
	char *buffer = buffers[turn++ % BUFFERS];

	require(snprintf(buffer, PATH_MAX, "%s/%s", scratch(), path) < PATH_MAX);
	return buffer;
}

void scratch_silence(void)
{
	static FILE *nowhere;

	if (nowhere)
		return;
	nowhere = fopen("/dev/null", "w");
	require(nowhere != NULL);
	stdout = stderr = nowhere;
}

/* --- its contents --- */

/* Open a directory below @directory by a path without ".." and symbolic links. */
static int open_below(int directory, const char *path)
{
	int fd = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	char text[PATH_MAX], *rest = NULL;

	snprintf(text, sizeof(text), "%s", path);
	for (char *name = strtok_r(text, "/", &rest); fd >= 0 && name;
	     name = strtok_r(NULL, "/", &rest)) {
		CLEANUP(cleanup_close) int above = fd;

		fd = strcmp(name, "..") == 0
		             ? -1
		             : openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	return fd;
}

/* Create the directories above @path and open the last one. *@name: the last component. */
static int open_above(int directory, char *path, const char **name)
{
	char *slash;

	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		CLEANUP(cleanup_close) int above = -1;
		char *before;

		*slash = '\0';
		before = strrchr(path, '/');
		if (before)
			*before = '\0';
		above = open_below(directory, before ? path : ".");
		if (above >= 0)
			mkdirat(above, before ? before + 1 : path, 0755);
		if (before)
			*before = '/';
		*slash = '/';
	}
	slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	if (slash)
		*slash = '\0';
	return open_below(directory, slash ? path : ".");
}

static void write_file(int above, const char *name, struct slice bytes)
{
	CLEANUP(cleanup_close)
	int fd = openat(above, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd >= 0)
		require(write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len);
}

static void make_link(int above, const char *name, struct slice to)
{
	char target[PATH_MAX];

	snprintf(target, sizeof(target), "%.*s", (int)to.len, to.ptr);
	(void)!symlinkat(target, above, name);
}

/* Errors are ignored, since names may be invalid. */
static void make(int above, const char *name, char kind, struct slice content)
{
	if (kind == 'f')
		write_file(above, name, content);
	else if (kind == 'd')
		mkdirat(above, name, 0755);
	else if (kind == 'l')
		make_link(above, name, content);
	else if (kind == 'p')
		mkfifoat(above, name, 0644);
	else if (kind == 'x' || kind == 'w')
		(void)!fchmodat(above, name, kind == 'x' ? 0 : 0777, AT_SYMLINK_NOFOLLOW);
	else if (kind == 's')
		(void)!fchownat(above, name, STRANGER, STRANGER, AT_SYMLINK_NOFOLLOW);
}

static void make_thing(int directory, struct slice path, char kind, struct slice content)
{
	CLEANUP(cleanup_close) int above = -1;
	char text[PATH_MAX];
	const char *name;

	snprintf(text, sizeof(text), "%.*s", (int)path.len, path.ptr);
	above = open_above(directory, text, &name);
	if (above >= 0 && name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		make(above, name, kind, content);
}

void scratch_tree(const char *path, struct slice input)
{
	CLEANUP(cleanup_close)
	int directory = open(scratch_directory(path), O_PATH | O_DIRECTORY | O_CLOEXEC);

	require(directory >= 0);
	for (size_t i = 0; i < THINGS && input.len > 0; i++) {
		char kind = (char)input_byte(&input);
		struct slice name = input_piece(&input);

		make_thing(directory, name, kind, input_piece(&input));
	}
}

const char *scratch_directory(const char *path)
{
	char text[PATH_MAX];
	const char *whole = scratch_path(path);

	snprintf(text, sizeof(text), "%s", whole);
	for (char *slash = text + strlen(top); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		require(mkdir(text, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	require(mkdir(text, 0755) == 0 || errno == EEXIST);
	return whole;
}

const char *scratch_write(const char *path, struct slice bytes)
{
	const char *whole = scratch_path(path);
	CLEANUP(cleanup_close)
	int fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	require(fd >= 0 && write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len);
	return whole;
}

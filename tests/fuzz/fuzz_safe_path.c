/*
 * fuzz_safe_path.c - a writer's path through a tree of links, of this user and of others, never
 * leaves the sysroot and ends in a directory of the user's own. Where the kernel can resolve the
 * same path, the result is the same.
 *
 * The input is "path\0" and a tree; see scratch.h.
 */
#include "db/base/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "db/base/cleanup.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

static void real_path(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	require(len > 0);
	path[len] = '\0';
}

/* Every directory below the sysroot belongs to this user and is not world-writable. */
static void check_territory(char *path, size_t sysroot_len)
{
	struct stat status;

	while (strlen(path) >= sysroot_len) {
		require(stat(path, &status) == 0 && status.st_uid == geteuid());
		require((status.st_mode & (S_IWOTH | S_ISVTX)) != S_IWOTH);
		*strrchr(path, '/') = '\0';
	}
}

/* openat2() is missing in kernels before 5.6 and in some sandboxes. */
static bool has_openat2(void)
{
	static int known; /* 1: available; -1: missing */
	struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	CLEANUP(cleanup_close) int fd = -1;

	if (known)
		return known > 0;
	fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
	known = fd >= 0 ? 1 : -1;
	if (known < 0)
		fprintf(stderr, "not compared with the kernel: openat2: %m\n");
	return known > 0;
}

/* The kernel resolves the path to the same file, with the sysroot as "/". */
static void check_kernel_agrees(const char *sysroot, const char *inside, int fd)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	CLEANUP(cleanup_close) int root = open(sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(cleanup_close) int theirs = -1;
	struct stat a, b;

	if (!has_openat2())
		return;
	do { /* EAGAIN: a rename anywhere on the machine raced with ".." */
		theirs = (int)syscall(SYS_openat2, root, inside[0] ? inside : ".", &how,
		                      sizeof(how));
	} while (theirs < 0 && errno == EAGAIN);
	require(theirs >= 0 && fstat(fd, &a) == 0 && fstat(theirs, &b) == 0);
	require(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static void open_directory(const char *sysroot, const char *path, enum safe_create create)
{
	CLEANUP(cleanup_close) int fd = -1;
	char real[PATH_MAX];
	size_t len = strlen(sysroot);

	if (safe_directory_open(path, sysroot, create, &fd, NULL) < 0)
		return;
	real_path(fd, real);
	require(strncmp(real, sysroot, len) == 0 && (real[len] == '/' || !real[len]));
	check_kernel_agrees(sysroot, path + len, fd);
	check_territory(real, len);
}

/* Nothing is created outside the sysroot. */
static void check_outside(void)
{
	CLEANUP(cleanup_closedir) DIR *outside = opendir(scratch());
	size_t count = 0;

	require(outside != NULL);
	while (readdir(outside))
		count++;
	require(count == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = input_of(data, size), inside = input_piece(&rest);
	CLEANUP(cleanup_free) char *path = NULL;
	const char *sysroot;
	struct safe_way way;

	if (inside.len > PATH_MAX / 2)
		return -1;
	scratch_clear();
	scratch_tree("sysroot", rest);
	sysroot = scratch_path("sysroot");
	require(asprintf(&path, "%s/%.*s", sysroot, (int)inside.len, inside.ptr) > 0);
	if (safe_path_look(path, NULL, sysroot, &way, NULL) == 0)
		require(way.uid == geteuid() || way.uid == STRANGER);
	open_directory(sysroot, path, SAFE_EXISTING);
	open_directory(sysroot, path, SAFE_CREATE);
	check_outside();
	return 0;
}

/*
 * file.c - calls that no signal interrupts, no FIFO holds up, and no link leads astray.
 */
#include "db/base/file.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"

/* --- below a sysroot --- */

__attribute__((weak)) const struct file_sysroot *file_sysroot(void)
{
	return NULL;
}

/* What is left of @path below @top; NULL: it lies elsewhere. */
static const char *below(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len > 1 && top[len - 1] == '/')
		len--;
	return strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

/* The path, seen from the sysroot, of @name in @directory: malloc'd; NULL: it lies elsewhere. */
static char *path_below(int directory, const char *name)
{
	CLEANUP(cleanup_free) char *real = NULL;
	const struct file_sysroot *sysroot = file_sysroot();
	const char *rest = NULL;

	if (!sysroot)
		return NULL;
	if (name[0] == '/') {
		rest = below(name, sysroot->given);
		return rest ? text_format(".%s", rest) : NULL;
	}
	if (directory != AT_FDCWD)
		real = file_real_path(directory);
	rest = real ? below(real, sysroot->real) : NULL;
	return rest ? text_format(".%s/%s", rest, name) : NULL;
}

/* Without openat2(), as on kernels before 5.6, nothing is opened there. */
static int open_below(const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	int fd;

	do {
		fd = (int)syscall(SYS_openat2, file_sysroot()->fd, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd;
}

static int open_again(int directory, const char *name, int flags)
{
	int fd;

	do {
		fd = openat(directory, name, flags);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

void file_fd_path(char path[FILE_FD_PATH_ROOM], int fd)
{
	snprintf(path, FILE_FD_PATH_ROOM, "/proc/self/fd/%d", fd);
}

/* What a link leads to, unless that is a device: to open one may rewind a tape. */
static int open_no_device(int directory, const char *name, int flags)
{
	CLEANUP(cleanup_close) int seen = open_again(directory, name, O_PATH | O_CLOEXEC);
	char path[FILE_FD_PATH_ROOM];
	struct stat status;

	if (seen < 0 || fstat(seen, &status) != 0)
		return -1;
	if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
		errno = ENXIO;
		return -1;
	}
	file_fd_path(path, seen);
	return open_again(AT_FDCWD, path, flags);
}

/* Only root can make a device, but others links to one, which root would open for them. */
int file_open(int directory, const char *name, int flags)
{
	CLEANUP(cleanup_free) char *inside = path_below(directory, name);
	int fd;

	flags |= O_RDONLY | O_CLOEXEC;
	if (!(flags & O_PATH))
		flags |= O_NONBLOCK | O_NOCTTY;
	if (inside)
		return open_below(inside, flags);
	if (flags & (O_PATH | O_DIRECTORY | O_NOFOLLOW) || geteuid() != 0)
		return open_again(directory, name, flags);
	fd = open_again(directory, name, flags | O_NOFOLLOW);
	return fd < 0 && errno == ELOOP ? open_no_device(directory, name, flags) : fd;
}

static int status_below(const char *path, struct stat *status)
{
	CLEANUP(cleanup_close) int fd = open_below(path, O_PATH);

	return fd < 0 ? -1 : fstat(fd, status);
}

int file_status(int directory, const char *path, struct stat *status, struct error *error)
{
	CLEANUP(cleanup_free) char *inside = path_below(directory, path);

	if ((inside ? status_below(inside, status) : fstatat(directory, path, status, 0)) == 0)
		return 1;
	return errno_is_failure(errno) ? error_errno(error, errno, "%s", path) : 0;
}

ssize_t file_read(int fd, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)to + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int file_write(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size > 0) {
		ssize_t n = write(fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

char *file_real_path(int fd)
{
	char link[FILE_FD_PATH_ROOM], path[PATH_MAX];
	ssize_t len;

	file_fd_path(link, fd);
	len = readlink(link, path, sizeof(path));
	return len > 0 && (size_t)len < sizeof(path) && path[0] == '/' ? strndup(path, (size_t)len)
	                                                               : NULL;
}

DIR *file_open_directory(int directory, const char *name)
{
	CLEANUP(cleanup_close) int fd = file_open(directory, name, O_DIRECTORY);
	DIR *opened = fd < 0 ? NULL : fdopendir(fd);

	if (opened)
		take_fd(&fd);
	return opened;
}

int file_next(DIR *directory, const char **name)
{
	const struct dirent *entry;

	errno = 0;
	entry = readdir(directory);
	if (!entry)
		return errno ? -1 : 0;
	*name = entry->d_name;
	return 1;
}

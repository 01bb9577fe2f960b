/*
 * file.c - see file.h.
 */
#include "db/base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"

int file_open(int directory, const char *name, int flags)
{
	int fd;

	do {
		fd = openat(directory, name, flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

int file_status(int directory, const char *path, struct stat *status, struct error *error)
{
	if (fstatat(directory, path, status, 0) == 0)
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
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(fd)], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
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

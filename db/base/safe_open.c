/*
 * safe_open.c - follows no link, opens no device, and keeps clear of the standard streams.
 */
#include "db/base/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "db/base/libc.h"

int safe_fd(int low)
{
	int fd = low;

	if (low >= 0 && low <= STDERR_FILENO) {
		fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(low);
	}
	return fd;
}

int safe_openat(int directory, const char *name, int flags, mode_t mode)
{
	flags |= O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
	return safe_fd((int)TEMP_FAILURE_RETRY(openat(directory, name, flags, mode)));
}

int safe_open_file(int directory, const char *name, int flags, mode_t mode)
{
	struct stat status;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !safe_is_device(&status))
		return safe_openat(directory, name, flags, mode);
	errno = ENXIO;
	return -1;
}

bool safe_is_of_process(int fd, const struct stat *status)
{
	struct statfs system;

	return status->st_size == 0 && fstatfs(fd, &system) == 0 &&
	       system.f_type == PROC_SUPER_MAGIC;
}

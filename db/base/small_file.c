/*
 * small_file.c - see small_file.h.
 */
#include "db/base/small_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"

static int read_whole(int fd, const char *path, size_t limit, char **text, size_t *len,
                      struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = malloc(limit + 1);
	ssize_t got;

	if (!bytes)
		return error_nomem(error);
	got = file_read(fd, bytes, limit);
	if (got < 0)
		return error_errno(error, errno, "cannot read %s", path);
	bytes[got] = '\0';
	*len = (size_t)got;
	*text = take(bytes);
	return 1;
}

int small_file_read(const char *path, size_t limit, char **text, size_t *len, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, 0);
	struct stat status;

	if (fd < 0 && !errno_is_failure(errno))
		return 0;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot open %s", path);
	return S_ISREG(status.st_mode) ? read_whole(fd, path, limit, text, len, error) : 0;
}

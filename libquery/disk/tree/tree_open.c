/*
 * tree_open.c - opens a path entry as what it is.
 */
#include "libquery/disk/tree/tree_open.h"

#include <errno.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "libquery/disk/tree/archive.h"

int tree_open(const char *path, struct tree **out, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path[0] ? path : ".", 0);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", path);
	if (S_ISDIR(status.st_mode))
		return tree_open_directory(take_fd(&fd), stamp_of(&status), out, error);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_NOTFOUND, "%s: neither a directory nor a file", path);
	return tree_open_zip(take_fd(&fd), path, stamp_of(&status), out, error);
}

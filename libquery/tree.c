/*
 * tree.c - open a path entry as what it is; see tree.h.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

#define NANOSECONDS 1000000000

struct stamp stamp_of(const struct stat *status)
{
	return (struct stamp){
		.mtime = (int64_t)status->st_mtim.tv_sec * NANOSECONDS + status->st_mtim.tv_nsec,
		.ctime = (int64_t)status->st_ctim.tv_sec * NANOSECONDS + status->st_ctim.tv_nsec,
		.dev = (int64_t)status->st_dev,
	};
}

/* O_NONBLOCK: a FIFO on the path must not stop us; it is no zip either. */
int tree_open(const char *path, struct tree **out, struct error *error)
{
	CLEANUP(cleanup_close) int fd =
		open(path[0] ? path : ".", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", path);
	if (S_ISDIR(status.st_mode))
		return tree_open_directory(take_fd(&fd), stamp_of(&status), out, error);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_NOTFOUND, "%s: neither a directory nor a file", path);
	return tree_open_zip(take_fd(&fd), path, stamp_of(&status), out, error);
}

void tree_close(struct tree *tree)
{
	if (tree)
		tree->operations->close(tree);
}

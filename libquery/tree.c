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

#define DIRECT_URL_MAX ((size_t)1 << 20) /* bytes */

/* O_NONBLOCK: a FIFO on the path must not stop us; it is no zip either. */
int tree_open(const char *path, struct tree **out, struct error *error)
{
	CLEANUP(cleanup_close)
	int fd = open(path[0] ? path : ".", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", path);
	if (S_ISDIR(status.st_mode))
		return tree_open_directory(take_fd(&fd), stamp_of(&status), out, error);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_NOTFOUND, "%s: neither a directory nor a file", path);
	return tree_open_zip(take_fd(&fd), path, stamp_of(&status), out, error);
}

/*
 * "dir_info": {"editable": true}. The words decide: to take one that is not editable
 * for one that is costs a stat, and nothing else.
 */
bool tree_is_editable(struct tree *tree, struct slice child)
{
	struct arena arena = ARENA_INIT;
	struct slice text;
	bool editable = false;

	if (tree->operations->read(tree, child, "direct_url.json", DIRECT_URL_MAX, false, &arena,
	                           &text, NULL) > 0)
		editable = memmem(text.ptr, text.len, "\"editable\"", 10) != NULL;
	arena_free(&arena);
	return editable;
}

void tree_close(struct tree *tree)
{
	if (tree)
		tree->operations->close(tree);
}

/*
 * Writes a file that the user names for results.
 */
#include "indexer/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/small_file.h"
#include "db/base/trust.h"

/* A device or a pipe is written to as it is. */
static int write_in_place(const char *path, struct slice text, struct error *error)
{
	CLEANUP(cleanup_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || file_write(fd, text.ptr, text.len) != 0)
		return error_errno(error, errno, "cannot write %s", path);
	return 0;
}

/* Not a FIFO of somebody else's, nor a link of his to a disk: these are replaced. */
static bool is_believed(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && trust_owner(status.st_uid, TRUST_NO_OTHER);
}

int output_file_write(const char *path, struct slice text, struct error *error)
{
	struct stat status;

	if (slice_equal(slice_of(path), SLICE("-")))
		return fwrite(text.ptr, 1, text.len, stdout) == text.len
		               ? 0
		               : error_errno(error, errno, "cannot write the results");
	if (is_believed(path) && stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return write_in_place(path, text, error);
	return small_file_write(AT_FDCWD, path, text, 0) == 0
	               ? 0
	               : error_errno(error, errno, "cannot write %s", path);
}

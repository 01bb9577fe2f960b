/*
 * output_file.c - see output_file.h.
 */
#include "indexer/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
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

static int write_part(const char *part, struct slice text, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;

	unlink(part); /* of a run that was killed */
	fd = safe_openat(AT_FDCWD, part, O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (fd < 0)
		return error_errno(error, errno, "cannot write %s", part);
	if (file_write(fd, text.ptr, text.len) != 0 || close(take_fd(&fd)) != 0) {
		error_errno(error, errno, "cannot write %s", part);
		unlink(part);
		return ERROR_IO;
	}
	return 0;
}

int output_file_write(const char *path, struct slice text, struct error *error)
{
	CLEANUP(cleanup_free) char *part = text_format("%s.part", path);
	struct stat status;
	int code;

	if (slice_equal(slice_of(path), SLICE("-")))
		return fwrite(text.ptr, 1, text.len, stdout) == text.len
		               ? 0
		               : error_errno(error, errno, "cannot write the results");
	if (!part)
		return error_nomem(error);
	if (is_believed(path) && stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return write_in_place(path, text, error);
	code = write_part(part, text, error);
	if (code == 0 && rename(part, path) != 0) {
		code = error_errno(error, errno, "cannot write %s", path);
		unlink(part);
	}
	return code;
}

/*
 * Reads small files of others without waiting for anything, and writes small files whole.
 */
#include "db/base/small_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"

int small_file_read_fd(int fd, const char *path, size_t limit, char **text, size_t *len,
                       struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct stat status;
	ssize_t got;

	if (fd < 0 && !errno_is_failure(errno))
		return 0;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot open %s", path);
	if (!S_ISREG(status.st_mode))
		return 0;
	bytes = malloc(limit + 1);
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

	return small_file_read_fd(fd, path, limit, text, len, error);
}

int small_file_read_trusted(const char *path, size_t limit, uid_t owner, char **text, size_t *len,
                            struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, 0);
	struct stat status;

	if (fd < 0 && error_code(errno) == ERROR_NOTFOUND)
		return 0;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read %s", path);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_FORMAT, "%s is not a file", path);
	switch (trust_of(fd, &status, owner)) {
	case TRUST_FOREIGN:
		return error_set(error, ERROR_PERMISSION,
		                 "%s is not believed: it belongs to user %u; delete it, or make it "
		                 "yours or root's",
		                 path, status.st_uid);
	case TRUST_WRITABLE:
		return error_set(
		        error, ERROR_PERMISSION,
		        "%s is not believed: others can write it; chmod go-w it if it is yours",
		        path);
	case TRUST_BELIEVED:
		break;
	}
	return small_file_read_fd(fd, path, limit, text, len, error);
}

int small_file_write(int directory, const char *name, struct slice text, mode_t mode)
{
	CLEANUP(cleanup_free) char *part = text_format("%s.entrydb-part", name);
	CLEANUP(cleanup_close) int fd = -1;
	int why;

	if (!part)
		return -1;
	unlinkat(directory, part, 0); /* of a process that was killed */
	fd = safe_openat(directory, part, O_WRONLY | O_CREAT | O_EXCL, mode);
	if (fd >= 0 && file_write(fd, text.ptr, text.len) == 0 && fsync(fd) == 0 &&
	    fchmod(fd, mode) == 0 && renameat(directory, part, directory, name) == 0)
		return 0;
	why = errno;
	unlinkat(directory, part, 0);
	errno = why;
	return -1;
}

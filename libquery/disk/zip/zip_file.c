/*
 * zip_file.c - see zip_file.h. A zip is read back to front and here and there, so
 * that every read names its place; the position of the descriptor is left alone.
 */
#include "libquery/disk/zip/zip_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int zip_file_open(int fd, const char *name, struct zip_file *out, struct error *error)
{
	struct zip_file file = {.fd = fd, .name = name};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_errno(error, errno, "%s", name);
	if (!S_ISREG(status.st_mode))
		return zip_file_not_a_zip(&file, error);
	file.size = (uint64_t)status.st_size;
	*out = file;
	return 0;
}

int zip_file_read_some(const struct zip_file *file, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error)
{
	size_t done = 0;

	while (done < size && at + done < file->size) {
		ssize_t n = pread(file->fd, to + done, size - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(error, errno, "%s", file->name);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*got = done;
	return 0;
}

int zip_file_read(const struct zip_file *file, uint64_t at, char *to, size_t size,
                  struct error *error)
{
	size_t got = 0;
	int code = zip_file_read_some(file, at, to, size, &got, error);

	if (code < 0)
		return code;
	if (got < size)
		return error_set(error, ERROR_FORMAT, "%s: ends within a record", file->name);
	return 0;
}

int zip_file_not_a_zip(const struct zip_file *file, struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: not a zip file", file->name);
}

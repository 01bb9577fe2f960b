/*
 * file_hash.c - hashes files for verify, audit and push; an interrupt stops it at once.
 */
#include "indexer/file_hash.h"

#include <errno.h>
#include <strings.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/command.h"

#define HASHED_MAX  ((off_t)4 << 30)  /* bytes */
#define HOLE_MIN    ((off_t)64 << 20) /* bytes; larger files are tested for holes: */
#define HOLE_FILLED 16                /* sparse if less than 1/16 is allocated */

/* A sparse file costs nothing to create, but hours to read. */
static bool is_too_large(const struct stat *status)
{
	return status->st_size > HASHED_MAX ||
	       (status->st_size > HOLE_MIN &&
	        status->st_blocks * 512 < status->st_size / HOLE_FILLED);
}

/* @left: NULL, or bytes that may be hashed, which decrease. */
static int digest_of(struct readers readers, const char *path, off_t *left,
                     uint8_t digest[SHA256_SIZE], struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open_for(readers, AT_FDCWD, path);
	struct stat status;

	if (fd < 0 && errno == ENAMETOOLONG) /* else ERROR_LIMIT */
		errno = ENOENT;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read %s", path);
	if (!S_ISREG(status.st_mode)) /* a device may have no end */
		return error_set(error, ERROR_NOTFOUND, "%s: not a regular file", path);
	if (is_too_large(&status) || (left && status.st_size > *left))
		return error_set(error, ERROR_LIMIT, "%s: " FILE_HASH_TOO_LARGE, path);
	if (left)
		*left -= status.st_size;
	if (sha256_of_file(fd, status.st_size, interrupted, digest) == 0)
		return 0;
	return interrupted() ? error_set(error, ERROR_IO, "interrupted")
	                     : error_errno(error, errno, "cannot read %s", path);
}

static bool is_digest(struct slice text, const uint8_t digest[SHA256_SIZE])
{
	char base64[SHA256_BASE64_SIZE + 1], hex[SHA256_HEX_SIZE + 1];

	sha256_base64(digest, base64);
	sha256_hex(digest, hex);
	if (text.len == SHA256_HEX_SIZE)
		return strncasecmp(text.ptr, hex, SHA256_HEX_SIZE) == 0;
	while (slice_ends(text, SLICE("=")))
		text.len--;
	return slice_equal(text, slice_of(base64));
}

int file_hash_matches(struct readers readers, const char *path, struct slice recorded, off_t *left,
                      struct error *error)
{
	static const struct slice algorithm = {"sha256=", 7};
	uint8_t found[SHA256_SIZE];
	int code;

	if (!slice_starts(recorded, algorithm))
		return error_set(error, ERROR_INVALID, "%s: not a hash by SHA-256", path);
	code = digest_of(readers, path, left, found, error);
	return code < 0 ? code : is_digest(slice_from(recorded, algorithm.len), found);
}

int file_hash(const char *path, char hex[SHA256_HEX_SIZE + 1], struct error *error)
{
	uint8_t found[SHA256_SIZE];
	int code = digest_of(READERS_NONE, path, NULL, found, error);

	if (code == 0)
		sha256_hex(found, hex);
	return code;
}

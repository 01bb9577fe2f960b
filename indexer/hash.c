/*
 * hash.c - see hash.h. The only file that knows the cryptographic library.
 */
#include "indexer/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "db/base/cleanup.h"
#include "db/base/libc.h"
#include "indexer/command.h"

#define CHUNK      ((size_t)64 * 1024) /* bytes read at a time */
#define HEX_DIGITS (2 * (size_t)SHA256_DIGEST_SIZE)

static int digest_of_open(int fd, const char *path, uint8_t digest[SHA256_DIGEST_SIZE],
                          struct error *error)
{
	CLEANUP(cleanup_free) uint8_t *chunk = malloc(CHUNK);
	struct sha256_ctx context;
	ssize_t n;

	if (!chunk)
		return error_nomem(error);
	sha256_init(&context);
	while ((n = TEMP_FAILURE_RETRY(read(fd, chunk, CHUNK))) > 0 && !interrupted())
		sha256_update(&context, (size_t)n, chunk);
	if (n < 0)
		return error_errno(error, errno, "cannot read %s", path);
	if (n > 0)
		return error_set(error, ERROR_IO, "interrupted");
	sha256_digest(&context, SHA256_DIGEST_SIZE, digest);
	return 0;
}

static int digest_of(const char *path, uint8_t digest[SHA256_DIGEST_SIZE], struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;

	fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read %s", path);
	if (!S_ISREG(status.st_mode)) /* a device may have no end */
		return error_set(error, ERROR_NOTFOUND, "%s: not a regular file", path);
	return digest_of_open(fd, path, digest, error);
}

/* The digest that is written down, from either spelling. */
static bool decode(struct slice text, uint8_t digest[SHA256_DIGEST_SIZE])
{
	struct base64_decode_ctx base64;
	struct base16_decode_ctx base16;
	uint8_t room[BASE64_DECODE_LENGTH(HEX_DIGITS) + 1];
	size_t len = sizeof(room);

	if (text.len == HEX_DIGITS) {
		base16_decode_init(&base16);
		len = SHA256_DIGEST_SIZE;
		return base16_decode_update(&base16, &len, digest, text.len, text.ptr) &&
		       len == SHA256_DIGEST_SIZE;
	}
	if (text.len > HEX_DIGITS)
		return false;
	base64url_decode_init(&base64);
	if (!base64_decode_update(&base64, &len, room, text.len, text.ptr) ||
	    len != SHA256_DIGEST_SIZE)
		return false;
	memcpy(digest, room, SHA256_DIGEST_SIZE);
	return true;
}

int hash_matches(const char *path, struct slice recorded, struct error *error)
{
	static const struct slice algorithm = {"sha256=", 7};
	uint8_t wanted[SHA256_DIGEST_SIZE], found[SHA256_DIGEST_SIZE];
	int code;

	if (!slice_starts(recorded, algorithm))
		return error_set(error, ERROR_INVALID, "%s: not a hash by SHA-256", path);
	if (!decode(slice_from(recorded, algorithm.len), wanted))
		return 0;
	code = digest_of(path, found, error);
	return code < 0 ? code : memcmp(wanted, found, sizeof(found)) == 0;
}

void hash_text(struct slice text, char hex[HASH_HEX + 1])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, text.len, (const uint8_t *)text.ptr);
	sha256_digest(&context, sizeof(digest), digest);
	base16_encode_update(hex, HASH_HEX / 2, digest);
	hex[HASH_HEX] = '\0';
}

int hash_file(const char *path, char hex[HASH_FILE_HEX + 1], struct error *error)
{
	uint8_t found[SHA256_DIGEST_SIZE];
	int code = digest_of(path, found, error);

	if (code < 0)
		return code;
	base16_encode_update(hex, sizeof(found), found);
	hex[HASH_FILE_HEX] = '\0';
	return 0;
}

/*
 * hash.c - see hash.h. The only file that knows the cryptographic library.
 */
#include "hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "cleanup.h"

#define CHUNK ((size_t)64 * 1024) /* bytes read at a time */

int hash_file(const char *path, char text[HASH_TEXT_SIZE], struct error *error)
{
	CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t digest[SHA256_DIGEST_SIZE];
	uint8_t chunk[CHUNK];
	char base64[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = {0};
	struct sha256_ctx context;
	ssize_t n = -1;

	sha256_init(&context);
	while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
		sha256_update(&context, (size_t)n, chunk);
	if (n < 0)
		return error_errno(error, errno, "cannot read %s", path);
	sha256_digest(&context, sizeof(digest), digest);
	base64_encode_raw(base64, sizeof(digest), digest);
	for (char *c = base64; *c; c++)
		*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	base64[strcspn(base64, "=")] = '\0';
	snprintf(text, HASH_TEXT_SIZE, "sha256=%s", base64);
	return 0;
}

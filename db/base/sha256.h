/*
 * sha256.h - SHA-256 (FIPS 180-4), so that no cryptographic library is needed.
 */
#ifndef DB_BASE_SHA256_H
#define DB_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SHA256_SIZE        32 /* bytes of a digest */
#define SHA256_BLOCK       64 /* bytes of a block */
#define SHA256_BASE64_SIZE 43 /* letters of a digest in RECORD, without padding */
#define SHA256_HEX_SIZE    64 /* digits of a digest in hexadecimal */

struct sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes so far */
	uint8_t block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t len);
void sha256_end(struct sha256 *sha, uint8_t digest[SHA256_SIZE]);

/* The digest of @len bytes in hexadecimal, NUL-terminated. */
void sha256_of(const void *bytes, size_t len, char hex[SHA256_HEX_SIZE + 1]);

/*
 * The digest of the rest of the file @fd. @stopped, if not NULL, is called now and then; true
 * cancels. 0, or -1 and errno: EINTR if cancelled; EFBIG if there are more than @size bytes, that
 * of the file when the caller examined it, as in a file that grows or a user's file system without
 * end.
 */
int sha256_of_file(int fd, off_t size, bool (*stopped)(void), uint8_t digest[SHA256_SIZE]);

/* In the encoding of RECORD: URL-safe base64 without padding; NUL-terminated. */
void sha256_base64(const uint8_t digest[SHA256_SIZE], char out[SHA256_BASE64_SIZE + 1]);

/* In hexadecimal, NUL-terminated. */
void sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE + 1]);

/* The hexadecimal form of any bytes; @out has room for 2 * @size + 1. */
void hex_of(const void *bytes, size_t size, char *out);

#endif

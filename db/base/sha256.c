/*
 * sha256.c - SHA-256, for the hashes of RECORD and the names in the quarantine.
 */
#include "db/base/sha256.h"

#include <errno.h>
#include <string.h>

#include "db/base/file.h"

#define READ_SIZE 65536 /* bytes */

static const uint32_t round_constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
};

void sha256_begin(struct sha256 *sha)
{
	*sha = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
	                                 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t rotate(uint32_t word, unsigned by)
{
	return word >> by | word << (32 - by);
}

static void expand(const uint8_t *block, uint32_t w[64])
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

/* One round; the caller rotates the working variables. */
static inline void step(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                        uint32_t g, uint32_t *h, uint32_t add)
{
	uint32_t s1 = rotate(rotate(rotate(e, 14) ^ e, 5) ^ e, 6);
	uint32_t s0 = rotate(rotate(rotate(a, 9) ^ a, 11) ^ a, 2);
	uint32_t t1 = *h + s1 + ((e & (f ^ g)) ^ g) + add;

	*d += t1;
	*h = t1 + s0 + ((a & b) | (c & (a | b)));
}

#define LETTER(k, i) v[((k) - (i)) & 7]

static void compress(struct sha256 *sha, const uint8_t *block)
{
	uint32_t w[64], v[8];

	expand(block, w);
	memcpy(v, sha->state, sizeof(v));
	for (unsigned i = 0; i < 64; i += 8)
#pragma GCC unroll 8
		for (unsigned j = 0; j < 8; j++)
			step(LETTER(0, j), LETTER(1, j), LETTER(2, j), &LETTER(3, j), LETTER(4, j),
			     LETTER(5, j), LETTER(6, j), &LETTER(7, j),
			     round_constants[i + j] + w[i + j]);
	for (int i = 0; i < 8; i++)
		sha->state[i] += v[i];
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t len)
{
	const uint8_t *from = bytes;

	while (len > 0) {
		size_t at = sha->length % SHA256_BLOCK;
		size_t part = SHA256_BLOCK - at < len ? SHA256_BLOCK - at : len;

		memcpy(sha->block + at, from, part);
		sha->length += part;
		if (at + part == SHA256_BLOCK)
			compress(sha, sha->block);
		from += part;
		len -= part;
	}
}

void sha256_end(struct sha256 *sha, uint8_t digest[SHA256_SIZE])
{
	static const uint8_t padding[SHA256_BLOCK] = {0x80};
	uint64_t bits = sha->length * 8;
	size_t at = sha->length % SHA256_BLOCK;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(sha, padding, at < 56 ? 56 - at : 120 - at);
	sha256_add(sha, length, sizeof(length));
	for (int i = 0; i < SHA256_SIZE; i++)
		digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_of(const void *bytes, size_t len, char hex[SHA256_HEX_SIZE + 1])
{
	uint8_t digest[SHA256_SIZE];
	struct sha256 sha;

	sha256_begin(&sha);
	sha256_add(&sha, bytes, len);
	sha256_end(&sha, digest);
	sha256_hex(digest, hex);
}

int sha256_of_file(int fd, off_t size, bool (*stopped)(void), uint8_t digest[SHA256_SIZE])
{
	struct sha256 sha;
	char bytes[READ_SIZE];
	ssize_t got;

	sha256_begin(&sha);
	while ((got = file_read(fd, bytes, sizeof(bytes))) > 0) {
		if (stopped && stopped()) {
			errno = EINTR;
			return -1;
		}
		size -= got;
		if (size < 0) {
			errno = EFBIG;
			return -1;
		}
		sha256_add(&sha, bytes, (size_t)got);
	}
	if (got < 0)
		return -1;
	sha256_end(&sha, digest);
	return 0;
}

void sha256_base64(const uint8_t digest[SHA256_SIZE], char out[SHA256_BASE64_SIZE + 1])
{
	static const char letters[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (int i = 0; i < SHA256_BASE64_SIZE; i++) {
		int bit = 6 * i, at = bit / 8;
		unsigned pair = (unsigned)digest[at] << 8;

		if (at + 1 < SHA256_SIZE)
			pair |= digest[at + 1];
		out[i] = letters[pair >> (10 - bit % 8) & 63];
	}
	out[SHA256_BASE64_SIZE] = '\0';
}

void hex_of(const void *bytes, size_t size, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (const uint8_t *byte = bytes; size > 0; byte++, size--) {
		*out++ = digits[*byte >> 4];
		*out++ = digits[*byte & 15];
	}
	*out = '\0';
}

void sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE + 1])
{
	hex_of(digest, SHA256_SIZE, out);
}

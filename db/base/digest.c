/*
 * digest.c - see digest.h.
 */
#include "db/base/digest.h"

#include <endian.h>
#include <string.h>

#define STEP 0x9e3779b97f4a7c15u

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	return h;
}

static uint64_t begin(size_t len)
{
	return STEP ^ len;
}

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	return mix(hash ^ number) + STEP;
}

uint64_t digest_numbers(const uint64_t *numbers, size_t count)
{
	uint64_t hash = begin(count * sizeof(*numbers));

	for (size_t i = 0; i < count; i++)
		hash = add_number(hash, numbers[i]);
	return mix(hash);
}

uint64_t digest(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t hash = begin(len);

	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		hash = add_number(hash, le64toh(word));
	}
	for (; len; len--)
		hash = mix(hash ^ *at++) + 1;
	return mix(hash);
}

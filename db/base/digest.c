/*
 * digest.c - see digest.h.
 */
#include "db/base/digest.h"

#include <string.h>

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	return h;
}

uint64_t digest(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t hash = 0x9e3779b97f4a7c15u ^ len;

	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		hash = mix(hash ^ word) + 0x9e3779b97f4a7c15u;
	}
	for (; len; len--)
		hash = mix(hash ^ *at++) + 1;
	return mix(hash);
}

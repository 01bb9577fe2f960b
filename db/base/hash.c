/*
 * hash.c - SipHash-1-3 for hash tables and for the stamps in databases.
 */
#include "db/base/hash.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#define FINAL_ROUNDS 3

static uint64_t rotate(uint64_t word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static void round_once(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void take_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	round_once(v);
	v[0] ^= word;
}

/* Load @size bytes (at most a word), least significant byte first. */
static inline uint64_t load_word(const char *at, size_t size)
{
	uint64_t word = 0;

	if (size > 0)
		memcpy(&word, at, size);
	return le64toh(word);
}

uint64_t hash_keyed(struct hash_key key, const void *bytes, size_t len)
{
	uint64_t v[4] = {
	        key.words[0] ^ 0x736f6d6570736575u,
	        key.words[1] ^ 0x646f72616e646f6du,
	        key.words[0] ^ 0x6c7967656e657261u,
	        key.words[1] ^ 0x7465646279746573u,
	};
	const char *at = bytes;
	size_t left = len;

	for (; left >= sizeof(*v); at += sizeof(*v), left -= sizeof(*v))
		take_word(v, load_word(at, sizeof(*v)));
	take_word(v, load_word(at, left) | (uint64_t)len << 56);
	v[2] ^= 0xff;
	for (int i = 0; i < FINAL_ROUNDS; i++)
		round_once(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_stable(const void *bytes, size_t len)
{
	return hash_keyed((struct hash_key){{0, 0}}, bytes, len);
}

uint64_t hash_numbers(const uint64_t *numbers, size_t count)
{
	uint64_t bytes[HASH_NUMBERS_MAX];

	for (size_t i = 0; i < count; i++)
		bytes[i] = htole64(numbers[i]);
	return hash_stable(bytes, count * sizeof(*bytes));
}

/*
 * Derived from the random bytes that the kernel gives every program (AT_RANDOM), so there is no
 * state and nothing can fail. libc uses the same bytes as stack guard: the derived key does not
 * reveal them.
 */
struct hash_key hash_own_key(void)
{
	const void *given = (const void *)getauxval(AT_RANDOM);
	struct hash_key random = {{0, 0}};

	if (given)
		memcpy(&random, given, sizeof(random));
	return (struct hash_key){{hash_keyed(random, "key 0", 5), hash_keyed(random, "key 1", 5)}};
}

/*
 * siphash.h - SipHash-1-3 (Aumasson and Bernstein): a hash of names under a key.
 *
 * Who does not know the key cannot make names that collide, so that a table of names
 * from strangers stays fast. Rust and Python use the same for theirs.
 */
#ifndef DB_BASE_SIPHASH_H
#define DB_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
	uint64_t words[2];
};

uint64_t siphash(struct siphash_key key, const void *bytes, size_t len);

/* A key that nobody else knows, the same for the life of the process. Any thread may ask. */
struct siphash_key siphash_own_key(void);

#endif

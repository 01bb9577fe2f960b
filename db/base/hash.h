/*
 * hash.h - SipHash-1-3 (Aumasson and Bernstein), the one hash that is not cryptographic.
 *
 * Under a key that nobody else knows, strangers cannot choose names that collide, so a
 * table of names stays fast; Rust and Python use it for theirs. Under the key zero it gives
 * the same number on every machine and is written into databases; anybody can make
 * names that collide under it.
 */
#ifndef DB_BASE_HASH_H
#define DB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t words[2];
};

uint64_t hash_keyed(struct hash_key key, const void *bytes, size_t len);

/* A key that only this process knows, the same for all its life. Any thread may ask. */
struct hash_key hash_own_key(void);

/* Under the key zero. Databases hold it, so it must never change. */
uint64_t hash_stable(const void *bytes, size_t len);

#define HASH_NUMBERS_MAX 16

/* hash_stable() of so many numbers, each in eight bytes, the lowest byte first. */
uint64_t hash_numbers(const uint64_t *numbers, size_t count);

#endif

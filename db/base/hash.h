/*
 * hash.h - SipHash-1-3 (Aumasson and Bernstein), the only non-cryptographic hash here.
 *
 * With a secret key, attackers cannot choose names that collide, so hash tables stay fast; Rust and
 * Python do the same. With the key zero it gives the same number on every machine and may be stored
 * in databases, but collisions can be constructed.
 */
#ifndef DB_BASE_HASH_H
#define DB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t words[2];
};

uint64_t hash_keyed(struct hash_key key, const void *bytes, size_t len);

/* A random key of this process, constant for its lifetime. Thread-safe. */
struct hash_key hash_own_key(void);

/* The hash with the key zero. Databases store it, so it must never change. */
uint64_t hash_stable(const void *bytes, size_t len);

#define HASH_NUMBERS_MAX 16

/* hash_stable() of @count numbers, each as eight bytes, least significant first. */
uint64_t hash_numbers(const uint64_t *numbers, size_t count);

#endif

/*
 * digest.h - a short digest of a few bytes, always the same for the same bytes, on any machine.
 *
 * It is written down (the stamps of distributions, the name of a hook's work) and
 * compared by other processes, so the function never changes. Not for security, and
 * not for tables: whoever knows it can make as many colliding names as he likes.
 */
#ifndef DB_BASE_DIGEST_H
#define DB_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

uint64_t digest(const void *bytes, size_t len);

/* As digest() of them where they lie in memory with the lowest byte first. */
uint64_t digest_numbers(const uint64_t *numbers, size_t count);

#endif

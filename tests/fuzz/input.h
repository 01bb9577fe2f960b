/*
 * input.h - the bytes that a fuzz target is given, cut into what it needs.
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/base/slice.h"
#include "libquery/disk/tree/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input is; stderr may have been silenced. */
#define require(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(STDERR_FILENO, "%s:%d: not so: %s\n", __FILE__, __LINE__,          \
			        #condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A file with these bytes, of no name. */
int input_descriptor(const void *bytes, size_t size);

static inline struct slice input_of(const uint8_t *data, size_t size)
{
	return (struct slice){size ? (const char *)data : "", size};
}

/* The bytes up to the next NUL, which are cut off @rest. */
struct slice input_piece(struct slice *rest);

/* The next byte, cut off @rest; 0 at the end. */
unsigned char input_byte(struct slice *rest);

/* The number in the next @bytes bytes, cut off @rest; 0 where they are too few. */
uint64_t input_number(struct slice *rest, size_t bytes);

/* What is left of @rest as "path\0content\0"...; how many there are, at most @room. */
size_t input_files(struct slice rest, struct tree_file *files, size_t room);

#endif

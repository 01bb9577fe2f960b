/*
 * input.h - takes the input of a fuzz target apart.
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

/* Abort if the condition is false; stderr may be silenced. */
#define require(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(STDERR_FILENO, "%s:%d: failed: %s\n", __FILE__, __LINE__,          \
			        #condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* An anonymous file with these bytes. */
int input_descriptor(const void *bytes, size_t size);

static inline struct slice input_of(const uint8_t *data, size_t size)
{
	return (struct slice){size ? (const char *)data : "", size};
}

/* Take the bytes up to the next NUL off @rest. */
struct slice input_piece(struct slice *rest);

/* Take the next byte off @rest; 0 at the end. */
unsigned char input_byte(struct slice *rest);

/* Take a number of @bytes bytes off @rest; 0 if there are fewer. */
uint64_t input_number(struct slice *rest, size_t bytes);

/* Parse @rest as "path\0content\0"...; returns the number of files, at most @room. */
size_t input_files(struct slice rest, struct tree_file *files, size_t room);

#endif

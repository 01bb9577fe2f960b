/*
 * input.c - takes the input of a fuzz target apart.
 */
#include "tests/fuzz/input.h"

#include <sys/mman.h>

int input_descriptor(const void *bytes, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	return fd;
}

struct slice input_piece(struct slice *rest)
{
	const char *end = memchr(rest->ptr, '\0', rest->len);
	struct slice piece = end ? slice_between(rest->ptr, end) : *rest;

	*rest = slice_from(*rest, piece.len + (end != NULL));
	return piece;
}

unsigned char input_byte(struct slice *rest)
{
	return (unsigned char)input_number(rest, 1);
}

uint64_t input_number(struct slice *rest, size_t bytes)
{
	uint64_t number = 0;

	if (rest->len < bytes) {
		*rest = slice_from(*rest, rest->len);
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		number |= (uint64_t)(unsigned char)rest->ptr[i] << (8 * i);
	*rest = slice_from(*rest, bytes);
	return number;
}

size_t input_files(struct slice rest, struct tree_file *files, size_t room)
{
	size_t count = 0;

	while (rest.len > 0 && count < room) {
		files[count].path = input_piece(&rest);
		files[count++].bytes = input_piece(&rest);
	}
	return count;
}

/*
 * fuzz_database.c - no bytes, taken for a database, may do more than give rows or
 * an error: neither to the reader, the writer, nor the library on top.
 */
#include "tests/fuzz/ask.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *file = scratch_write("x.db", input_of(data, size));

	ask_reader(file);
	ask_writer(file);
	ask_library(file);
	return 0;
}

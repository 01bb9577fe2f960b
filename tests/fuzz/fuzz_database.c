/*
 * fuzz_database.c - any bytes, opened as a database, yield rows or an error from the reader, the
 * writer and the library.
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

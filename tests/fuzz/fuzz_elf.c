/*
 * fuzz_elf.c - any bytes, read as a shared object, yield facts or an error.
 */
#include "db/base/cleanup.h"
#include "libquery/disk/elf/elf_file.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(cleanup_close) int fd = input_descriptor(data, size);
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	const struct elf_header *header;
	struct elf_facts facts;

	if (elf_file_open(fd, &file, NULL) < 0)
		return 0;
	header = elf_file_header(file);
	require(header->elf_class == 32 || header->elf_class == 64);
	require(strspn(header->build_id, "0123456789abcdef") == strlen(header->build_id));
	elf_file_find(file, SLICE("entry"), SLICE("PyInit_needs_python"), &facts, NULL);
	return 0;
}

/*
 * fuzz_elf.c - no bytes, taken for a shared object, may do more than give facts
 * or an error.
 */
#include "db/base/cleanup.h"
#include "libquery/disk/elf/elf_file.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(cleanup_close) int fd = input_descriptor(data, size);
	struct elf_facts facts;

	if (elf_examine(fd, SLICE("entry"), SLICE("PyInit_needs_python"), &facts, NULL) < 0)
		return 0;
	require(facts.elf_class == 32 || facts.elf_class == 64);
	require(strspn(facts.build_id, "0123456789abcdef") == strlen(facts.build_id));
	return 0;
}

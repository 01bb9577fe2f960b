/*
 * fuzz_elf.c - no bytes, taken for a shared object, may do more than give facts
 * or an error; and the file and the memory must give the same ones. An extract of them is
 * an ELF file, whatever it says, made by two passes at most over the tables.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libquery/disk/elf/elf_extract.h"
#include "libquery/disk/elf/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_facts(const struct elf_facts *facts)
{
	if (facts->elf_class != 32 && facts->elf_class != 64)
		abort();
	if (strspn(facts->build_id, "0123456789abcdef") != strlen(facts->build_id))
		abort();
}

static bool is_same(const struct elf_facts *a, const struct elf_facts *b)
{
	return a->is_shared_object == b->is_shared_object && a->machine == b->machine &&
	       a->exports_wanted == b->exports_wanted && a->exports_init == b->exports_init &&
	       a->needs_python == b->needs_python && strcmp(a->build_id, b->build_id) == 0;
}

struct bytes {
	struct slice all;
	uint64_t last;
	int backward; /* how often an earlier place was read */
};

static int read_bytes(void *payload, uint64_t at, char *to, size_t size, size_t *got,
                      struct error *error)
{
	struct bytes *bytes = payload;
	size_t left = at < bytes->all.len ? bytes->all.len - (size_t)at : 0;

	(void)error;
	*got = size < left ? size : left;
	if (*got > 0)
		memcpy(to, bytes->all.ptr + at, *got);
	bytes->backward += at < bytes->last;
	bytes->last = at;
	return 0;
}

static void check_extract(struct slice image, struct slice wanted)
{
	struct bytes bytes = {.all = image};
	const struct elf_source source = {read_bytes, &bytes, UINT64_MAX};
	struct elf_facts facts;
	struct slice part;

	if (elf_extract(&source, &part, NULL) < 0)
		return;
	if (bytes.backward > 2 || part.len > 2 * ELF_EXTRACT_MAX)
		abort();
	if (elf_examine_memory(part, wanted, wanted, &facts, NULL) == 0)
		check_facts(&facts);
	free((char *)part.ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct slice wanted = SLICE("entry"), init = SLICE("PyInit_needs_python");
	int fd = memfd_create("elf", MFD_CLOEXEC), by_file, by_memory;
	struct slice image = {(const char *)data, size};
	struct elf_facts a, b;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	by_file = elf_examine(fd, wanted, init, &a, NULL);
	by_memory = elf_examine_memory(image, wanted, init, &b, NULL);
	if (by_file == 0)
		check_facts(&a);
	if (by_memory == 0)
		check_facts(&b);
	if (by_file == 0 && by_memory == 0 && !is_same(&a, &b))
		abort();
	check_extract(image, wanted);
	close(fd);
	return 0;
}

/*
 * test_elf.c - elf_file.c's report about the plugins of fixtures/plugins, built in
 * ENTRYDB_TEST_PLUGINS, and about damaged copies of them.
 */
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "libquery/disk/elf/elf_file.h"
#include "scratch.h"

/* The contents of a plugin, which tests damage. */
struct fixture {
	char *bytes;
	size_t length;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->bytes = scratch_plugin("versioned.so", &f->length);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->bytes);
	free(f);
	return 0;
}

/* The report about a file. */
struct said {
	struct elf_header header;
	struct elf_facts facts;
};

static int examine_bytes(const char *bytes, size_t length, const char *wanted, const char *init,
                         struct said *out)
{
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	CLEANUP(cleanup_close) int fd = scratch_memory(bytes, length);
	int code = elf_file_open(fd, &file, NULL);

	if (code < 0)
		return code;
	out->header = *elf_file_header(file);
	return elf_file_find(file, slice_of(wanted), slice_of(init), &out->facts, NULL);
}

static struct said examine(const char *name, const char *wanted, const char *init)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct said said;
	size_t length;

	bytes = scratch_plugin(name, &length);
	assert_int_equal(examine_bytes(bytes, length, wanted, init, &said), 0);
	return said;
}

static void test_native(void **state)
{
	struct said said = examine("native.so", "entry", "PyInit_native");

	assert_true(said.header.is_shared_object);
	assert_true(said.facts.exports_wanted);
	assert_false(said.facts.exports_init);
	assert_false(said.facts.needs_python);
	assert_int_equal(said.header.elf_class, 8 * sizeof(void *));
	assert_int_not_equal(said.header.machine, EM_NONE);
	assert_int_equal(strlen(said.header.build_id), 40);
}

static void test_symbol_prefixes(void **state)
{
	assert_false(examine("native.so", "entr", NULL).facts.exports_wanted);
	assert_false(examine("native.so", "entry_", NULL).facts.exports_wanted);
	assert_false(examine("native.so", NULL, NULL).facts.exports_wanted);
	assert_false(examine("native.so", "hidden_entry", NULL).facts.exports_wanted);
	assert_true(examine("native.so", "GetPjrtApi", NULL).facts.exports_wanted);
}

static void test_needs_python(void **state)
{
	struct said said = examine("needs_python.so", "entry", "PyInit_needs_python");

	assert_true(said.facts.exports_wanted);
	assert_true(said.facts.exports_init);
	assert_true(said.facts.needs_python);
}

static void test_versioned(void **state)
{
	assert_true(examine("versioned.so", "current_entry", NULL).facts.exports_wanted);
	assert_false(examine("versioned.so", "old_entry", NULL).facts.exports_wanted);
}

static void test_undefined_is_not_exported(void **state)
{
	assert_false(examine("undefined.so", "missing_from_everywhere", NULL).facts.exports_wanted);
}

static void test_program(void **state)
{
	assert_false(examine("program", "entry", NULL).header.is_shared_object);
}

static int examine_damaged(const char *bytes, size_t length)
{
	struct said said;

	return examine_bytes(bytes, length, "entry", "PyInit_x", &said);
}

static void test_not_elf(void **state)
{
	assert_int_equal(examine_damaged("#!/bin/sh\n", 10), ERROR_FORMAT);
	assert_int_equal(examine_damaged("", 0), ERROR_FORMAT);
	assert_int_equal(examine_damaged("\177ELF", 4), ERROR_FORMAT);
}

/* The section headers are at the end, so a truncated file has none. */
static void test_truncated(void **state)
{
	struct fixture *f = *state;

	for (size_t length = 0; length < f->length; length += 61) {
		int code = examine_damaged(f->bytes, length);

		assert_true(code == ERROR_LIMIT || code == ERROR_FORMAT);
	}
}

/* Set each byte of the headers in turn to its maximum: counts, sizes, offsets, links. */
static void test_damaged(void **state)
{
	struct fixture *f = *state;
	ElfW(Ehdr) header;
	size_t sections;

	memcpy(&header, f->bytes, sizeof(header));
	sections = header.e_shoff;
	assert_true(sections < f->length);
	for (size_t at = 0; at < f->length; at = at == sizeof(header) - 1 ? sections : at + 1) {
		char saved = f->bytes[at];

		f->bytes[at] = (char)0xFF;
		examine_damaged(f->bytes, f->length);
		f->bytes[at] = saved;
	}
	assert_int_equal(examine_damaged(f->bytes, f->length), 0);
}

/* dlopen() and dlsym() ignore sections: where they lie, the symbols are right, or unknown. */
static void test_sections_that_lie(void **state)
{
	struct fixture *f = *state;
	ElfW(Ehdr) header;

	memcpy(&header, f->bytes, sizeof(header));
	for (unsigned i = 0; i < 4U * header.e_shnum; i++) {
		ElfW(Shdr) *section = (ElfW(Shdr) *)(f->bytes + header.e_shoff) + i / 4;
		const ElfW(Shdr) saved = *section;
		struct said said;

		section->sh_type = i % 4 == 0 ? SHT_PROGBITS : section->sh_type;
		section->sh_addr += i % 4 == 1;
		section->sh_offset += i % 4 == 2;
		section->sh_link += i % 4 == 3;
		if (examine_bytes(f->bytes, f->length, "current_entry", NULL, &said) == 0)
			assert_true(said.facts.exports_wanted);
		*section = saved;
	}
	((ElfW(Ehdr) *)f->bytes)->e_shnum = 1;
	assert_int_equal(examine_damaged(f->bytes, f->length), ERROR_LIMIT);
}

/* Their number does not fit into the header; of sections, see test_growth.py. */
static void test_many_segments(void **state)
{
	struct fixture *f = *state;
	ElfW(Ehdr) *header = (ElfW(Ehdr) *)f->bytes;

	header->e_phnum = PN_XNUM;
	assert_int_equal(examine_damaged(f->bytes, f->length), ERROR_LIMIT);
}

static void test_unreadable(void **state)
{
	struct elf_file *file;

	assert_true(elf_file_open(-1, &file, NULL) < 0);
}

RUN_TESTS(TEST(test_native), TEST(test_symbol_prefixes), TEST(test_needs_python),
          TEST(test_versioned), TEST(test_undefined_is_not_exported), TEST(test_program),
          TEST(test_not_elf), TEST(test_truncated), TEST(test_damaged),
          TEST(test_sections_that_lie), TEST(test_many_segments), TEST(test_unreadable))

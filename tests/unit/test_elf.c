/*
 * test_elf.c - what elf_file.c says of the plugins in fixtures/plugins, which
 * ENTRYDB_TEST_PLUGINS names as built, and of damaged copies of them.
 */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "db/base/cleanup.h"
#include "libquery/disk/elf/elf_file.h"
#include "scratch.h"

/* The bytes of one plugin, which tests damage. */
struct fixture {
	char *bytes;
	size_t length;
};

static int open_plugin(const char *name)
{
	char path[4096];
	const char *directory = getenv("ENTRYDB_TEST_PLUGINS");

	assert_non_null(directory);
	assert_true(snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path));
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd = open_plugin("versioned.so");
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	f->length = (size_t)st.st_size;
	f->bytes = malloc(f->length);
	*state = f;
	if (read(fd, f->bytes, f->length) != (ssize_t)f->length)
		return -1;
	return close(fd);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->bytes);
	free(f);
	return 0;
}

/* What is said of a file. */
struct said {
	struct elf_header header;
	struct elf_facts facts;
};

static int examine_fd(int fd, const char *wanted, const char *init, struct said *out,
                      struct error *error)
{
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	int code = elf_file_open(fd, &file, error);

	if (code < 0)
		return code;
	out->header = *elf_file_header(file);
	return elf_file_find(file, slice_of(wanted), slice_of(init), &out->facts, error);
}

static struct said examine(const char *name, const char *wanted, const char *init)
{
	struct said said;
	int fd = open_plugin(name);

	assert_true(fd >= 0);
	assert_int_equal(examine_fd(fd, wanted, init, &said, NULL), 0);
	close(fd);
	return said;
}

static void test_native(void **state)
{
	struct said said = examine("native.so", "entry", "PyInit_native");

	(void)state;
	assert_true(said.header.is_shared_object);
	assert_true(said.facts.exports_wanted);
	assert_false(said.facts.exports_init);
	assert_false(said.facts.needs_python);
	assert_int_equal(said.header.elf_class, 8 * sizeof(void *));
	assert_int_not_equal(said.header.machine, EM_NONE);
	assert_int_equal(strlen(said.header.build_id), 40);
}

static void test_names_are_whole(void **state)
{
	(void)state;
	assert_false(examine("native.so", "entr", NULL).facts.exports_wanted);
	assert_false(examine("native.so", "entry_", NULL).facts.exports_wanted);
	assert_false(examine("native.so", NULL, NULL).facts.exports_wanted);
	assert_false(examine("native.so", "hidden_entry", NULL).facts.exports_wanted);
	assert_true(examine("native.so", "GetPjrtApi", NULL).facts.exports_wanted);
}

static void test_needs_python(void **state)
{
	struct said said = examine("needs_python.so", "entry", "PyInit_needs_python");

	(void)state;
	assert_true(said.facts.exports_wanted);
	assert_true(said.facts.exports_init);
	assert_true(said.facts.needs_python);
}

static void test_versioned(void **state)
{
	(void)state;
	assert_true(examine("versioned.so", "current_entry", NULL).facts.exports_wanted);
	assert_false(examine("versioned.so", "old_entry", NULL).facts.exports_wanted);
}

static void test_undefined_is_not_exported(void **state)
{
	(void)state;
	assert_false(examine("undefined.so", "missing_from_everywhere", NULL).facts.exports_wanted);
}

static void test_program(void **state)
{
	(void)state;
	assert_false(examine("program", "entry", NULL).header.is_shared_object);
}

static int examine_bytes(const char *bytes, size_t length, struct error *error)
{
	int fd = scratch_memory(bytes, length);
	struct said said;
	int code = examine_fd(fd, "entry", "PyInit_x", &said, error);

	close(fd);
	return code;
}

static void test_not_elf(void **state)
{
	struct error error = {0};

	(void)state;
	assert_int_equal(examine_bytes("#!/bin/sh\n", 10, &error), ERROR_FORMAT);
	assert_string_equal(error_text(&error), "not an ELF file");
	assert_int_equal(examine_bytes("", 0, &error), ERROR_FORMAT);
	assert_int_equal(examine_bytes("\177ELF", 4, &error), ERROR_FORMAT);
	error_clear(&error);
}

/* The section headers stand at the end, so a file cut short has none. */
static void test_truncated(void **state)
{
	struct fixture *f = *state;

	for (size_t length = 0; length < f->length; length += 61) {
		int code = examine_bytes(f->bytes, length, NULL);

		assert_true(code == 0 || code == ERROR_FORMAT);
	}
}

/* Every byte of the headers in turn says the most it can: counts, sizes, offsets, links. */
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
		examine_bytes(f->bytes, f->length, NULL);
		f->bytes[at] = saved;
	}
	assert_int_equal(examine_bytes(f->bytes, f->length, NULL), 0);
}

static void test_unreadable(void **state)
{
	struct said said;
	struct error error = {0};

	(void)state;
	assert_true(examine_fd(-1, "x", "y", &said, &error) < 0);
	error_clear(&error);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_native),
	        TEST(test_names_are_whole),
	        TEST(test_needs_python),
	        TEST(test_versioned),
	        TEST(test_undefined_is_not_exported),
	        TEST(test_program),
	        TEST(test_not_elf),
	        TEST(test_truncated),
	        TEST(test_damaged),
	        TEST(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

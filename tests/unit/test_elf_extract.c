/*
 * test_elf_extract.c - an extract says of a shared object what the whole of it says, made by
 * reading little of it; of damaged ones it says something or nothing.
 */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "db/base/cleanup.h"
#include "libquery/disk/elf/elf_extract.h"
#include "libquery/disk/elf/elf_file.h"

#define PATH_ROOM 4096
#define GAP       ((uint64_t)3 << 30) /* bytes of nothing put into an object */

/* An object in memory, in which a gap may be as if it were there; and what was read of it. */
struct source {
	char *bytes;
	size_t length;
	uint64_t gap_at, gap; /* bytes */
	uint64_t reads, last, backward;
};

static int read_source(void *payload, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error)
{
	struct source *source = payload;

	(void)error;
	source->reads++;
	source->backward += at < source->last;
	for (*got = 0; *got < size; (*got)++, at++) {
		bool is_beyond = at >= source->gap_at + source->gap;
		uint64_t from = is_beyond ? at - source->gap : at;

		if (from >= source->length && (is_beyond || at < source->gap_at))
			break;
		to[*got] = (char)(is_beyond || at < source->gap_at ? source->bytes[from] : 0);
	}
	source->last = at;
	return 0;
}

static int extract(struct source *source, struct slice *out)
{
	const struct elf_source how = {read_source, source, source->length + source->gap};

	return elf_extract(&how, out, NULL);
}

static void load(const char *name, struct source *out)
{
	char path[PATH_ROOM];
	struct stat status;
	int fd;

	assert_non_null(getenv("ENTRYDB_TEST_PLUGINS"));
	snprintf(path, sizeof(path), "%s/%s", getenv("ENTRYDB_TEST_PLUGINS"), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	*out = (struct source){.length = (size_t)status.st_size};
	out->gap_at = out->length;
	out->bytes = malloc(out->length);
	assert_int_equal(read(fd, out->bytes, out->length), (ssize_t)out->length);
	close(fd);
}

/* --- what a file says, as text --- */

static bool write_symbol(void *payload, const struct elf_symbol *symbol)
{
	fprintf(payload, "%.*s %d%d%d\n", (int)symbol->name.len, symbol->name.ptr,
	        symbol->is_defined, symbol->is_old, symbol->is_weak);
	return true;
}

static bool write_link(void *payload, enum elf_link what, struct slice text, struct slice of)
{
	fprintf(payload, "%d %.*s %.*s\n", what, (int)text.len, text.ptr, (int)of.len, of.ptr);
	return true;
}

/* NULL: it cannot be read. */
static char *describe(struct slice image)
{
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	const struct elf_header *header;
	char *text = NULL;
	size_t length;
	FILE *stream;

	if (elf_file_open_memory(image, &file, NULL) < 0)
		return NULL;
	stream = open_memstream(&text, &length);
	header = elf_file_header(file);
	fprintf(stream, "%d %d %d %s\n", header->is_shared_object, header->elf_class,
	        header->machine, header->build_id);
	if (elf_file_symbols(file, write_symbol, stream, NULL) < 0 ||
	    elf_file_links(file, write_link, stream, NULL) < 0)
		fprintf(stream, "damaged\n");
	fclose(stream);
	return text;
}

static void assert_same(struct source *source)
{
	struct slice whole = {source->bytes, source->length}, part = {0};
	CLEANUP(cleanup_free) char *expected = describe(whole);
	CLEANUP(cleanup_free) char *found = NULL;

	assert_int_equal(extract(source, &part), 0);
	found = describe(part);
	free((char *)part.ptr);
	assert_non_null(expected);
	assert_string_equal(found, expected);
	assert_true(source->backward <= 1);
}

/* --- the tests --- */

static const char *const objects[] = {"native.so",    "plain.so",      "needs_python.so",
                                      "undefined.so", "versioned.so",  "outer.so",
                                      "libinner.so",  "pjrt_split.so", "kind_opencl.so"};

#define OBJECT_COUNT (sizeof(objects) / sizeof(*objects))

static void test_says_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		struct source source;

		load(objects[i], &source);
		assert_same(&source);
		free(source.bytes);
	}
}

static void test_no_section_headers(void **state)
{
	struct source source;
	struct slice whole, part = {0};
	CLEANUP(cleanup_free) char *expected = NULL;
	CLEANUP(cleanup_free) char *found = NULL;

	(void)state;
	load("outer.so", &source);
	whole = (struct slice){source.bytes, source.length};
	expected = describe(whole);
	memset(source.bytes + offsetof(ElfW(Ehdr), e_shoff), 0, sizeof(ElfW(Off)));
	memset(source.bytes + offsetof(ElfW(Ehdr), e_shnum), 0, 2 * sizeof(ElfW(Half)));
	assert_int_equal(extract(&source, &part), 0);
	found = describe(part);
	assert_string_equal(found, expected);
	free((char *)part.ptr);
	free(source.bytes);
}

/* A program is not what dlopen() takes; of what is no ELF file nothing is said. */
static void test_other_files(void **state)
{
	struct source text = {.bytes = "not an ELF file, and as long as a header of one or longer",
	                      .length = 58,
	                      .gap_at = 58};
	struct source program;
	struct slice part = {0};

	(void)state;
	assert_int_equal(extract(&text, &part), ERROR_FORMAT);
	text.gap_at = text.length = 0;
	assert_int_equal(extract(&text, &part), ERROR_FORMAT);
	load("program", &program);
	assert_same(&program);
	free(program.bytes);
}

/* However far away the tables are: what lies between is not asked for. */
static void test_gap(void **state)
{
	struct source source;
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;
	struct slice whole, part = {0};
	CLEANUP(cleanup_free) char *expected = NULL;
	CLEANUP(cleanup_free) char *found = NULL;

	(void)state;
	load("versioned.so", &source);
	whole = (struct slice){source.bytes, source.length};
	expected = describe(whole);
	memcpy(&header, source.bytes, sizeof(header));
	/* A copy of all of it behind the gap, which the program headers speak of. */
	source.bytes = realloc(source.bytes, 2 * source.length);
	memcpy(source.bytes + source.length, source.bytes, source.length);
	source.gap_at = source.length;
	source.gap = GAP;
	for (size_t i = 0; i < header.e_phnum; i++) {
		char *at = source.bytes + header.e_phoff + i * sizeof(segment);

		memcpy(&segment, at, sizeof(segment));
		segment.p_offset = (ElfW(Off))(segment.p_offset + source.length + GAP);
		memcpy(at, &segment, sizeof(segment));
	}
	source.length *= 2;
	assert_int_equal(extract(&source, &part), 0);
	found = describe(part);
	assert_string_equal(found, expected);
	assert_true(part.len < source.length);
	assert_true(source.reads < 20);
	free((char *)part.ptr);
	free(source.bytes);
}

/* Each byte of the headers and tables in turn is wrong; each length is too short. */
static void test_damaged(void **state)
{
	struct source source;

	(void)state;
	load("versioned.so", &source);
	for (size_t i = 0; i < source.length; i += i < 8192 ? 1 : 97) {
		struct slice part = {0};
		char kept = source.bytes[i];

		source.bytes[i] = (char)~kept;
		if (extract(&source, &part) == 0)
			free(describe(part));
		free((char *)part.ptr);
		source.bytes[i] = kept;
	}
	for (size_t length = source.length; length > 0; length -= length < 1024 ? 1 : 61) {
		struct slice part = {0};

		source.gap_at = source.length = length;
		if (extract(&source, &part) == 0)
			free(describe(part));
		free((char *)part.ptr);
	}
	free(source.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_says_the_same), cmocka_unit_test(test_no_section_headers),
	        cmocka_unit_test(test_other_files),   cmocka_unit_test(test_gap),
	        cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

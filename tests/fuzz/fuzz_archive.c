/*
 * fuzz_archive.c - any bytes, read as an archive, yield files or an error; the files can be
 * scanned, whether they are a source distribution or not.
 */
#include "db/base/cleanup.h"
#include "indexer/archive/archive_file.h"
#include "indexer/archive/members.h"
#include "indexer/archive/pyproject.h"
#include "indexer/archive/sdist.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "tests/fuzz/input.h"

static void scan(struct members *members)
{
	struct scan_options how = {.depth = SCAN_METADATA | SCAN_HAS_METADATA,
	                           .targets = target_records};
	struct root_record root = {0};
	struct tree *tree;

	if (tree_open_memory(members->files, members->count, &tree, NULL) < 0)
		abort();
	if (scan_tree(tree, &how, &root, NULL) == 0 && root.distribution_count > members->count)
		abort();
	root_record_free(&root);
	tree_close(tree);
}

static void read_source(const struct members *members)
{
	struct arena arena = ARENA_INIT;
	struct sdist sdist = {0};
	struct slice top;

	if (sdist_find_top(members, &top) &&
	    sdist_read(members, top, SLICE("x-1.tar.gz"), pyproject_read, &arena, &sdist, NULL) < 0)
		abort();
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct members members = {.path = "fuzz"};
	CLEANUP(cleanup_close) int fd = input_descriptor(data, size);
	bool is_zip = size > 2 && memcmp(data, "PK", 2) == 0;
	struct archive_source source = {
	        .path = "fuzz", .fd = fd, .is_zip = is_zip, .is_conda = is_zip && data[2] % 2};
	struct archive_sink sink = {
	        .payload = &members, .wanted = members_wanted, .file = members_add};
	struct error error = {0};
	int code = archive_file_walk(&source, &sink, &error);

	if (code < 0 && (code != error.code || !error.message))
		abort();
	read_source(&members);
	scan(&members);
	error_clear(&error);
	members_free(&members);
	return 0;
}

/*
 * fuzz_scan.c - a scan of any file names and contents yields distributions, valid or broken, at
 * distinct positions; a second scan that reuses the rows of the first yields the same.
 *
 * The input is a list of files, "path\0content\0", as an archive has them.
 */
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"

#include "tests/fuzz/input.h"
#include "tests/fuzz/rows.h"

#define FILES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree_file files[FILES_MAX];
	struct scan_options options = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .targets = target_records,
	        .egg_base = SLICE("x.egg"),
	};
	struct root_record root = {0}, again = {0};
	struct tree *tree;
	size_t count = input_files(input_of(data, size), files, FILES_MAX);

	require(tree_open_memory(files, count, &tree, NULL) == 0);
	require(scan_tree(tree, &options, &root, NULL) == 0);
	rows_check(&root);
	options.known = &root;
	require(scan_tree(tree, &options, &again, NULL) == 0);
	rows_check(&again);
	rows_check_same(&root, &again);
	tree_close(tree);
	root_record_free(&again);
	root_record_free(&root);
	return 0;
}

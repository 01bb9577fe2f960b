/*
 * fuzz_tree_zip.c - a scan of a zip with any members yields distributions, valid or broken; a
 * second scan that reuses the rows yields the same.
 *
 * The input is that of archives_of_input().
 */
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/archive.h"

#include <unistd.h>

#include "db/base/cleanup.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "tests/fuzz/archives.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/rows.h"

static int each_child(void *payload, struct slice name)
{
	const struct path_index *listing;
	uint64_t unpacked;
	struct stat status;

	tree_is_editable(payload, name, NULL);
	tree_status(payload, name, "", &status, NULL);
	if (tree_listing(payload, &listing, NULL) < 0 || !listing)
		return 0;
	for (size_t i = 0; i < listing->count; i++) {
		int fd = tree_fetch(payload, name, listing->paths[i], &unpacked, NULL);

		cleanup_close(&fd);
	}
	return 0;
}

static void scan(struct tree *tree)
{
	CLEANUP(cleanup_linkage) struct linkage *linkage = linkage_create("/nowhere", READERS_NONE);
	CLEANUP(cleanup_plugin_kinds) struct plugin_kinds *kinds = NULL;
	struct scan_options how = {
	        .linkage = linkage,
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .targets = target_records,
	        .egg_base = SLICE("x.egg"),
	};
	struct root_record root = {0}, again = {0};

	require(linkage && plugin_kinds_load("/nowhere", &kinds, NULL, NULL) == 0);
	how.kinds = kinds;
	require(scan_tree(tree, &how, &root, NULL) == 0);
	rows_check(&root);
	how.known = &root;
	require(scan_tree(tree, &how, &again, NULL) == 0);
	rows_check_same(&root, &again);
	root_record_free(&again);
	root_record_free(&root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name;
	struct bytes zip = archives_of_input(input_of(data, size), &name);
	int fd = input_descriptor(zip.ptr, zip.len);
	struct tree *tree = NULL;

	if (tree_open_zip(fd, "fuzz", (struct stamp){1, 2, 3}, &tree, NULL) == 0) {
		tree_children(tree, each_child, tree, NULL);
		scan(tree);
	}
	tree_close(tree);
	free(zip.ptr);
	return 0;
}

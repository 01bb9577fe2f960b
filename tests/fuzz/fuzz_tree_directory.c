/*
 * fuzz_tree_directory.c - a scan of any directory, with files, links, pipes and names of any bytes,
 * yields distributions, valid or broken; a second scan that reuses the rows yields the same.
 */
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/rows.h"
#include "tests/fuzz/scratch.h"

#define READ_MAX ((size_t)1 << 16) /* bytes of a file */

static void look_at(struct tree *tree, struct slice child)
{
	static const char *const files[] = {"", "METADATA", "entry_points.txt", "..", "a/b"};
	struct arena arena = ARENA_INIT;
	struct slice bytes;
	struct stat status;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct tree_request whole = {.child = child, .file = files[i], .limit = READ_MAX};
		struct tree_request first = {.child = child, .file = files[i], .first = true};

		if (tree_read(tree, &whole, &arena, &bytes, NULL) > 0)
			require(bytes.len <= READ_MAX && bytes.ptr[bytes.len] == '\0' &&
			        tree_status(tree, child, files[i], &status, NULL) == 1);
		if (tree_read(tree, &first, &arena, &bytes, NULL) > 0)
			require(bytes.ptr[bytes.len] == '\0');
	}
	tree_is_editable(tree, child, NULL);
	arena_free(&arena);
}

static int each_child(void *payload, struct slice name)
{
	require(!memchr(name.ptr, '/', name.len) && name.ptr[name.len] == '\0');
	look_at(payload, name);
	return 0;
}

static void look_at_all(const char *path)
{
	struct tree *tree;

	require(tree_open(path, &tree, NULL) == 0);
	require(tree_children(tree, each_child, tree, NULL) == 0);
	tree_close(tree);
}

static void scan(const char *path, struct readers readers)
{
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .targets = target_records,
	        .egg_base = SLICE("x.egg"),
	        .readers = readers,
	};
	struct root_record root = {0}, again = {0};

	require(scan_path(path, &how, &root, NULL) == 0 && root.kind == ROOT_DIRECTORY);
	rows_check(&root);
	how.known = &root;
	require(scan_path(path, &how, &again, NULL) == 0);
	rows_check_same(&root, &again);
	root_record_free(&again);
	root_record_free(&root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path;

	scratch_clear();
	scratch_tree("site", input_of(data, size));
	path = scratch_path("site");
	look_at_all(path);
	scan(path, READERS_NONE);
	scan(path, (struct readers){0444, path});
	return 0;
}

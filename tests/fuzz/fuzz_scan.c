/*
 * fuzz_scan.c - no file names and contents may do more to a scan than give
 * distributions, sound or broken, each in a place of its own; and a scan that knows
 * the first one's rows gives the same.
 *
 * The input is a list of files, "path\0content\0", as an archive has them.
 */
#include "scan.h"

#include <stdint.h>
#include <stdlib.h>

#define FILES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The bytes up to the next NUL. */
static struct slice next_piece(struct slice *rest)
{
	const char *end = memchr(rest->ptr, '\0', rest->len);
	struct slice piece = end ? slice_between(rest->ptr, end) : *rest;

	*rest = slice_from(*rest, piece.len + (end != NULL));
	return piece;
}

static size_t split(struct slice rest, struct tree_file *files)
{
	size_t count = 0;

	while (rest.len > 0 && count < FILES_MAX) {
		files[count].path = next_piece(&rest);
		files[count++].bytes = next_piece(&rest);
	}
	return count;
}

static void check_entry_points(const struct distribution_record *row)
{
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];

		require(!slice_is_null(e->group) && !slice_is_null(e->name) &&
		        !slice_is_null(e->value));
		require(slice_is_null(e->attr) || !slice_is_null(e->module));
		require(slice_is_null(e->extras) || e->extras.len > 0);
	}
}

static void check(const struct root_record *root)
{
	size_t broken = 0;

	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *row = &root->distributions[i];

		require(i == 0 || root->distributions[i - 1].position < row->position);
		require(!slice_is_null(row->error) || !slice_is_null(row->normalized_name));
		require(slice_is_null(row->error) || row->entry_point_count == 0);
		broken += !slice_is_null(row->error);
		check_entry_points(row);
	}
	require(broken == root->broken);
}

static void check_same(const struct root_record *a, const struct root_record *b)
{
	require(a->distribution_count == b->distribution_count && a->broken == b->broken);
	for (size_t i = 0; i < a->distribution_count; i++)
		require(slice_equal(a->distributions[i].directory, b->distributions[i].directory) &&
		        a->distributions[i].entry_point_count ==
		                b->distributions[i].entry_point_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree_file files[FILES_MAX];
	struct scan_options options = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA | SCAN_TARGETS,
	        .egg_base = SLICE("x.egg"),
	};
	struct root_record root = {0}, again = {0};
	struct tree *tree;
	size_t count = split((struct slice){size ? (const char *)data : "", size}, files);

	require(tree_open_memory(files, count, &tree, NULL) == 0);
	require(scan_tree(tree, &options, &root, NULL) == 0);
	check(&root);
	options.known = &root;
	require(scan_tree(tree, &options, &again, NULL) == 0);
	check(&again);
	check_same(&root, &again);
	tree_close(tree);
	root_record_free(&again);
	root_record_free(&root);
	return 0;
}

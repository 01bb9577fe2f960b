/*
 * test_tree.c - the default implementations of a tree's operations, and scans with failing ones.
 */
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"

#include <errno.h>

#include "scratch.h"

#include "db/base/cleanup.h"
#include "libquery/disk/metadata/scan.h"

#define CHILD SLICE("x-1.dist-info")

static const struct tree_operations no_operations;

static int refuse(void *payload, struct slice name)
{
	(void)payload;
	(void)name;
	return ERROR_IO;
}

static int read_one(struct tree *tree, const struct tree_request *request, struct arena *arena,
                    struct slice *out, struct error *error)
{
	bool failed = false;

	(void)tree;
	(void)error;
	if (strcmp(request->file, "entry_points.txt") != 0)
		return 0;
	*out = arena_copy(arena, SLICE("[g]\nn = m\n"), &failed);
	return failed ? ERROR_NOMEM : 1;
}

static int give_child(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	(void)tree;
	(void)error;
	return each(payload, CHILD);
}

static void test_defaults(void **state)
{
	struct tree tree = {.operations = &no_operations, .kind = ROOT_ARCHIVE, .fd = -1};
	struct tree_request request = {CHILD, "METADATA", 1000, false};
	struct distribution_record row = {.directory_stamp = 1, .files_stamp = 1};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	CLEANUP(error_clear) struct error error = {0};
	const struct path_index *listing;
	struct slice text = CHILD;
	struct stat status;
	uint64_t unpacked;
	int64_t newest = 5;

	assert_int_equal(tree_children(&tree, refuse, NULL, &error), 0);
	assert_int_equal(tree_read(&tree, &request, &arena, &text, &error), 0);
	assert_true(slice_is_null(text));
	assert_int_equal(tree_status(&tree, CHILD, "METADATA", &status, NULL), 0);
	assert_int_equal(row_stamps(&tree, NULL, &row, &newest, NULL), 0);
	assert_int_equal(row.directory_stamp | row.files_stamp, 0);
	assert_int_equal(newest, 5);
	assert_int_equal(tree_listing(&tree, &listing, &error), 0);
	assert_null(listing);
	assert_int_equal(tree_fetch(&tree, CHILD, CHILD, &unpacked, &error), ERROR_NOTFOUND);
	assert_false(tree_is_editable(&tree, CHILD, NULL));
	tree_close(&tree);
	tree_close(NULL);
}

/* --- failures --- */

static int give_three(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	(void)tree;
	(void)error;
	each(payload, SLICE("a-1.dist-info"));
	each(payload, SLICE("b-1.dist-info"));
	return each(payload, SLICE("c-1.dist-info"));
}

static bool fails; /* all reads but those of c */

static int fail_to_read(struct tree *tree, const struct tree_request *request, struct arena *arena,
                        struct slice *out, struct error *error)
{
	if (fails && request->child.ptr[0] != 'c')
		return error_errno(error, EIO, "cannot read");
	return read_one(tree, request, arena, out, error);
}

static int fail_to_look(struct tree *tree, struct slice child, const char *file,
                        struct stat *status, struct error *error)
{
	(void)tree;
	(void)file;
	if (fails && child.ptr[0] == 'a')
		return error_errno(error, ENOMEM, "cannot look");
	*status = (struct stat){.st_mode = S_IFDIR};
	return 1;
}

static const struct tree_operations failing = {
        .children = give_three, .read = fail_to_read, .status = fail_to_look};

static void note_unread(void *payload, struct slice directory, const struct error *error)
{
	char *letters = payload;

	assert_true(error_is_failure(error->code));
	strncat(letters, directory.ptr, 1);
}

/* Without a callback for unread directories, the whole scan fails. */
static void test_scan_fails(void **state)
{
	struct tree tree = {.operations = &failing, .kind = ROOT_DIRECTORY, .fd = -1};
	struct scan_options options = {.depth = SCAN_STAMPS};
	CLEANUP(root_record_free) struct root_record root = {0};
	CLEANUP(error_clear) struct error error = {0};

	fails = true;
	assert_int_equal(scan_tree(&tree, &options, &root, &error), ERROR_NOMEM);
	options.depth = 0;
	assert_int_equal(scan_tree(&tree, &options, &root, &error), ERROR_IO);
	assert_non_null(strstr(error_text(&error), "a-1.dist-info: cannot read: "));
	assert_non_null(strstr(error_text(&error), strerror(EIO)));
	fails = false;
	assert_int_equal(scan_tree(&tree, &options, &root, &error), 0);
	assert_int_equal(root.distribution_count, 3);
}

/* Known rows are kept, others are omitted; neither are trusted. */
static void test_scan_leaves_unread(void **state)
{
	struct distribution_record known[] = {
	        {.id = 7, .directory = SLICE("b-1.dist-info"), .settled = true, .position = 5}};
	struct root_record rows = {.distributions = known, .distribution_count = 1};
	struct tree tree = {.operations = &failing, .kind = ROOT_DIRECTORY, .fd = -1};
	char unread[8] = "";
	struct scan_options options = {
	        .depth = SCAN_STAMPS, .known = &rows, .on_unread = note_unread, .payload = unread};
	CLEANUP(root_record_free) struct root_record root = {0};
	CLEANUP(error_clear) struct error error = {0};

	fails = true;
	assert_int_equal(scan_tree(&tree, &options, &root, &error), 0);
	assert_string_equal(unread, "ab");
	assert_int_equal(root.distribution_count, 2);
	assert_int_equal(root.distributions[0].id, 7);
	assert_true(root.distributions[0].reused);
	assert_false(root.distributions[0].settled);
	assert_int_equal(root.distributions[1].id, 0);
	assert_int_equal(root.distributions[1].entry_point_count, 1);
	assert_false(root.settled);
}

/* --- a minimal tree --- */

/* A scan of a tree that implements listing and reading only. */
static void test_scan_by_defaults(void **state)
{
	static const struct tree_operations operations = {.children = give_child, .read = read_one};
	struct tree tree = {.operations = &operations, .kind = ROOT_ARCHIVE, .fd = -1};
	struct scan_options options = {.depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	                               .targets = target_records};
	CLEANUP(root_record_free) struct root_record root = {0};
	const struct distribution_record *row;

	assert_int_equal(scan_tree(&tree, &options, &root, NULL), 0);
	assert_int_equal(root.distribution_count, 1);
	row = &root.distributions[0];
	assert_true(slice_equal(row->normalized_name, SLICE("x")));
	assert_false(row->has_metadata);
	assert_int_equal(row->entry_point_count, 1);
	assert_int_equal(row->entry_points[0].target->state, TARGET_MISSING);
}

/* --- a directory --- */

/* What is read after a child's stamp is not older than that, though its directory is kept open. */
static void test_a_child_is_replaced(void **state)
{
	struct tree_request request = {CHILD, "METADATA", 1000, false};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	struct slice text;
	struct stat status;

	scratch_text("site/x-1.dist-info/METADATA", "old");
	assert_int_equal(chmod(scratch_top(), 0755), 0);
	assert_int_equal(
	        tree_open_for((struct readers){.mode = 0444}, scratch_path("site"), &tree, NULL),
	        0);
	tree->readers.mode = 0444;
	assert_int_equal(tree_read(tree, &request, &arena, &text, NULL), 1);
	assert_true(slice_equal(text, SLICE("old")));
	scratch_remove("site/x-1.dist-info");
	scratch_text("site/x-1.dist-info/METADATA", "new");
	assert_int_equal(tree_status(tree, CHILD, "", &status, NULL), 1);
	assert_int_equal(tree_read(tree, &request, &arena, &text, NULL), 1);
	assert_true(slice_equal(text, SLICE("new")));
	assert_false(tree->withheld);
}

RUN_TESTS(cmocka_unit_test(test_defaults), cmocka_unit_test(test_scan_by_defaults),
          cmocka_unit_test(test_scan_fails), cmocka_unit_test(test_scan_leaves_unread),
          SCRATCH_TEST(test_a_child_is_replaced))

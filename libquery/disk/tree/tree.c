/*
 * tree.c - calls the methods of a tree, or their defaults.
 */
#include "libquery/disk/tree/tree.h"

#include "db/base/cleanup.h"

#define DIRECT_URL_MAX ((size_t)1 << 20) /* bytes */

int tree_children(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	return tree->operations->children ? tree->operations->children(tree, each, payload, error)
	                                  : 0;
}

int tree_read(struct tree *tree, const struct tree_request *request, struct arena *arena,
              struct slice *out, struct error *error)
{
	*out = (struct slice){0};
	return tree->operations->read ? tree->operations->read(tree, request, arena, out, error)
	                              : 0;
}

void tree_expect(struct tree *tree, const struct distribution_record *distributions, size_t count)
{
	if (tree->operations->expect)
		tree->operations->expect(tree, distributions, count);
}

int tree_status(struct tree *tree, struct slice child, const char *file, struct stat *status,
                struct error *error)
{
	return tree->operations->status ? tree->operations->status(tree, child, file, status, error)
	                                : 0;
}

int tree_metadata_status(struct tree *tree, struct slice child, struct stat *status,
                         struct error *error)
{
	int found = tree_status(tree, child, "METADATA", status, error);

	return found == 0 ? tree_status(tree, child, "PKG-INFO", status, error) : found;
}

int tree_listing(struct tree *tree, const struct path_index **out, struct error *error)
{
	*out = NULL;
	return tree->operations->listing ? tree->operations->listing(tree, out, error) : 0;
}

int tree_fetch(struct tree *tree, struct slice child, struct slice path, uint64_t *unpacked,
               struct error *error)
{
	int code;

	*unpacked = 0;
	if (!tree->operations->fetch)
		return error_set(error, ERROR_NOTFOUND, "no such file");
	if (tree->unpacked > TREE_UNPACKED_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "more than %llu bytes of shared objects in one archive",
		                 (unsigned long long)TREE_UNPACKED_MAX);
	code = tree->operations->fetch(tree, child, path, unpacked, error);
	tree->unpacked += *unpacked;
	return code;
}

void tree_withhold_unless(struct tree *tree, mode_t mode)
{
	if (tree->readers.mode & ~mode) /* threads call this, but without readers */
		tree->withheld = true;
}

/*
 * "dir_info": {"editable": true}. The key alone decides: a false positive costs a stat, and nothing
 * else.
 */
int tree_is_editable(struct tree *tree, struct slice child, struct error *error)
{
	struct tree_request request = {child, "direct_url.json", DIRECT_URL_MAX, false};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	struct error own = {0};
	struct slice text;

	if (tree_read(tree, &request, &arena, &text, &own) > 0)
		return memmem(text.ptr, text.len, "\"editable\"", 10) != NULL;
	return error_move_failure(error, &own);
}

void tree_close(struct tree *tree)
{
	if (tree && tree->operations->close)
		tree->operations->close(tree);
}

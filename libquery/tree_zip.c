/*
 * tree_zip.c - distributions in a zip, egg or wheel on the path: see tree.h.
 *
 * Only the first component of a member's name counts, and directories that no
 * member stands for are there all the same (zipfile.Path). A distribution in a
 * zip is unchanged as long as the zip is: it has no stamps of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"
#include "name_map.h"
#include "tree.h"
#include "zip.h"

struct zip_tree {
	struct tree tree;
	struct zip *zip;
};

static struct zip *zip_of(struct tree *tree)
{
	return ((struct zip_tree *)tree)->zip;
}

static struct slice first_component(struct slice name)
{
	const char *slash = memchr(name.ptr, '/', name.len);

	return slash ? slice_between(name.ptr, slash) : name;
}

static int children(struct tree *tree, tree_each each, void *payload, struct error *error)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;
	struct name_map seen = {0};
	struct slice last = {0};
	bool failed = false;
	int answer = 0;

	while (answer == 0 && zip_next(zip_of(tree), &cursor, &member)) {
		struct slice child = first_component(member.name);
		size_t before = seen.count;

		if (!slice_is_null(last) && slice_equal(child, last))
			continue; /* members of one directory stand together */
		last = child;
		name_map_put(&seen, child, 0, &failed);
		if (seen.count > before)
			answer = each(payload, child, CHILD_UNKNOWN);
	}
	name_map_free(&seen);
	return failed ? error_nomem(error) : answer;
}

static struct slice join(struct arena *arena, struct slice child, const char *file)
{
	size_t len = strlen(file);
	char *name = arena_alloc(arena, child.len + len + 2);

	if (!name)
		return (struct slice){0};
	memcpy(name, child.ptr, child.len);
	name[child.len] = '/';
	memcpy(name + child.len + 1, file, len + 1);
	return (struct slice){name, child.len + 1 + len};
}

/* To stock a member is a file unless its name ends in '/'; reading a directory is "absent". */
static int read_member(struct tree *tree, struct slice child, const char *file, size_t limit,
		       bool first, struct arena *arena, struct slice *out, struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct zip_member member;
	struct slice name = join(arena, child, file), text;
	bool failed = false;
	int code;

	(void)first;
	if (slice_is_null(name))
		return error_nomem(error);
	if (!*file || !zip_find(zip_of(tree), name, &member))
		return 0;
	code = zip_read(zip_of(tree), &member, limit, &text, error);
	if (code < 0)
		return code;
	bytes = (char *)text.ptr;
	*out = arena_copy(arena, text, &failed);
	return failed ? error_nomem(error) : 1;
}

/* A member of that name, or anything below it. */
static bool has_member(struct zip *zip, struct slice name)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;

	while (zip_next(zip, &cursor, &member))
		if (slice_starts(member.name, name) &&
		    (member.name.len == name.len || member.name.ptr[name.len] == '/'))
			return true;
	return false;
}

static bool exists(struct tree *tree, struct slice child, const char *file)
{
	struct arena arena = ARENA_INIT;
	struct slice name = join(&arena, child, file);
	bool found = !slice_is_null(name) && has_member(zip_of(tree), name);

	arena_free(&arena);
	return found;
}

static bool is_file(struct tree *tree, struct slice child)
{
	struct zip_member member;

	return zip_find(zip_of(tree), child, &member);
}

static void stamps(struct tree *tree, struct slice child, struct distribution_record *out,
		   int64_t *newest)
{
	(void)tree;
	(void)child;
	(void)newest;
	out->directory_stamp = out->files_stamp = 0;
}

static int listing(struct tree *tree, struct slice child, struct slice *out, struct error *error)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	(void)child;
	if (!stream)
		return error_nomem(error);
	while (zip_next(zip_of(tree), &cursor, &member))
		fprintf(stream, "%.*s,,\n", (int)member.name.len, member.name.ptr);
	if (fclose(stream) != 0)
		return error_nomem(error);
	*out = (struct slice){text, size};
	return 0;
}

static int fetch(void *tree, struct slice path, struct slice *bytes, struct error *error)
{
	struct zip_member member;

	if (!zip_find(zip_of(tree), path, &member))
		return error_set(error, ERROR_NOTFOUND, "no such member");
	return zip_read(zip_of(tree), &member, TREE_OBJECT_MAX, bytes, error);
}

static void close_zip(struct tree *tree)
{
	zip_close(zip_of(tree));
	close(tree->fd);
	free(tree);
}

static void cleanup_zip(struct zip **zip)
{
	zip_close(*zip);
}

int tree_open_zip(int fd, const char *path, struct stamp stamp, struct tree **out,
		  struct error *error)
{
	static const struct tree_operations operations = {
		.children = children,
		.read = read_member,
		.exists = exists,
		.is_file = is_file,
		.has_stem = is_file,
		.stamps = stamps,
		.listing = listing,
		.fetch = fetch,
		.close = close_zip,
	};
	CLEANUP(cleanup_close) int owned = fd;
	CLEANUP(cleanup_zip) struct zip *zip = NULL;
	struct zip_tree *tree;
	int code = zip_open(fd, path, &zip, error);

	if (code < 0)
		return code;
	tree = malloc(sizeof(*tree));
	if (!tree)
		return error_nomem(error);
	tree->tree = (struct tree){&operations, ROOT_ZIP, stamp, take_fd(&owned)};
	tree->zip = take(zip);
	*out = &tree->tree;
	return 0;
}

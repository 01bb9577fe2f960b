/*
 * tree_memory.c - distributions whose metadata files an archive reader has
 * collected: see tree.h. A child is a metadata directory at any depth, named by
 * its whole path in the archive.
 */
#include <stdio.h>
#include <stdlib.h>

#include "distname.h"
#include "name_map.h"
#include "tree.h"

struct memory_tree {
	struct tree tree;
	const struct tree_file *files;
	size_t count;
};

static struct memory_tree *memory_of(struct tree *tree)
{
	return (struct memory_tree *)tree;
}

/* The part of @path up to and with the first component that is metadata; null if there is none. */
static struct slice metadata_directory(struct slice path)
{
	const char *end = path.ptr + path.len, *begin = path.ptr;

	for (const char *at = begin; at < end; at++) {
		if (*at != '/')
			continue;
		if (distname_is_info(slice_between(begin, at)))
			return slice_between(path.ptr, at);
		begin = at + 1;
	}
	return distname_is_info(slice_between(begin, end)) ? path : (struct slice){0};
}

static int children(struct tree *tree, tree_each each, void *payload, struct error *error)
{
	struct memory_tree *memory = memory_of(tree);
	struct name_map seen = {0};
	bool failed = false;
	int answer = 0;

	for (size_t i = 0; answer == 0 && i < memory->count; i++) {
		struct slice child = metadata_directory(memory->files[i].path);
		size_t before = seen.count;

		if (slice_is_null(child))
			continue;
		name_map_put(&seen, child, 0, &failed);
		if (seen.count > before)
			answer = each(payload, child, CHILD_UNKNOWN);
	}
	name_map_free(&seen);
	return failed ? error_nomem(error) : answer;
}

static const struct tree_file *find(struct memory_tree *memory, struct slice child,
				    const char *file)
{
	struct slice name = slice_of(file);

	for (size_t i = 0; i < memory->count; i++) {
		struct slice path = memory->files[i].path;

		if (slice_is_null(memory->files[i].bytes))
			continue;
		if (name.len == 0 && slice_equal(path, child))
			return &memory->files[i];
		if (name.len && path.len == child.len + 1 + name.len && slice_starts(path, child) &&
		    path.ptr[child.len] == '/' && slice_ends(path, name))
			return &memory->files[i];
	}
	return NULL;
}

static int read_file(struct tree *tree, struct slice child, const char *file, size_t limit,
		     bool first, struct arena *arena, struct slice *out, struct error *error)
{
	const struct tree_file *found = find(memory_of(tree), child, file);
	bool failed = false;

	(void)first;
	if (!found)
		return 0;
	if (found->bytes.len > limit)
		return error_set(error, ERROR_LIMIT, "%zu bytes; the limit is %zu",
				 found->bytes.len, limit);
	*out = arena_copy(arena, found->bytes, &failed);
	return failed ? error_nomem(error) : 1;
}

static bool exists(struct tree *tree, struct slice child, const char *file)
{
	return find(memory_of(tree), child, file) != NULL;
}

static bool is_file(struct tree *tree, struct slice child)
{
	return find(memory_of(tree), child, "") != NULL;
}

static bool has_stem(struct tree *tree, struct slice child)
{
	(void)tree;
	(void)child;
	return true;
}

static void stamps(struct tree *tree, struct slice child, struct distribution_record *out,
		   int64_t *newest)
{
	(void)tree;
	(void)child;
	(void)newest;
	out->directory_stamp = out->files_stamp = 0;
}

/* What lies beside the metadata directory, named from there. */
static int listing(struct tree *tree, struct slice child, struct slice *out, struct error *error)
{
	struct memory_tree *memory = memory_of(tree);
	const char *slash = memrchr(child.ptr, '/', child.len);
	struct slice site = slash ? slice_between(child.ptr, slash + 1) : SLICE("");
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return error_nomem(error);
	for (size_t i = 0; i < memory->count; i++) {
		struct slice path = memory->files[i].path;

		if (slice_starts(path, site))
			fprintf(stream, "%.*s,,\n", (int)(path.len - site.len),
				path.ptr + site.len);
	}
	if (fclose(stream) != 0)
		return error_nomem(error);
	*out = (struct slice){text, size};
	return 0;
}

/* By the end of its path, since the site directory within the archive is not told. */
static int fetch(void *payload, struct slice path, struct slice *bytes, struct error *error)
{
	struct memory_tree *memory = payload;

	for (size_t i = 0; i < memory->count; i++) {
		const struct tree_file *file = &memory->files[i];
		char *copy;

		if (slice_is_null(file->bytes) || !slice_ends(file->path, path))
			continue;
		copy = malloc(file->bytes.len + 1);
		if (!copy)
			return error_nomem(error);
		memcpy(copy, file->bytes.ptr, file->bytes.len);
		*bytes = (struct slice){copy, file->bytes.len};
		return 0;
	}
	return error_set(error, ERROR_NOTFOUND, "no such file in the archive");
}

static void close_memory(struct tree *tree)
{
	free(tree);
}

int tree_open_memory(const struct tree_file *files, size_t count, struct tree **out,
		     struct error *error)
{
	static const struct tree_operations operations = {
		.children = children,
		.read = read_file,
		.exists = exists,
		.is_file = is_file,
		.has_stem = has_stem,
		.stamps = stamps,
		.listing = listing,
		.fetch = fetch,
		.close = close_memory,
	};
	struct memory_tree *tree = malloc(sizeof(*tree));

	if (!tree)
		return error_nomem(error);
	*tree = (struct memory_tree){{&operations, ROOT_ARCHIVE, {0}, -1}, files, count};
	*out = &tree->tree;
	return 0;
}

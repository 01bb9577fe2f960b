/*
 * tree_memory.c - distributions whose metadata files an archive reader has
 * collected: see tree.h. A child is a metadata directory at any depth, named by
 * its whole path in the archive.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "distname.h"
#include "name_map.h"
#include "tree.h"

/* Look-ups for which an index does not pay: one distribution has up to 9. */
#define INDEX_AFTER 16

/* As every tree, for one thread at a time. */
struct memory_tree {
	struct tree tree;
	const struct tree_file *files;
	size_t count;
	struct name_map index;   /* path -> the first such file with bytes; empty: there is none */
	unsigned lookups;        /* counted up to INDEX_AFTER */
	struct slice list, site; /* see listing(); null until it is asked for */
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

/* --- look-ups --- */

static void make_index(struct memory_tree *memory)
{
	bool failed = false;

	for (size_t i = 0; !failed && i < memory->count && i < NAME_MAP_NONE; i++)
		if (!slice_is_null(memory->files[i].bytes))
			name_map_put(&memory->index, memory->files[i].path, (uint32_t)i, &failed);
	if (failed)
		name_map_free(&memory->index); /* slow is better than wrong */
}

/* Count one more look-up; is there an index to answer it? */
static bool has_index(struct memory_tree *memory)
{
	if (memory->lookups < INDEX_AFTER && ++memory->lookups == INDEX_AFTER)
		make_index(memory);
	return memory->index.count > 0;
}

static const struct tree_file *find_in_index(struct memory_tree *memory, struct slice path)
{
	uint32_t at = name_map_get(&memory->index, path);

	return at == NAME_MAP_NONE ? NULL : &memory->files[at];
}

static const struct tree_file *walk_to(struct memory_tree *memory, struct slice child,
                                       struct slice name)
{
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

/* The file @file in @child, or with an empty @file the child itself. */
static const struct tree_file *find(struct memory_tree *memory, struct slice child,
                                    const char *file)
{
	CLEANUP(cleanup_free) char *path = NULL;
	struct slice name = slice_of(file);

	if (!has_index(memory))
		return walk_to(memory, child, name);
	if (name.len == 0)
		return find_in_index(memory, child);
	path = malloc(child.len + 1 + name.len);
	if (!path)
		return walk_to(memory, child, name); /* there is no way to tell of it */
	if (child.len)
		memcpy(path, child.ptr, child.len);
	path[child.len] = '/';
	memcpy(path + child.len + 1, name.ptr, name.len);
	return find_in_index(memory, (struct slice){path, child.len + 1 + name.len});
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

/*
 * Who asks for the list looks for modules and shared objects in it. No module lies in a
 * metadata directory; thousands of these would be searched for each entry point.
 */
static bool is_of_use(struct slice path)
{
	return slice_is_null(metadata_directory(path)) || slice_ends(path, SLICE(".so"));
}

static int list_site(const struct memory_tree *memory, struct slice site, struct slice *out,
                     struct error *error)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return error_nomem(error);
	for (size_t i = 0; i < memory->count; i++) {
		struct slice path = memory->files[i].path;

		if (slice_starts(path, site) && is_of_use(path))
			fprintf(stream, "%.*s,,\n", (int)(path.len - site.len),
			        path.ptr + site.len);
	}
	if (fclose(stream) != 0)
		return error_nomem(error);
	*out = (struct slice){text, size};
	return 0;
}

/* Make the list of @site, unless it is the one that was asked for last. */
static int keep_list(struct memory_tree *memory, struct slice site, struct error *error)
{
	struct slice fresh = {0};
	int code;

	if (!slice_is_null(memory->list) && slice_equal(memory->site, site))
		return 0;
	code = list_site(memory, site, &fresh, error);
	if (code < 0)
		return code;
	free((char *)memory->list.ptr);
	memory->list = fresh;
	memory->site = site;
	return 0;
}

/* What lies beside the metadata directory, named from there. */
static int listing(struct tree *tree, struct slice child, struct slice *out, struct error *error)
{
	struct memory_tree *memory = memory_of(tree);
	const char *slash = memrchr(child.ptr, '/', child.len);
	struct slice site = slash ? slice_between(child.ptr, slash + 1) : SLICE("");
	int code = keep_list(memory, site, error);
	char *copy;

	if (code < 0)
		return code;
	copy = malloc(memory->list.len + 1);
	if (!copy)
		return error_nomem(error);
	memcpy(copy, memory->list.ptr, memory->list.len + 1);
	*out = (struct slice){copy, memory->list.len};
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
	name_map_free(&memory_of(tree)->index);
	free((char *)memory_of(tree)->list.ptr);
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
	*tree = (struct memory_tree){
	        .tree = {&operations, ROOT_ARCHIVE, {0}, -1}, .files = files, .count = count};
	*out = &tree->tree;
	return 0;
}

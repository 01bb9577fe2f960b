/*
 * tree_memory.c - see tree_memory.h. A child is a metadata directory at any depth, named
 * by its whole path in the archive.
 */
#include "libquery/disk/tree/tree_memory.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "libquery/disk/elf/object_name.h"
#include "libquery/disk/tree/distname.h"

struct memory_tree {
	struct tree tree;
	const struct tree_file *files;
	size_t count;
	struct name_map index;    /* path -> the first such file with bytes; empty: there is none */
	unsigned lookups;         /* counted up to TREE_INDEX_AFTER */
	struct path_index beside; /* see listing(); made when it is asked for */
	bool is_listed;
};

static struct memory_tree *memory_of(struct tree *tree)
{
	return (struct memory_tree *)tree;
}

/* @path up to and including the first component that is metadata; null if there is none. */
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

static int children(struct tree *tree, tree_each *each, void *payload, struct error *error)
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
			answer = each(payload, child);
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
	if (memory->lookups < TREE_INDEX_AFTER && ++memory->lookups == TREE_INDEX_AFTER)
		make_index(memory);
	return memory->index.count > 0;
}

static const struct tree_file *find_in_index(struct memory_tree *memory, struct slice path)
{
	uint32_t at = name_map_get(&memory->index, path);

	return at == NAME_MAP_NONE ? NULL : &memory->files[at];
}

/* Is @path that of the file called @name in @child, or with an empty @name @child itself? */
static bool is_path_of(struct slice path, struct slice child, struct slice name)
{
	if (name.len == 0)
		return slice_equal(path, child);
	return path.len == child.len + 1 + name.len && slice_starts(path, child) &&
	       path.ptr[child.len] == '/' && slice_ends(path, name);
}

static const struct tree_file *walk_to(struct memory_tree *memory, struct slice child,
                                       struct slice name)
{
	for (size_t i = 0; i < memory->count; i++)
		if (!slice_is_null(memory->files[i].bytes) &&
		    is_path_of(memory->files[i].path, child, name))
			return &memory->files[i];
	return NULL;
}

/* The file called @name in @child, or with an empty @name the child itself. */
static const struct tree_file *find(struct memory_tree *memory, struct slice child,
                                    struct slice name)
{
	CLEANUP(cleanup_free) char *path = NULL;

	if (!has_index(memory))
		return walk_to(memory, child, name);
	path = malloc(path_room(child, name));
	if (!path)
		return walk_to(memory, child, name); /* slow is better than wrong */
	return find_in_index(memory, path_join(path, child, name));
}

static int read_file(struct tree *tree, const struct tree_request *request, struct arena *arena,
                     struct slice *out, struct error *error)
{
	const struct tree_file *found =
	        find(memory_of(tree), request->child, slice_of(request->file));
	bool failed = false;

	if (!found)
		return 0;
	if (found->bytes.len > request->limit)
		return error_set(error, ERROR_LIMIT, "%zu bytes; the limit is %zu",
		                 found->bytes.len, request->limit);
	*out = arena_copy(arena, found->bytes, &failed);
	return failed ? error_nomem(error) : 1;
}

static int exists(struct tree *tree, struct slice child, const char *file, struct error *error)
{
	(void)error;
	return find(memory_of(tree), child, slice_of(file)) != NULL;
}

static int is_file(struct tree *tree, struct slice child, struct error *error)
{
	(void)error;
	return find(memory_of(tree), child, SLICE("")) != NULL;
}

/* --- the files beside a distribution --- */

/*
 * The list is searched for modules and shared objects. There are no modules in metadata
 * directories, of which an archive may have thousands.
 */
static bool is_of_use(struct slice path)
{
	return slice_is_null(metadata_directory(path)) || object_name_may_be(path);
}

static bool list_files(struct memory_tree *memory)
{
	for (size_t i = 0; i < memory->count; i++)
		if (is_of_use(memory->files[i].path) &&
		    !path_index_add(&memory->beside, memory->files[i].path))
			return false;
	path_index_sort(&memory->beside);
	memory->is_listed = true;
	return true;
}

/* The site directory in which @child lies, with its slash; empty at the top. */
static struct slice site_of(struct slice child)
{
	const char *slash = memrchr(child.ptr, '/', child.len);

	return slash ? slice_between(child.ptr, slash + 1) : SLICE("");
}

/* One list for all site directories of the archive, of which each sees what lies below it. */
static int listing(struct tree *tree, struct slice child, struct wheel_record *out,
                   struct error *error)
{
	struct memory_tree *memory = memory_of(tree);

	if (!memory->is_listed && !list_files(memory)) {
		path_index_free(&memory->beside);
		return error_nomem(error);
	}
	*out = (struct wheel_record){.site = site_of(child), .index = &memory->beside};
	return 0;
}

static const struct tree_file *find_beside(struct memory_tree *memory, struct slice child,
                                           struct slice path)
{
	struct slice site = site_of(child);

	if (site.len == 0)
		return find(memory, path, SLICE(""));
	return find(memory, slice_first(site, site.len - 1), path);
}

/* Has the archive a file at @path, whose bytes may not have been kept? 1, 0 or ERROR_NOMEM. */
static int has_file(struct tree *tree, struct slice child, struct slice path, struct error *error)
{
	struct wheel_record files;
	struct wheel_file file;
	size_t at = 0;
	int code = listing(tree, child, &files, error);

	if (code < 0)
		return code;
	return wheel_record_find(&files, path, &at, &file) && slice_equal(file.path, path);
}

static int fetch(struct tree *tree, struct slice child, struct slice path, struct elf_image *image,
                 struct error *error)
{
	const struct tree_file *file = find_beside(memory_of(tree), child, path);
	int listed = file ? 1 : has_file(tree, child, path, error);
	char *copy;

	if (listed < 0)
		return listed;
	if (!listed)
		return error_set(error, ERROR_NOTFOUND, "no such file in the archive");
	if (!file)
		return error_set(error, ERROR_LIMIT, "too large to be kept");
	copy = malloc(file->bytes.len + 1);
	if (!copy)
		return error_nomem(error);
	memcpy(copy, file->bytes.ptr, file->bytes.len);
	image->bytes = (struct slice){copy, file->bytes.len};
	image->size = (int64_t)file->bytes.len;
	image->unpacked = file->bytes.len;
	return 0;
}

/* --- opening --- */

static void close_memory(struct tree *tree)
{
	name_map_free(&memory_of(tree)->index);
	path_index_free(&memory_of(tree)->beside);
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
	        .listing = listing,
	        .fetch = fetch,
	        .close = close_memory,
	};
	struct memory_tree *tree = malloc(sizeof(*tree));

	if (!tree)
		return error_nomem(error);
	*tree = (struct memory_tree){
	        .tree = {.operations = &operations, .kind = ROOT_ARCHIVE, .fd = -1},
	        .files = files,
	        .count = count,
	};
	*out = &tree->tree;
	return 0;
}

/*
 * tree_zip.c - see tree_zip.h. Only the first component of a member's name counts, and a
 * directory exists even where no member stands for it (zipfile.Path). A distribution in a zip is
 * unchanged as long as the zip is: it has no stamps of its own.
 */
#include "libquery/disk/tree/tree_zip.h"

#include <stdlib.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "libquery/disk/elf/elf_extract.h"
#include "libquery/disk/elf/object_name.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/zip/zip.h"
#include "libquery/disk/zip/zip_stream.h"

/*
 * The members by name, and the directories in children, which exists() asks for. A
 * wheel has thousands of members and one distribution: a few walks are cheaper than
 * this. A zip of thousands of distributions is not to be walked for each of them.
 */
struct index {
	struct name_map names;      /* -> index in members */
	struct zip_cursor *members; /* the last one of that name; NULL: there is no index */
	size_t room;
};

/* Of a name that is only a directory's. */
#define NO_MEMBER ((struct zip_cursor){.place = SIZE_MAX})

struct zip_tree {
	struct tree tree;
	struct zip *zip;
	struct index index;
	unsigned lookups;        /* counted up to TREE_INDEX_AFTER */
	struct path_index files; /* see listing(); made when it is asked for */
	bool has_files;
};

static struct zip_tree *tree_of(struct tree *tree)
{
	return (struct zip_tree *)tree;
}

static struct zip *zip_of(struct tree *tree)
{
	return tree_of(tree)->zip;
}

static struct slice first_component(struct slice name)
{
	const char *slash = memchr(name.ptr, '/', name.len);

	return slash ? slice_between(name.ptr, slash) : name;
}

static int children(struct tree *tree, tree_each *each, void *payload, struct error *error)
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
			answer = each(payload, child);
	}
	name_map_free(&seen);
	return failed ? error_nomem(error) : answer;
}

/* --- look-ups --- */

/* @name, but nothing of what lies below a file or directory of a child. */
static struct slice two_components(struct slice name)
{
	size_t first = first_component(name).len + 1;

	if (first >= name.len)
		return name;
	return slice_first(name, first + first_component(slice_from(name, first)).len);
}

/* Where the index keeps @name's member, which may be new to it; NULL: no memory. */
static struct zip_cursor *slot_of(struct index *index, struct slice name)
{
	size_t before = index->names.count;
	bool failed = false;
	uint32_t number;

	if (!array_grow(&index->members, before, sizeof(*index->members), &index->room))
		return NULL;
	number = name_map_put(&index->names, name, (uint32_t)before, &failed);
	if (failed)
		return NULL;
	if (index->names.count > before)
		index->members[number] = NO_MEMBER;
	return &index->members[number];
}

static bool add_member(struct index *index, struct slice name, struct zip_cursor at)
{
	struct slice directory = two_components(name);
	struct zip_cursor *slot = slot_of(index, name);

	if (!slot)
		return false;
	*slot = at; /* of members with one name the last one counts */
	return directory.len == name.len || slot_of(index, directory) != NULL;
}

static void free_index(struct index *index)
{
	name_map_free(&index->names);
	free(index->members);
	*index = (struct index){0};
}

static void make_index(struct zip_tree *tree)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT, at = cursor;
	struct zip_member member;
	bool made = true;

	while (made && zip_next(tree->zip, &cursor, &member)) {
		made = add_member(&tree->index, member.name, at);
		at = cursor;
	}
	if (!made)
		free_index(&tree->index); /* no memory: slow is better than wrong */
}

/* Count one more look-up; is there an index to answer it? */
static bool has_index(struct zip_tree *tree)
{
	if (tree->lookups < TREE_INDEX_AFTER && ++tree->lookups == TREE_INDEX_AFTER)
		make_index(tree);
	return tree->index.members != NULL;
}

static bool find(struct tree *tree, struct slice name, struct zip_member *out)
{
	const struct index *index = &tree_of(tree)->index;
	struct zip_cursor cursor = NO_MEMBER;
	uint32_t number;

	if (!has_index(tree_of(tree)))
		return zip_find(zip_of(tree), name, out);
	number = name_map_get(&index->names, name);
	if (number != NAME_MAP_NONE)
		cursor = index->members[number];
	return zip_next(zip_of(tree), &cursor, out);
}

/* A member is a file unless its name ends in '/'; a directory, when read, is "absent". */
static int read_member(struct tree *tree, const struct tree_request *request, struct arena *arena,
                       struct slice *out, struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct zip_member member;
	bool failed = false;
	struct slice name = path_join_in(arena, request->child, slice_of(request->file), &failed);
	struct slice text;
	int code;

	if (failed)
		return error_nomem(error);
	if (!*request->file || !find(tree, name, &member))
		return 0;
	code = zip_read(zip_of(tree), &member, request->limit, &text, error);
	if (code < 0)
		return code;
	bytes = (char *)text.ptr;
	*out = arena_copy(arena, text, &failed);
	return failed ? error_nomem(error) : 1;
}

/* A member of that name, of two components, or anything below it. */
static bool has_member(struct tree *tree, struct slice name)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;

	if (has_index(tree_of(tree)))
		return name_map_get(&tree_of(tree)->index.names, name) != NAME_MAP_NONE;
	while (zip_next(zip_of(tree), &cursor, &member))
		if (slice_starts(member.name, name) &&
		    (member.name.len == name.len || member.name.ptr[name.len] == '/'))
			return true;
	return false;
}

static int exists(struct tree *tree, struct slice child, const char *file, struct error *error)
{
	struct slice name = slice_of(file);
	CLEANUP(cleanup_free) char *path = malloc(path_room(child, name));

	return path ? has_member(tree, path_join(path, child, name)) : error_nomem(error);
}

static int is_file(struct tree *tree, struct slice child, struct error *error)
{
	struct zip_member member;

	(void)error;
	return find(tree, child, &member);
}

/* --- the files beside a distribution --- */

/*
 * The list is searched for modules and shared objects. There are no modules in metadata
 * directories, of which an archive may have thousands.
 */
static bool is_of_use(struct slice name)
{
	return !distname_is_info(first_component(name)) || object_name_may_be(name);
}

static bool list_members(struct zip_tree *tree)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;

	while (zip_next(tree->zip, &cursor, &member))
		if (is_of_use(member.name) && !path_index_add(&tree->files, member.name))
			return false;
	path_index_sort(&tree->files);
	tree->has_files = true;
	return true;
}

/* The same for all children, all of which are at the top: made once. */
static int listing(struct tree *tree, struct slice child, struct wheel_record *out,
                   struct error *error)
{
	(void)child;
	if (!tree_of(tree)->has_files && !list_members(tree_of(tree))) {
		path_index_free(&tree_of(tree)->files);
		return error_nomem(error);
	}
	*out = (struct wheel_record){.index = &tree_of(tree)->files};
	return 0;
}

static int read_stream(void *payload, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error)
{
	return zip_stream_read(payload, at, to, size, got, error);
}

/* Of a large object, its tables. */
static int extract(struct tree *tree, const struct zip_member *member, struct elf_image *image,
                   struct error *error)
{
	CLEANUP(cleanup_zip_stream) struct zip_stream *stream = NULL;
	struct elf_source source = {.read = read_stream, .size = member->size};
	int code = zip_stream_open(zip_of(tree), member, TREE_OBJECT_UNPACKED_MAX, &stream, error);

	if (code < 0)
		return code;
	source.payload = stream;
	code = elf_extract(&source, &image->bytes, error);
	image->unpacked = zip_stream_unpacked(stream);
	return code;
}

static int fetch(struct tree *tree, struct slice child, struct slice path, struct elf_image *image,
                 struct error *error)
{
	struct zip_member member;

	(void)child;
	if (!find(tree, path, &member))
		return error_set(error, ERROR_NOTFOUND, "no such member");
	image->size = member.size < INT64_MAX ? (int64_t)member.size : INT64_MAX;
	if (member.size > TREE_OBJECT_MAX)
		return extract(tree, &member, image, error);
	image->unpacked = member.size;
	return zip_read(zip_of(tree), &member, TREE_OBJECT_MAX, &image->bytes, error);
}

/* --- opening --- */

static void close_zip(struct tree *tree)
{
	free_index(&tree_of(tree)->index);
	path_index_free(&tree_of(tree)->files);
	zip_close(zip_of(tree));
	close(tree->fd);
	free(tree);
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
	tree = calloc(1, sizeof(*tree));
	if (!tree)
		return error_nomem(error);
	tree->tree = (struct tree){
	        .operations = &operations,
	        .kind = ROOT_ZIP,
	        .stamp = stamp,
	        .fd = take_fd(&owned),
	};
	tree->zip = take(zip);
	*out = &tree->tree;
	return 0;
}

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
#include "distname.h"
#include "name_map.h"
#include "tree.h"
#include "zip.h"

/* Look-ups for which an index does not pay: one distribution has up to 9. */
#define INDEX_AFTER 16

/*
 * The members by name, and the directories in children, which `exists` asks for. A
 * wheel has thousands of members and one distribution: a few walks are cheaper than
 * this. A zip of thousands of distributions is not to be walked for each of them.
 */
struct index {
	struct name_map names;      /* -> index in members */
	struct zip_cursor *members; /* the last one of that name; NULL: there is no index */
	size_t room;
};

/* Of a name that is a directory's only. */
#define NO_MEMBER ((struct zip_cursor){.place = SIZE_MAX})

/* As every tree, for one thread at a time. */
struct zip_tree {
	struct tree tree;
	struct zip *zip;
	struct index index;
	unsigned lookups;  /* counted up to INDEX_AFTER */
	struct slice list; /* see listing(); null until it is asked for */
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

/* --- look-ups --- */

/* @name, but nothing of what lies below a file or directory of a child. */
static struct slice two_components(struct slice name)
{
	size_t first = first_component(name).len + 1;

	if (first >= name.len)
		return name;
	return slice_first(name, first + first_component(slice_from(name, first)).len);
}

static bool grow_members(struct index *index)
{
	size_t room = index->room ? 2 * index->room : 256;
	struct zip_cursor *members = reallocarray(index->members, room, sizeof(*members));

	if (!members)
		return false;
	index->members = members;
	index->room = room;
	return true;
}

/* Where the index keeps @name's member, which may be new to it; NULL: no memory. */
static struct zip_cursor *slot_of(struct index *index, struct slice name)
{
	size_t before = index->names.count;
	bool failed = false;
	uint32_t number;

	if (before == index->room && !grow_members(index))
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
	if (tree->lookups < INDEX_AFTER && ++tree->lookups == INDEX_AFTER)
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
	if (!*file || !find(tree, name, &member))
		return 0;
	code = zip_read(zip_of(tree), &member, limit, &text, error);
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

static bool exists(struct tree *tree, struct slice child, const char *file)
{
	struct arena arena = ARENA_INIT;
	struct slice name = join(&arena, child, file);
	bool found = !slice_is_null(name) && has_member(tree, name);

	arena_free(&arena);
	return found;
}

static bool is_file(struct tree *tree, struct slice child)
{
	struct zip_member member;

	return find(tree, child, &member);
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
static bool is_of_use(struct slice name)
{
	return !distname_is_info(first_component(name)) || slice_ends(name, SLICE(".so"));
}

static int list_members(struct zip *zip, struct slice *out, struct error *error)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return error_nomem(error);
	while (zip_next(zip, &cursor, &member))
		if (is_of_use(member.name))
			fprintf(stream, "%.*s,,\n", (int)member.name.len, member.name.ptr);
	if (fclose(stream) != 0)
		return error_nomem(error);
	*out = (struct slice){text, size};
	return 0;
}

/* The same for all children: made once. */
static int listing(struct tree *tree, struct slice child, struct slice *out, struct error *error)
{
	struct slice *list = &tree_of(tree)->list;
	char *copy;
	int code = 0;

	(void)child;
	if (slice_is_null(*list))
		code = list_members(zip_of(tree), list, error);
	if (code < 0)
		return code;
	copy = malloc(list->len + 1);
	if (!copy)
		return error_nomem(error);
	memcpy(copy, list->ptr, list->len + 1);
	*out = (struct slice){copy, list->len};
	return 0;
}

static int fetch(void *tree, struct slice path, struct slice *bytes, struct error *error)
{
	struct zip_member member;

	if (!find(tree, path, &member))
		return error_set(error, ERROR_NOTFOUND, "no such member");
	return zip_read(zip_of(tree), &member, TREE_OBJECT_MAX, bytes, error);
}

static void close_zip(struct tree *tree)
{
	free_index(&tree_of(tree)->index);
	free((char *)tree_of(tree)->list.ptr);
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
	tree = calloc(1, sizeof(*tree));
	if (!tree)
		return error_nomem(error);
	tree->tree = (struct tree){&operations, ROOT_ZIP, stamp, take_fd(&owned)};
	tree->zip = take(zip);
	*out = &tree->tree;
	return 0;
}

/*
 * needed.c - follows NEEDED entries through RPATH and RUNPATH, and asks who could have written
 * what they lead to. That a library is there is enough to ask: which of two is taken is for the
 * dynamic linker to say.
 */
#include "libquery/needed.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "libquery/disk/elf/linkage_search.h"

#define LIBRARIES_MAX 256 /* of one object */

/* Where a library has others looked for; $ORIGIN is its own directory. */
struct run_paths {
	struct slice paths, origin;
};

struct needed {
	const struct loadable *object;
	struct name_map met; /* paths, so that each is asked about once */
	struct slice *paths; /* in the arena; those that are followed */
	size_t count, room;
	struct arena arena;
	struct run_paths inherited[LIBRARIES_MAX + 1]; /* RPATHs, which hold for all below, too */
	size_t inherited_count;
	/* Of the library that is being read: */
	struct slice *names, runpath, rpath;
	size_t name_count, name_room;
	bool failed; /* no memory */
};

static void needed_free(struct needed *needed)
{
	name_map_free(&needed->met);
	arena_free(&needed->arena);
	free(needed->paths);
	free(needed->names);
}

static bool keep_link(void *payload, enum elf_link what, struct slice text, struct slice of)
{
	struct needed *needed = payload;

	(void)of;
	if (what == ELF_RPATH)
		needed->rpath = arena_copy(&needed->arena, text, &needed->failed);
	if (what == ELF_RUNPATH)
		needed->runpath = arena_copy(&needed->arena, text, &needed->failed);
	if (what != ELF_NEEDED)
		return true;
	if (!array_grow(&needed->names, needed->name_count, sizeof(*needed->names),
	                &needed->name_room))
		return !(needed->failed = true);
	needed->names[needed->name_count++] = arena_copy(&needed->arena, text, &needed->failed);
	return !needed->failed;
}

/* What is no shared object, the dynamic linker will refuse. */
static int read_links(struct needed *needed, struct slice path, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path.ptr, 0);
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	struct error own = {0};
	int code = fd < 0 ? 0 : elf_file_open(fd, &file, &own);

	needed->name_count = 0;
	needed->runpath = needed->rpath = (struct slice){0};
	if (file)
		code = elf_file_links(file, keep_link, needed, &own);
	code = error_move_failure(error, &own);
	return code == 0 && needed->failed ? error_nomem(error) : code;
}

/* @path ends in a NUL. */
static int ask_about(struct needed *needed, struct slice path, struct error *error)
{
	struct loadable library = {.path = path.ptr, .distribution = needed->object->distribution};

	if (access(path.ptr, F_OK) != 0 || name_map_get(&needed->met, path) != NAME_MAP_NONE)
		return 0;
	if (needed->count == LIBRARIES_MAX)
		return error_set(error, ERROR_LIMIT, "%s (of %s) needs more than %d libraries",
		                 needed->object->path, needed->object->distribution, LIBRARIES_MAX);
	path = arena_copy(&needed->arena, path, &needed->failed);
	name_map_put(&needed->met, path, 0, &needed->failed);
	if (needed->failed ||
	    !array_grow(&needed->paths, needed->count, sizeof(*needed->paths), &needed->room))
		return error_nomem(error);
	needed->paths[needed->count++] = path;
	return loader_check(&library, error);
}

static int ask_below(struct needed *needed, struct slice directory, struct slice name,
                     struct error *error)
{
	char text[PATH_MAX];
	int length = snprintf(text, sizeof(text), "%.*s/%.*s", (int)directory.len, directory.ptr,
	                      (int)name.len, name.ptr);

	if (length < 0 || length >= (int)sizeof(text))
		return 0;
	return ask_about(needed, (struct slice){text, (size_t)length}, error);
}

/* By names with a slash, which are paths. */
static int ask_named(struct needed *needed, struct slice origin, struct error *error)
{
	char text[PATH_MAX];
	struct slice path;
	int code = 0;

	for (size_t i = 0; code == 0 && i < needed->name_count; i++)
		if (memchr(needed->names[i].ptr, '/', needed->names[i].len) &&
		    linkage_expand(needed->names[i], origin, text, &path))
			code = ask_about(needed, path, error);
	return code;
}

static int ask_in(struct needed *needed, struct run_paths where, struct error *error)
{
	char text[PATH_MAX];
	struct slice directory;
	int code = 0;

	while (code == 0 && linkage_next_path(&where.paths, where.origin, text, &directory))
		for (size_t i = 0; code == 0 && i < needed->name_count; i++)
			if (!memchr(needed->names[i].ptr, '/', needed->names[i].len))
				code = ask_below(needed, directory, needed->names[i], error);
	return code;
}

/* RUNPATH is the library's own affair; RPATH, where there is none, that of all that it needs. */
static int ask_run_paths(struct needed *needed, struct slice origin, struct error *error)
{
	int code = 0;

	if (needed->runpath.len)
		return ask_in(needed, (struct run_paths){needed->runpath, origin}, error);
	if (needed->rpath.len)
		needed->inherited[needed->inherited_count++] =
		        (struct run_paths){needed->rpath, origin};
	for (size_t i = 0; code == 0 && i < needed->inherited_count; i++)
		code = ask_in(needed, needed->inherited[i], error);
	return code;
}

int needed_check(const struct loadable *object, struct error *error)
{
	CLEANUP(needed_free) struct needed needed = {.object = object};
	struct slice path = slice_of(object->path);
	size_t next = 0;
	int code;

	for (;;) {
		code = read_links(&needed, path, error);
		if (code == 0)
			code = ask_named(&needed, path_directory(path), error);
		if (code == 0)
			code = ask_run_paths(&needed, path_directory(path), error);
		if (code < 0 || next == needed.count)
			return code;
		path = needed.paths[next++];
	}
}

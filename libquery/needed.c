/*
 * needed.c - checks who can write the libraries that an object finds by RPATH and RUNPATH.
 *
 * Every existing candidate is checked: which of several is used is left to the dynamic linker.
 */
#include "libquery/load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "libquery/disk/elf/linkage_search.h"

#define LIBRARIES_MAX 256 /* of one object */

/* A search path of a library; $ORIGIN is its directory. */
struct run_paths {
	struct slice paths, origin;
};

struct needed {
	const struct loadable *object;
	struct name_map checked; /* paths that were checked */
	struct name_map places;  /* directories that were checked */
	struct slice *paths;     /* of libraries to follow, in the arena */
	size_t count, room;
	struct arena arena;
	struct run_paths inherited[LIBRARIES_MAX + 1]; /* RPATHs apply to dependencies, too */
	size_t inherited_count;
	struct slice rpath, runpath, origin; /* of the library being read; point into its file */
	int code;                            /* the first error */
	struct error *error;
};

static void needed_free(struct needed *needed)
{
	name_map_free(&needed->checked);
	name_map_free(&needed->places);
	arena_free(&needed->arena);
	free(needed->paths);
}

/* Check a library and queue it; @path ends in a NUL. */
static int check_library(struct needed *needed, struct slice path)
{
	struct loadable library = {.path = path.ptr, .distribution = needed->object->distribution};
	bool failed = false;

	if (access(path.ptr, F_OK) != 0 || name_map_get(&needed->checked, path) != NAME_MAP_NONE)
		return 0;
	if (needed->count == LIBRARIES_MAX)
		return error_set(needed->error, ERROR_LIMIT,
		                 "%s (of %s) needs more than %d libraries", needed->object->path,
		                 needed->object->distribution, LIBRARIES_MAX);
	path = arena_copy(&needed->arena, path, &failed);
	name_map_put(&needed->checked, path, 0, &failed);
	if (failed ||
	    !array_grow(&needed->paths, needed->count, sizeof(*needed->paths), &needed->room))
		return error_nomem(needed->error);
	needed->paths[needed->count++] = path;
	return loader_check(&library, needed->error);
}

static void check_candidates(struct needed *needed, struct run_paths where, struct slice name)
{
	char expanded[PATH_MAX], text[PATH_MAX];
	struct slice directory;

	while (needed->code == 0 &&
	       linkage_next_path(&where.paths, where.origin, expanded, &directory)) {
		int length = snprintf(text, sizeof(text), "%.*s/%.*s", (int)directory.len,
		                      directory.ptr, (int)name.len, name.ptr);

		if (length > 0 && length < (int)sizeof(text))
			needed->code = check_library(needed, (struct slice){text, (size_t)length});
	}
}

/*
 * Check the directories of a search path. The dynamic linker also searches subdirectories of these
 * (glibc-hwcaps, $LIB, $PLATFORM): each is checked as far as its name is known. A relative one
 * starts at the current directory.
 */
static void check_directories(struct needed *needed, struct run_paths where)
{
	bool more = where.paths.len > 0;

	while (more && needed->code == 0) {
		struct error own = {0};
		bool failed = false;
		char text[PATH_MAX];
		struct slice place;

		more = memchr(where.paths.ptr, ':', where.paths.len);
		linkage_expand(slice_take(&where.paths, ':'), where.origin, text, &place);
		place = slice_of(text[0] ? text : ".");
		if (name_map_get(&needed->places, place) != NAME_MAP_NONE)
			continue;
		place = arena_copy(&needed->arena, place, &failed);
		name_map_put(&needed->places, place, 0, &failed);
		needed->code = failed ? error_nomem(&own) : safe_load_place(place.ptr, &own);
		if (needed->code < 0)
			error_set(needed->error, needed->code, "%s (of %s) is not loaded: %s",
			          needed->object->path, needed->object->distribution,
			          error_text(&own));
		error_clear(&own);
	}
}

static bool keep_run_path(void *payload, enum elf_link what, struct slice text, struct slice of)
{
	struct needed *needed = payload;

	(void)of;
	if (what == ELF_RPATH)
		needed->rpath = text;
	if (what == ELF_RUNPATH)
		needed->runpath = text;
	return true;
}

/* A name that contains a slash is a path. */
static bool check_needed_name(void *payload, enum elf_link what, struct slice name, struct slice of)
{
	struct needed *needed = payload;
	int before = errno; /* elf_file_links() reports its own failures by errno */
	char text[PATH_MAX];
	struct slice path;

	(void)of;
	if (what < ELF_NEEDED || what > ELF_FILTER)
		return true;
	if (memchr(name.ptr, '/', name.len)) {
		if (linkage_expand(name, needed->origin, text, &path))
			needed->code = check_library(needed, path);
		else
			check_directories(needed,
			                  (struct run_paths){path_directory(name), needed->origin});
	} else if (needed->runpath.len) {
		check_candidates(needed, (struct run_paths){needed->runpath, needed->origin}, name);
	} else {
		for (size_t i = 0; i < needed->inherited_count; i++)
			check_candidates(needed, needed->inherited[i], name);
	}
	errno = before;
	return needed->code == 0;
}

/* A file that is no shared object is left to the dynamic linker to reject. */
static int check_needed_by(struct needed *needed, struct slice path)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path.ptr, 0);
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	struct error own = {0};
	bool failed = false;

	needed->runpath = needed->rpath = (struct slice){0};
	needed->origin = path_directory(path);
	if (fd >= 0 && elf_file_open(fd, &file, &own) == 0)
		elf_file_links(file, keep_run_path, needed, &own);
	/* RUNPATH applies to this object only; RPATH, without RUNPATH, also to its dependencies. */
	if (needed->rpath.len && !needed->runpath.len)
		needed->inherited[needed->inherited_count++] = (struct run_paths){
		        arena_copy(&needed->arena, needed->rpath, &failed), needed->origin};
	if (failed)
		error_nomem(&own);
	check_directories(needed,
	                  (struct run_paths){needed->runpath.len ? needed->runpath : needed->rpath,
	                                     needed->origin});
	if (needed->code == 0 && file && own.code == 0)
		elf_file_links(file, check_needed_name, needed, &own);
	if (needed->code == 0)
		needed->code = error_move_failure(needed->error, &own);
	error_clear(&own);
	return needed->code;
}

int needed_check(const struct loadable *object, struct error *error)
{
	CLEANUP(needed_free) struct needed needed = {.object = object, .error = error};
	int code = check_needed_by(&needed, slice_of(object->path));

	for (size_t next = 0; code == 0 && next < needed.count; next++)
		code = check_needed_by(&needed, needed.paths[next]);
	return code;
}

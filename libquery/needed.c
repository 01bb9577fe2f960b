/*
 * needed.c - follows NEEDED entries through RPATH and RUNPATH, and checks that the files found are
 * trusted. Every library of that name on the search path is checked, not only the one that the
 * dynamic linker will choose.
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
#include "db/base/text.h"
#include "libquery/disk/elf/linkage_search.h"

#define LIBRARIES_MAX 256 /* libraries of one object */
#define LEVELS_MAX    5   /* of subdirectories, such as tls/haswell/avx512_1/x86_64 */

/* A search path of a library; $ORIGIN is the library's directory. */
struct run_paths {
	struct slice paths, origin;
};

struct needed {
	const struct loadable *object;
	struct slice sysroot;   /* a prefix of all paths */
	struct name_map met;    /* checked paths */
	struct name_map places; /* checked directories */
	struct slice *paths;    /* the paths to follow, in the arena */
	size_t count, room;
	struct arena arena;
	struct run_paths inherited[LIBRARIES_MAX + 1]; /* RPATHs: also used for dependencies */
	size_t inherited_count;
	struct slice rpath, runpath, origin; /* of the current library */
	int code;                            /* the first error */
	struct error *error;
};

static void needed_free(struct needed *needed)
{
	name_map_free(&needed->met);
	name_map_free(&needed->places);
	arena_free(&needed->arena);
	free(needed->paths);
}

/* Prefix @path with the sysroot, in @to. False: too long. */
static bool reach(const struct needed *needed, struct slice path, char to[PATH_MAX],
                  struct slice *out)
{
	int length = snprintf(to, PATH_MAX, "%.*s%.*s", (int)needed->sysroot.len,
	                      needed->sysroot.ptr, (int)path.len, path.ptr);

	*out = (struct slice){to, (size_t)length};
	return length < PATH_MAX;
}

/* @path ends in a NUL. */
static int ask_about(struct needed *needed, struct slice path)
{
	struct loadable library = *needed->object;
	struct stat status;
	bool failed = false;

	if (name_map_get(&needed->met, path) != NAME_MAP_NONE ||
	    file_status(AT_FDCWD, path.ptr, &status, NULL) == 0)
		return 0;
	library.path = path.ptr;
	if (needed->count == LIBRARIES_MAX)
		return error_set(needed->error, ERROR_LIMIT,
		                 "%s (of %s) needs more than %d libraries", needed->object->path,
		                 needed->object->distribution, LIBRARIES_MAX);
	path = arena_copy(&needed->arena, path, &failed);
	name_map_put(&needed->met, path, 0, &failed);
	if (failed ||
	    !array_grow(&needed->paths, needed->count, sizeof(*needed->paths), &needed->room))
		return error_nomem(needed->error);
	needed->paths[needed->count++] = path;
	return loader_check(&library, needed->error);
}

static void ask_in(struct needed *needed, struct run_paths where, struct slice name)
{
	char expanded[PATH_MAX], text[PATH_MAX];
	struct slice path;

	while (needed->code == 0 &&
	       linkage_next_path(&where.paths, where.origin, expanded, &path)) {
		size_t left = sizeof(expanded) - path.len;

		path.len += (size_t)snprintf(expanded + path.len, left, "/%.*s", (int)name.len,
		                             name.ptr);
		if (path.len < sizeof(expanded) && reach(needed, path, text, &path))
			needed->code = ask_about(needed, path);
	}
}

/* Subdirectories that glibc searches first; before version 2.37, also tls and processors' names. */
static const char *const searched_first[] = {"glibc-hwcaps", "tls",    "avx512_1",
                                             "haswell",      "x86_64", "xeon_phi"};

/* Check @path, if it exists, and all that lies in it. */
static int ask_below(struct needed *needed, const char *path, int levels, struct error *error)
{
	CLEANUP(cleanup_closedir) DIR *directory = NULL;
	struct stat status = {0}; /* if there is none */
	const char *name;
	int more = 0, code = file_status(AT_FDCWD, path, &status, error);

	if (code > 0)
		code = safe_believe_place(path, needed->object->sysroot, needed->object->lasting,
		                          error);
	if (code < 0 || levels == 0 || !S_ISDIR(status.st_mode))
		return code;
	directory = file_open_directory(AT_FDCWD, path);
	while (code == 0 && directory && (more = file_next(directory, &name)) > 0) {
		CLEANUP(cleanup_free) char *inner = text_format("%s/%s", path, name);

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			code = inner ? ask_below(needed, inner, levels - 1, error)
			             : error_nomem(error);
	}
	return !directory || more < 0 ? error_errno(error, errno, "%s", path) : code;
}

static int ask_place(struct needed *needed, const char *place, struct error *error)
{
	int code =
	        safe_believe_place(place, needed->object->sysroot, needed->object->lasting, error);

	for (size_t i = 0; code == 0 && i < sizeof(searched_first) / sizeof(*searched_first); i++) {
		CLEANUP(cleanup_free) char *path = text_format("%s/%s", place, searched_first[i]);

		code = path ? ask_below(needed, path, LEVELS_MAX, error) : error_nomem(error);
	}
	return code;
}

/*
 * Check the directories of a search path. The dynamic linker also searches subdirectories (the
 * above, $LIB, $PLATFORM): so each directory is checked up to the known part, regardless of its
 * contents. Relative paths begin at the current directory, that is, anywhere for a manifest.
 */
static void ask_where(struct needed *needed, struct run_paths where)
{
	bool more = where.paths.len > 0;

	while (more && needed->code == 0) {
		struct error own = {0};
		bool failed = false;
		char text[PATH_MAX], reached[PATH_MAX];
		struct slice place;

		more = memchr(where.paths.ptr, ':', where.paths.len);
		linkage_expand(slice_take(&where.paths, ':'), where.origin, text, &place);
		if (!reach(needed, slice_of(text[0] ? text : "."), reached, &place) ||
		    name_map_get(&needed->places, place) != NAME_MAP_NONE)
			continue;
		place = arena_copy(&needed->arena, place, &failed);
		name_map_put(&needed->places, place, 0, &failed);
		if (failed)
			error_nomem(&own);
		else if (needed->object->listed && text[0] != '/')
			error_set(&own, ERROR_PERMISSION,
			          "a relative run path leads to libraries of others");
		else
			ask_place(needed, place.ptr, &own);
		needed->code = loader_refuse(needed->object, &own, needed->error);
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

/* Check the libraries found by a name; a name with a slash is a path. */
static bool ask_name(void *payload, enum elf_link what, struct slice name, struct slice of)
{
	struct needed *needed = payload;
	int before = errno; /* elf_file_links() uses errno for its own failures */
	char text[PATH_MAX], reached[PATH_MAX];
	struct slice path;

	(void)of;
	if (what < ELF_NEEDED || what > ELF_FILTER)
		return true;
	if (memchr(name.ptr, '/', name.len)) {
		ask_where(needed, (struct run_paths){path_directory(name), needed->origin});
		if (needed->code == 0 && linkage_expand(name, needed->origin, text, &path) &&
		    reach(needed, path, reached, &path))
			needed->code = ask_about(needed, path);
	} else if (needed->runpath.len) {
		ask_in(needed, (struct run_paths){needed->runpath, needed->origin}, name);
	} else {
		for (size_t i = 0; i < needed->inherited_count; i++)
			ask_in(needed, needed->inherited[i], name);
	}
	errno = before;
	return needed->code == 0;
}

/* Check the dependencies of a library. Refused if unreadable: the dynamic linker may read it. */
static int ask_needed_by(struct needed *needed, struct slice path)
{
	struct loadable library = *needed->object;
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path.ptr, 0);
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	struct error own = {0};
	bool failed = false;

	library.path = path.ptr;
	needed->runpath = needed->rpath = (struct slice){0};
	needed->origin = slice_from(path_directory(path), needed->sysroot.len);
	if (fd < 0 && errno_is_failure(errno))
		error_errno(&own, errno, "it cannot be read");
	else if (fd >= 0 && elf_file_open(fd, &file, &own) == 0)
		elf_file_links(file, keep_run_path, needed, &own);
	/* RUNPATH applies to this library only; RPATH, without RUNPATH, to all dependencies. */
	if (needed->rpath.len && !needed->runpath.len)
		needed->inherited[needed->inherited_count++] = (struct run_paths){
		        arena_copy(&needed->arena, needed->rpath, &failed), needed->origin};
	if (failed)
		error_nomem(&own);
	ask_where(needed, (struct run_paths){needed->runpath.len ? needed->runpath : needed->rpath,
	                                     needed->origin});
	if (needed->code == 0 && file && own.code == 0)
		elf_file_links(file, ask_name, needed, &own);
	if (needed->code == 0)
		needed->code = loader_refuse(&library, &own, needed->error);
	error_clear(&own);
	return needed->code;
}

int needed_check(const struct loadable *object, struct error *error)
{
	CLEANUP(needed_free)
	struct needed needed = {
	        .object = object, .sysroot = slice_of(object->sysroot), .error = error};
	int code = ask_needed_by(&needed, slice_of(object->path));

	for (size_t next = 0; code == 0 && next < needed.count; next++)
		code = ask_needed_by(&needed, needed.paths[next]);
	return code;
}

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

/* A search path of a library, null at its end; $ORIGIN is the library's directory. */
struct run_paths {
	struct slice paths, origin;
};

struct needed {
	const struct loadable *object;
	struct slice sysroot;   /* a prefix of all paths */
	struct name_map met;    /* checked paths */
	struct name_map places; /* checked directories */
	struct slice *inner;    /* and those of their subdirectories that are searched, too */
	size_t inner_count, inner_room;
	struct slice *paths; /* the paths to follow, in the arena */
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
	free(needed->inner);
	free(needed->paths);
}

/*
 * Expand @path, and prefix it with the sysroot, in @to. False: the result is unknown, and the
 * object is refused.
 */
static bool reach(struct needed *needed, struct slice path, struct slice origin, char to[PATH_MAX],
                  struct slice *out)
{
	struct error own = {0};
	char text[PATH_MAX];
	int length;

	if (linkage_expand(path, origin, text, out)) {
		length = snprintf(to, PATH_MAX, "%.*s%s", (int)needed->sysroot.len,
		                  needed->sysroot.ptr, text[0] ? text : ".");
		*out = (struct slice){to, (size_t)length};
		if (length < PATH_MAX)
			return true;
	}
	error_set(&own, ERROR_PERMISSION,
	          "where it leads to libraries is unknown: $LIB or $PLATFORM, or too long a path");
	needed->code = loader_refuse(needed->object, &own, needed->error);
	return false;
}

/* Take the next directory of a search path. */
static bool next_place(struct needed *needed, struct run_paths *where, char to[PATH_MAX],
                       struct slice *place)
{
	struct slice rest = where->paths, entry;

	if (slice_is_null(rest) || needed->code < 0)
		return false;
	entry = slice_before(rest, ':');
	where->paths = entry.len < rest.len ? slice_from(rest, entry.len + 1) : (struct slice){0};
	return reach(needed, entry, where->origin, to, place);
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

static int ask_for(struct needed *needed, struct slice place, struct slice name)
{
	char path[PATH_MAX];

	return path_room(place, name) > sizeof(path)
	               ? 0
	               : ask_about(needed, path_join(path, place, name));
}

static void ask_in(struct needed *needed, struct run_paths where, struct slice name)
{
	char text[PATH_MAX];
	struct slice place;

	while (next_place(needed, &where, text, &place)) {
		needed->code = ask_for(needed, place, name);
		for (size_t i = 0; needed->code == 0 && i < needed->inner_count; i++)
			if (slice_starts(needed->inner[i], place))
				needed->code = ask_for(needed, needed->inner[i], name);
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
	bool failed = false;
	const char *name;
	int more = 0, code = file_status(AT_FDCWD, path, &status, error);

	if (code > 0)
		code = safe_believe_place(path, needed->object->sysroot, needed->object->lasting,
		                          error);
	if (code < 0 || levels == 0 || !S_ISDIR(status.st_mode))
		return code;
	if (!array_grow(&needed->inner, needed->inner_count, sizeof(*needed->inner),
	                &needed->inner_room))
		return error_nomem(error);
	needed->inner[needed->inner_count++] = arena_copy(&needed->arena, slice_of(path), &failed);
	if (failed)
		return error_nomem(error);
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
 * Check a directory in which libraries are searched, regardless of its contents. A relative path
 * begins at the current directory, that is, anywhere for a manifest.
 */
static void ask_directory(struct needed *needed, struct slice place)
{
	struct error own = {0};
	bool failed = false;

	if (name_map_get(&needed->places, place) != NAME_MAP_NONE)
		return;
	place = arena_copy(&needed->arena, place, &failed);
	name_map_put(&needed->places, place, 0, &failed);
	if (failed)
		error_nomem(&own);
	else if (needed->object->listed && place.ptr[needed->sysroot.len] != '/')
		error_set(&own, ERROR_PERMISSION,
		          "a relative run path leads to libraries of others");
	else
		ask_place(needed, place.ptr, &own);
	needed->code = loader_refuse(needed->object, &own, needed->error);
}

static void ask_where(struct needed *needed, struct run_paths where)
{
	char text[PATH_MAX];
	struct slice place;

	while (next_place(needed, &where, text, &place))
		ask_directory(needed, place);
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
	char text[PATH_MAX];
	struct slice path;

	(void)of;
	if (what < ELF_NEEDED || what > ELF_FILTER)
		return true;
	if (!reach(needed, name, needed->origin, text, &path))
		return false;
	name = slice_from(path, needed->sysroot.len);
	if (memchr(name.ptr, '/', name.len)) {
		ask_directory(needed, slice_between(path.ptr, path_base(path).ptr));
		if (needed->code == 0)
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
	struct slice path = slice_of(object->path), expanded;
	char text[PATH_MAX];
	int code;

	if (!linkage_expand(path, SLICE(""), text, &expanded) || !slice_equal(path, expanded))
		return error_set(error, ERROR_PERMISSION,
		                 "%s (of %s) is not loaded: dlopen() replaces $ORIGIN, $LIB and "
		                 "$PLATFORM in its path",
		                 object->path, object->distribution);
	code = ask_needed_by(&needed, path);
	for (size_t next = 0; code == 0 && next < needed.count; next++)
		code = ask_needed_by(&needed, needed.paths[next]);
	return code;
}

/*
 * linkage_search.c - finds libraries in the order of ld.so(8), and reads each once.
 */
#include "libquery/disk/elf/linkage_search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/small_file.h"
#include "db/base/text.h"

#define CACHE "/etc/ld.so.cache"

/* What musl's dynamic linker is installed as: it is the C library, too. */
static const char *const musl_linkers[] = {
        "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1",     "/lib/ld-musl-i386.so.1",
        "/lib/ld-musl-armhf.so.1",  "/lib/ld-musl-powerpc64le.so.1", "/lib/ld-musl-riscv64.so.1",
        "/lib/ld-musl-s390x.so.1",
};

/* --- the libraries that were read --- */

struct linkage *linkage_create(const char *sysroot)
{
	struct linkage *linkage = calloc(1, sizeof(*linkage));

	if (!linkage)
		return NULL;
	linkage->sysroot = strdup(sysroot ? sysroot : "");
	if (linkage->sysroot)
		return linkage;
	linkage_free(linkage);
	return NULL;
}

static void forget_libraries(struct linkage *linkage)
{
	for (size_t i = 0; i < linkage->count; i++)
		library_free(linkage->libraries[i]);
	name_map_free(&linkage->by_path);
	linkage->count = linkage->symbols = 0;
}

void linkage_free(struct linkage *linkage)
{
	if (!linkage)
		return;
	forget_libraries(linkage);
	free(linkage->libraries);
	free(linkage->cache_text);
	free(linkage->sysroot);
	free(linkage);
}

void closure_begin(struct closure *closure)
{
	if (closure->linkage->symbols > LINKAGE_SYMBOLS_MAX)
		forget_libraries(closure->linkage);
}

static struct library *known(const struct linkage *linkage, struct slice path)
{
	uint32_t at = name_map_get(&linkage->by_path, path);

	return at == NAME_MAP_NONE ? NULL : linkage->libraries[at];
}

/* The library becomes the linkage's. */
static int remember(struct linkage *linkage, struct library *library, struct error *error)
{
	bool failed = false;

	if (array_grow(&linkage->libraries, linkage->count, sizeof(struct library *),
	               &linkage->room))
		name_map_put(&linkage->by_path, library->path, (uint32_t)linkage->count, &failed);
	else
		failed = true;
	if (failed) {
		library_free(library);
		return error_nomem(error);
	}
	linkage->libraries[linkage->count++] = library;
	linkage->symbols += library->export_count;
	return 0;
}

/* At first need: most objects ask for none. What is no cache is none. */
static int read_cache(struct linkage *linkage, struct error *error)
{
	CLEANUP(cleanup_free) char *path = text_format("%s%s", linkage->sysroot, CACHE);
	size_t length = 0;
	int code;

	if (linkage->has_cache)
		return 0;
	code = path ? small_file_read(path, LD_CACHE_MAX, &linkage->cache_text, &length, error)
	            : error_nomem(error);
	if (code > 0)
		ld_cache_open((struct slice){linkage->cache_text, length}, &linkage->cache);
	linkage->has_cache = code >= 0;
	return code < 0 ? code : 0;
}

/* --- reading one --- */

/*
 * What only some may read is nobody else's affair: what is found out here is published.
 * (A plain user publishes only what is his own.)
 */
static bool may_be_told(const struct stat *status)
{
	return S_ISREG(status->st_mode) &&
	       (status->st_mode & S_IROTH || (geteuid() != 0 && status->st_uid == geteuid()));
}

/* 1: it is open; 0: it is none that can be read; or a failure. */
static int settle(int code, struct error *own, struct error *error)
{
	int failure = error_move_failure(error, own);

	error_clear(own);
	return failure < 0 ? failure : code == 0;
}

static int read_installed(struct linkage *linkage, struct slice path, bool is_system,
                          struct library **out, struct error *error)
{
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	CLEANUP(cleanup_close) int fd = -1;
	CLEANUP(cleanup_free)
	char *name = text_format("%s%.*s", linkage->sysroot, (int)path.len, path.ptr);
	struct error own = {0};
	struct stat status;
	int code;

	if (!name)
		return error_nomem(error);
	fd = file_open(AT_FDCWD, name, 0);
	if (fd < 0 || fstat(fd, &status) != 0)
		return errno_is_failure(errno) ? error_errno(error, errno, "%s", name) : 0;
	if (!may_be_told(&status))
		return 0;
	code = elf_file_open(fd, &file, &own);
	if (code == 0)
		code = library_read(file, path, is_system, out, &own);
	return settle(code, &own, error);
}

static int read_archived(struct closure *closure, struct slice path, struct library **out)
{
	const struct linkage_archive *archive = closure->archive;
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	struct error own = {0};
	CLEANUP(cleanup_close) int fd = archive->fetch(archive->payload, path, &own);
	int code = fd < 0 ? fd : elf_file_open(fd, &file, &own);

	if (code == 0)
		code = library_read(file, path, false, out, &own);
	closure->not_examined |= code == ERROR_LIMIT;
	return settle(code, &own, closure->error);
}

/* Put @path into @to without "." and "..", as no link in an archive makes it lead elsewhere. */
static struct slice without_dots(struct slice path, char to[PATH_MAX])
{
	size_t length = 0;

	while (path.len > 0) {
		struct slice rest = slice_from(path, 1);
		const char *slash = rest.len ? memchr(rest.ptr, '/', rest.len) : NULL;
		struct slice part = slash ? slice_between(path.ptr, slash) : path;

		path = slice_from(path, part.len);
		if (slice_equal(part, SLICE("/..")))
			while (length > 0 && to[--length] != '/')
				;
		else if (part.len > 1 && !slice_equal(part, SLICE("/."))) {
			memcpy(to + length, part.ptr, part.len);
			length += part.len;
		}
	}
	return (struct slice){to, length};
}

/* Of the archive at hand: kept as long as the closure. */
static int find_archived(struct closure *closure, struct slice path, struct library **out)
{
	char text[PATH_MAX];
	int code = 0;

	path = without_dots(path, text);
	if (closure->own_count < LINKAGE_CLOSURE_MAX &&
	    slice_starts(path, closure->archive->directory))
		code = read_archived(closure, path, out);
	if (code > 0)
		closure->own[closure->own_count++] = *out;
	return code;
}

/* 1: the library at @path; 0: there is none; or a failure. */
static int find_at(struct closure *closure, struct slice path, bool is_system, struct library **out)
{
	struct linkage *linkage = closure->linkage;
	int code;

	if (closure->tries++ >= LINKAGE_TRIES_MAX) {
		closure->not_examined = true;
		return 0;
	}
	if (closure->archive && slice_starts(path, closure->archive->directory))
		return find_archived(closure, path, out);
	*out = known(linkage, path);
	if (*out)
		return 1;
	code = read_installed(linkage, path, is_system, out, closure->error);
	if (code > 0 && remember(linkage, *out, closure->error) < 0)
		return ERROR_NOMEM;
	return code;
}

/* --- looking for one by name --- */

static bool suits(const struct library *library, const struct library *other)
{
	return library->is_shared_object && library->machine == other->machine &&
	       library->elf_class == other->elf_class;
}

/* The library at the path in @text, if it is one for the same machine. */
static int try_path(struct closure *closure, struct slice path, bool is_system,
                    struct library **out)
{
	struct library *found = NULL;
	int code = find_at(closure, path, is_system, &found);

	if (code <= 0)
		return code;
	if (!closure->any_machine && !suits(found, closure->libraries[0]))
		return 0;
	*out = found;
	return 1;
}

static int try_in(struct closure *closure, struct slice directory, struct slice name,
                  bool is_system, struct library **out)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%.*s/%.*s", (int)directory.len, directory.ptr,
	                      (int)name.len, name.ptr);

	if (length < 0 || length >= (int)sizeof(path))
		return 0;
	return try_path(closure, (struct slice){path, (size_t)length}, is_system, out);
}

bool linkage_expand(struct slice entry, struct slice origin, char to[PATH_MAX], struct slice *out)
{
	static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
	struct slice rest = entry, before = SLICE("");
	int length;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++)
		if (slice_starts(entry, slice_of(tokens[i]))) {
			before = origin;
			rest = slice_from(entry, strlen(tokens[i]));
		}
	if ((before.len ? before.ptr[0]
	     : rest.len ? rest.ptr[0]
	                : 0) != '/' ||
	    memchr(rest.ptr, '$', rest.len))
		return false;
	length = snprintf(to, PATH_MAX, "%.*s%.*s", (int)before.len, before.ptr, (int)rest.len,
	                  rest.ptr);
	*out = (struct slice){to, (size_t)length};
	return length >= 0 && length < PATH_MAX;
}

bool linkage_next_path(struct slice *paths, struct slice origin, char to[PATH_MAX],
                       struct slice *out)
{
	while (paths->len > 0) {
		const char *colon = memchr(paths->ptr, ':', paths->len);
		struct slice entry = colon ? slice_between(paths->ptr, colon) : *paths;

		*paths = slice_from(*paths, entry.len + (colon != NULL));
		if (linkage_expand(entry, origin, to, out))
			return true;
	}
	return false;
}

/* In the directories of @paths, a colon between two, which stand in @library. */
static int try_paths(struct closure *closure, struct slice paths, const struct library *library,
                     struct slice name, struct library **out)
{
	struct slice origin = path_directory(library->path), directory;
	char text[PATH_MAX];
	int code = 0;

	while (code == 0 && closure->tries < LINKAGE_TRIES_MAX &&
	       linkage_next_path(&paths, origin, text, &directory))
		code = try_in(closure, directory, name, library->is_system, out);
	return code;
}

/* RUNPATH is the library's own affair; RPATH, where there is none, that of all who need it. */
static int try_run_paths(struct closure *closure, size_t user, struct slice name,
                         struct library **out)
{
	const struct library *library = closure->libraries[user];
	int code = 0;

	if (library->runpath.len)
		return try_paths(closure, library->runpath, library, name, out);
	for (;;) {
		library = closure->libraries[user];
		if (library->rpath.len && !library->runpath.len)
			code = try_paths(closure, library->rpath, library, name, out);
		if (code != 0 || user == 0)
			return code;
		user = closure->needed_by[user];
	}
}

static int try_cache(struct closure *closure, struct slice name, struct library **out)
{
	struct slice path;
	int code = read_cache(closure->linkage, closure->error);

	for (size_t at = 0; code == 0 && ld_cache_find(&closure->linkage->cache, name, &at, &path);)
		code = try_path(closure, path, true, out);
	return code;
}

static int try_musl(struct closure *closure, struct library **out)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < sizeof(musl_linkers) / sizeof(*musl_linkers); i++)
		code = try_path(closure, slice_of(musl_linkers[i]), true, out);
	return code;
}

/* Where libraries are without a cache: those of common distributions, and of musl. */
int closure_find_system(struct closure *closure, struct slice name, struct library **out)
{
	static const char *const directories[] = {
	        "/lib64",
	        "/usr/lib64",
	        "/lib",
	        "/usr/lib",
	        "/lib/x86_64-linux-gnu",
	        "/usr/lib/x86_64-linux-gnu",
	        "/lib/aarch64-linux-gnu",
	        "/usr/lib/aarch64-linux-gnu",
	        "/lib/i386-linux-gnu",
	        "/usr/lib/i386-linux-gnu",
	        "/lib/arm-linux-gnueabihf",
	        "/usr/lib/arm-linux-gnueabihf",
	        "/lib/powerpc64le-linux-gnu",
	        "/usr/lib/powerpc64le-linux-gnu",
	        "/lib/riscv64-linux-gnu",
	        "/usr/lib/riscv64-linux-gnu",
	        "/lib/s390x-linux-gnu",
	        "/usr/lib/s390x-linux-gnu",
	        "/usr/local/lib",
	};
	int code = 0;

	if (slice_equal(name, SLICE(LINKAGE_MUSL)))
		return try_musl(closure, out);
	code = try_cache(closure, name, out);
	for (size_t i = 0; code == 0 && i < sizeof(directories) / sizeof(*directories); i++)
		code = try_in(closure, slice_of(directories[i]), name, true, out);
	return code;
}

/* A name with a slash in it is a path. */
static int try_named_path(struct closure *closure, size_t user, struct slice name,
                          struct library **out)
{
	const struct library *library = closure->libraries[user];
	char text[PATH_MAX];
	struct slice path;

	if (!linkage_expand(name, path_directory(library->path), text, &path))
		return 0;
	return try_path(closure, path, library->is_system, out);
}

int closure_find(struct closure *closure, size_t user, struct slice name, struct library **out)
{
	int code;

	if (memchr(name.ptr, '/', name.len))
		return try_named_path(closure, user, name, out);
	code = try_run_paths(closure, user, name, out);
	return code == 0 ? closure_find_system(closure, name, out) : code;
}

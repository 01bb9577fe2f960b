/*
 * linkage_search.c - finds libraries in the order of ld.so(8), and reads each once.
 */
#include "libquery/disk/elf/linkage_search.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"

#define CACHE "/etc/ld.so.cache"

/* In comparisons of short names: */
#define COST_OF_TRY    128 /* of a path */
#define COST_OF_SYMBOL 4   /* that is read */
#define TEXT_OF_COST   8   /* bytes of names that are kept */
#define SHORT_NAME     64  /* bytes; a longer name counts as several */

/* The paths of musl's dynamic linker, which is also the C library. */
static const char *const musl_linkers[] = {
        "/lib/ld-musl-x86_64.so.1",      "/lib/ld-musl-aarch64.so.1",
        "/lib/ld-musl-i386.so.1",        "/lib/ld-musl-armhf.so.1",
        "/lib/ld-musl-powerpc64le.so.1", "/lib/ld-musl-riscv64.so.1",
        "/lib/ld-musl-s390x.so.1",       NULL,
};

/*
 * The library directories of common distributions, used without a cache: these, and subdirectories
 * named by triplet.
 */
static const char *const directories[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL};
static const char *const triplets[] = {
        "x86_64-linux-gnu",      "aarch64-linux-gnu", "i386-linux-gnu", "arm-linux-gnueabihf",
        "powerpc64le-linux-gnu", "riscv64-linux-gnu", "s390x-linux-gnu"};

/* --- one library --- */

static struct slice keep(struct library *library, struct slice text)
{
	library->text += text.len;
	return arena_copy(&library->arena, text, &library->failed);
}

static void note_symbol(struct library *library, const struct elf_symbol *symbol)
{
	if (symbol->is_defined) {
		library->export_count++;
		name_map_put(&library->exports, keep(library, symbol->name), 0, &library->failed);
	} else if (!symbol->is_weak && (!library->is_system || elf_is_python(symbol->name))) {
		if (array_grow(&library->undefined, library->undefined_count,
		               sizeof(*library->undefined), &library->undefined_room))
			library->undefined[library->undefined_count++] =
			        keep(library, symbol->name);
		else
			library->failed = true;
	}
}

static bool note_link(void *payload, enum elf_link what, struct slice text, struct slice of)
{
	struct library *library = payload;

	if (what < ELF_NEEDED) {
		library->single[what] = keep(library, text);
		return !library->failed;
	}
	if (library->link_count == LIBRARY_LINKS_MAX || library->text > LIBRARY_TEXT_MAX)
		return false;
	library->failed |= !array_grow(&library->links, library->link_count,
	                               sizeof(*library->links), &library->link_room);
	if (!library->failed)
		library->links[library->link_count++] =
		        (struct library_link){what, keep(library, text), keep(library, of)};
	return !library->failed;
}

void library_free(struct library *library)
{
	if (!library)
		return;
	free(library->links);
	free(library->undefined);
	name_map_free(&library->exports);
	arena_free(&library->arena);
	free(library);
}

static void cleanup_library(struct library **library)
{
	library_free(*library);
}

int library_read(struct elf_file *file, struct slice path, bool is_system, struct library **out,
                 struct error *error)
{
	CLEANUP(cleanup_library) struct library *library = calloc(1, sizeof(*library));
	struct elf_symbol symbol;
	int code;

	if (!library)
		return error_nomem(error);
	library->path = keep(library, path);
	library->is_system = is_system;
	library->header = *elf_file_header(file);
	code = elf_file_links(file, note_link, library, error);
	if (code == 0)
		code = elf_file_symbols(file, error);
	while (code == 0 && !library->failed && library->text <= LIBRARY_TEXT_MAX &&
	       library->export_count + library->undefined_count < LIBRARY_SYMBOLS_MAX &&
	       elf_file_next_symbol(file, &symbol))
		note_symbol(library, &symbol);
	if (code == 0 && library->failed)
		code = error_nomem(error);
	if (code == 0 && library->text > LIBRARY_TEXT_MAX)
		code = error_set(error, ERROR_LIMIT, "more than %zu bytes of names",
		                 LIBRARY_TEXT_MAX);
	if (code == 0)
		*out = take(library);
	return code;
}

/* --- the cache --- */

struct linkage *linkage_create(const char *sysroot, struct readers readers)
{
	struct linkage *linkage = calloc(1, sizeof(*linkage));

	if (linkage) {
		linkage->readers = readers;
		linkage->sysroot = strdup(sysroot ? sysroot : "");
	}
	if (linkage && linkage->sysroot)
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
	free(linkage->hosts);
	free(linkage);
}

bool linkage_add_host(struct linkage *linkage, struct slice directory)
{
	const char *hosts = linkage->hosts ? linkage->hosts : "";
	char *more = text_format("%s%s%.*s", hosts, *hosts ? ":" : "", (int)directory.len,
	                         directory.ptr);

	if (!more)
		return false;
	free(linkage->hosts);
	linkage->hosts = more;
	return true;
}

void closure_begin(struct closure *closure)
{
	if (closure->linkage->symbols > LINKAGE_SYMBOLS_MAX)
		forget_libraries(closure->linkage);
}

/* --- reading libraries --- */

/*
 * Results are published, so a library is used only if all readers can read it; without any, a plain
 * user, who publishes only to itself, may use its own files, too.
 */
static bool is_public(const struct linkage *linkage, const char *path, int fd,
                      const struct stat *status)
{
	const char *sysroot = linkage->sysroot[0] ? linkage->sysroot : NULL;
	const mode_t all = trust_everybody(fd, status), needed = linkage->readers.mode;

	if (needed)
		return !(needed & ~all) &&
		       safe_is_reached(path, linkage->readers.beside, sysroot, needed);
	return !(0444 & ~all) || (geteuid() != 0 && status->st_uid == geteuid());
}

static int open_installed(const struct linkage *linkage, struct slice path, struct error *error)
{
	CLEANUP(cleanup_free)
	char *name = text_format("%s%.*s", linkage->sysroot, (int)path.len, path.ptr);
	CLEANUP(cleanup_close) int fd = name ? file_open(AT_FDCWD, name, 0) : -1;
	struct stat status;

	if (!name)
		return error_nomem(error);
	if (fd < 0 || fstat(fd, &status) != 0)
		return errno_is_failure(errno) ? error_errno(error, errno, "%s", name)
		                               : ERROR_NOTFOUND;
	return S_ISREG(status.st_mode) && is_public(linkage, name, fd, &status) ? take_fd(&fd)
	                                                                        : ERROR_NOTFOUND;
}

bool closure_spend(struct closure *closure, size_t lookups, struct slice name)
{
	lookups *= 1 + name.len / SHORT_NAME;
	closure->lookups += lookups;
	closure->linkage->work += lookups;
	if (closure->lookups <= LINKAGE_LOOKUPS_MAX && closure->linkage->work <= LINKAGE_WORK_MAX)
		return true;
	closure->not_examined = true;
	return false;
}

/* 1: *out is the library at @path; 0: none that can be read; or a failure. */
static int read_library(struct closure *closure, struct slice path, bool archived, bool is_system,
                        struct library **out)
{
	const struct linkage_archive *archive = closure->archive;
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	struct error own = {0};
	CLEANUP(cleanup_close)
	int fd = archived ? archive->fetch(archive->payload, path, &own)
	                  : open_installed(closure->linkage, path, &own);
	int code = fd < 0 ? fd : elf_file_open(fd, &file, &own), failure;

	if (code == 0)
		code = library_read(file, path, is_system, out, &own);
	if (code == 0)
		closure_spend(closure,
		              COST_OF_SYMBOL * ((*out)->export_count + (*out)->undefined_count) +
		                      (*out)->text / TEXT_OF_COST,
		              SLICE(""));
	closure->not_examined |= code == ERROR_LIMIT;
	failure = error_move_failure(closure->error, &own);
	return failure < 0 ? failure : code == 0;
}

/* Libraries in an archive live as long as the closure. */
static int find_archived(struct closure *closure, struct slice path, struct library **out)
{
	char text[PATH_MAX];
	int code;

	path_join(text, path, SLICE(""));
	path = slice_of(path_normalize(text)); /* archives have no links here */
	if (closure->own_count == LINKAGE_CLOSURE_MAX ||
	    !slice_starts(path, closure->archive->directory))
		return 0;
	code = read_library(closure, path, true, false, out);
	if (code > 0)
		closure->own[closure->own_count++] = *out;
	return code;
}

static int find_installed(struct closure *closure, struct slice path, bool is_system,
                          struct library **out)
{
	struct linkage *linkage = closure->linkage;
	uint32_t at = name_map_get(&linkage->by_path, path);
	bool failed;
	int code;

	if (at != NAME_MAP_NONE) {
		*out = linkage->libraries[at];
		return 1;
	}
	code = read_library(closure, path, false, is_system, out);
	if (code <= 0)
		return code;
	failed = !array_grow(&linkage->libraries, linkage->count, sizeof(struct library *),
	                     &linkage->room);
	if (!failed)
		name_map_put(&linkage->by_path, (*out)->path, (uint32_t)linkage->count, &failed);
	if (failed) {
		library_free(*out);
		return error_nomem(closure->error);
	}
	linkage->symbols += (*out)->export_count + (*out)->text / SHORT_NAME;
	linkage->libraries[linkage->count++] = *out;
	return 1;
}

/* --- searching by name --- */

/* The library at @path, shorter than PATH_MAX, if it is for the same machine. */
static int try_path(struct closure *closure, struct slice path, bool is_system,
                    struct library **out)
{
	const struct elf_header *user = &closure->libraries[0]->header, *header;
	struct library *found = NULL;
	int code;

	if (closure->tries++ >= LINKAGE_TRIES_MAX ||
	    !closure_spend(closure, COST_OF_TRY, SLICE(""))) {
		closure->not_examined = true;
		return 0;
	}
	code = closure->archive && slice_starts(path, closure->archive->directory)
	               ? find_archived(closure, path, &found)
	               : find_installed(closure, path, is_system, &found);
	if (code <= 0)
		return code;
	header = &found->header;
	if (!closure->any_machine &&
	    !(header->is_shared_object && header->machine == user->machine &&
	      header->elf_class == user->elf_class))
		return 0;
	*out = found;
	return 1;
}

static int try_in(struct closure *closure, struct slice directory, struct slice name,
                  bool is_system, struct library **out)
{
	char path[PATH_MAX];

	if (path_room(directory, name) > sizeof(path))
		return 0;
	return try_path(closure, path_join(path, directory, name), is_system, out);
}

/* The length of the token @name at the start of @text, which follows '$', as in glibc; 0: none. */
static size_t token_length(struct slice text, struct slice name)
{
	const bool is_braced = slice_starts(text, SLICE("{"));
	const size_t end = is_braced + name.len;
	const char next = end < text.len ? text.ptr[end] : '\0';

	if (!slice_starts(slice_from(text, is_braced), name))
		return 0;
	if (is_braced)
		return next == '}' ? end + 1 : 0;
	return isalnum((unsigned char)next) || next == '_' ? 0 : end;
}

bool linkage_expand(struct slice text, struct slice origin, char to[PATH_MAX], struct slice *out)
{
	char *at = to;

	while (text.len > 0) {
		struct slice rest = slice_from(text, 1), part = slice_first(text, 1);
		size_t token = 0;

		if (text.ptr[0] == '$') {
			if (token_length(rest, SLICE("LIB")) ||
			    token_length(rest, SLICE("PLATFORM")))
				return false;
			token = token_length(rest, SLICE("ORIGIN"));
		}
		if (token)
			part = origin;
		if (part.len >= (size_t)(to + PATH_MAX - at))
			return false;
		at = mempcpy(at, part.ptr, part.len);
		text = slice_from(rest, token);
	}
	*at = '\0';
	*out = slice_between(to, at);
	return true;
}

/* Take the next directory off @paths, skipping those that are unknown or relative. */
static bool next_path(struct slice *paths, struct slice origin, char to[PATH_MAX],
                      struct slice *out)
{
	while (paths->len > 0)
		if (linkage_expand(slice_take(paths, ':'), origin, to, out) && to[0] == '/')
			return true;
	return false;
}

/* Search the colon-separated directories @paths of @library. */
static int try_paths(struct closure *closure, struct slice paths, const struct library *library,
                     struct slice name, struct library **out)
{
	struct slice origin = path_directory(library->path), directory;
	char text[PATH_MAX];
	int code = 0;

	while (code == 0 && closure->tries < LINKAGE_TRIES_MAX &&
	       next_path(&paths, origin, text, &directory))
		code = try_in(closure, directory, name, library->is_system, out);
	return code;
}

/* RUNPATH applies to the library itself; RPATH, without RUNPATH, also to its dependencies. */
static int try_run_paths(struct closure *closure, size_t user, struct slice name,
                         struct library **out)
{
	const struct library *library = closure->libraries[user];
	int code = 0;

	if (library->single[ELF_RUNPATH].len)
		return try_paths(closure, library->single[ELF_RUNPATH], library, name, out);
	for (;;) {
		library = closure->libraries[user];
		if (library->single[ELF_RPATH].len && !library->single[ELF_RUNPATH].len)
			code = try_paths(closure, library->single[ELF_RPATH], library, name, out);
		if (code != 0 || user == 0)
			return code;
		user = closure->needed_by[user];
	}
}

/*
 * Search ld.so.cache, which is read on first use: most objects do not need it. An invalid file
 * counts as empty.
 */
static int try_cache(struct closure *closure, struct slice name, struct library **out)
{
	struct linkage *linkage = closure->linkage;
	struct slice path;
	int code = 0;

	if (!linkage->has_cache) {
		CLEANUP(cleanup_free) char *file = text_format("%s%s", linkage->sysroot, CACHE);
		size_t length = 0;

		code = file ? small_file_read(file, LD_CACHE_MAX, &linkage->cache_text, &length,
		                              closure->error)
		            : error_nomem(closure->error);
		if (code < 0)
			return code;
		if (code > 0)
			ld_cache_open((struct slice){linkage->cache_text, length}, &linkage->cache);
		linkage->has_cache = true;
		code = 0;
	}
	for (size_t at = 0; code == 0 && ld_cache_find(&linkage->cache, name, &at, &path);)
		code = path.len < PATH_MAX ? try_path(closure, path, true, out) : 0;
	return code;
}

int closure_find_system(struct closure *closure, struct slice name, struct library **out)
{
	int code = 0;

	if (slice_equal(name, SLICE(LINKAGE_MUSL))) {
		for (size_t i = 0; code == 0 && musl_linkers[i]; i++)
			code = try_path(closure, slice_of(musl_linkers[i]), true, out);
		return code;
	}
	code = try_cache(closure, name, out);
	for (size_t i = 0; code == 0 && directories[i]; i++)
		code = try_in(closure, slice_of(directories[i]), name, true, out);
	for (size_t i = 0; code == 0 && i < 2 * sizeof(triplets) / sizeof(*triplets); i++) {
		char directory[PATH_MAX];

		path_join(directory, slice_of(directories[2 + i % 2]), slice_of(triplets[i / 2]));
		code = try_in(closure, slice_of(directory), name, true, out);
	}
	return code ? code : try_in(closure, SLICE("/usr/local/lib"), name, true, out);
}

int closure_find(struct closure *closure, size_t user, struct slice name, struct library **out)
{
	const struct library *library = closure->libraries[user];
	char text[PATH_MAX];
	struct slice path;
	int code;

	if (memchr(name.ptr, '/', name.len)) /* a path */
		return linkage_expand(name, path_directory(library->path), text, &path) &&
		                       text[0] == '/'
		               ? try_path(closure, path, library->is_system, out)
		               : 0;
	code = try_run_paths(closure, user, name, out);
	if (code == 0)
		code = closure_find_system(closure, name, out);
	return code == 0 ? try_paths(closure, slice_of(closure->linkage->hosts), library, name, out)
	                 : code;
}

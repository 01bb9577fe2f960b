/*
 * linkage.c - see linkage.h. A closure is collected breadth first, as ld.so does, and
 * then asked for what is missing in it.
 */
#include "libquery/disk/linkage.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "libquery/disk/dotted.h"
#include "libquery/disk/ld_cache.h"
#include "libquery/disk/library.h"
#include "libquery/disk/small_file.h"

#define CACHE "/etc/ld.so.cache"

#define MUSL "libc.so"

/* The names of C libraries: glibc's, musl's on Alpine Linux, and musl's own. */
static const char *const c_libraries[] = {"libc.so.6", "libc.musl-x86_64.so.1",
                                          "libc.musl-aarch64.so.1", MUSL};

/* What musl's dynamic linker is installed as: it is the C library, too. */
static const char *const musl_linkers[] = {
        "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1",     "/lib/ld-musl-i386.so.1",
        "/lib/ld-musl-armhf.so.1",  "/lib/ld-musl-powerpc64le.so.1", "/lib/ld-musl-riscv64.so.1",
        "/lib/ld-musl-s390x.so.1",
};

/* The other parts of glibc, which hardly a program does without. */
static const char *const c_parts[] = {"libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"};

#define C_LIBRARY_COUNT (sizeof(c_libraries) / sizeof(*c_libraries))

struct linkage {
	char *sysroot; /* "" for none */
	char *hosts;   /* directories, a colon between two, or NULL; see linkage_add_host() */
	char *cache_text;
	struct ld_cache cache; /* empty where there is none */
	struct library **libraries;
	size_t count, room, symbols;
	struct name_map by_path; /* absolute path -> index in libraries */
	bool has_cache;          /* it has been read, or is not there */
	bool has_libc, looked_for_libc;
};

/* One object with all the libraries that would be loaded along. */
struct closure {
	struct linkage *linkage;
	const struct linkage_archive *archive;
	struct library *libraries[LINKAGE_CLOSURE_MAX];
	size_t needed_by[LINKAGE_CLOSURE_MAX];
	size_t count;
	struct library_names missing;             /* borrowed texts */
	struct library *own[LINKAGE_CLOSURE_MAX]; /* not in the linkage's memory */
	size_t own_count;
	size_t tries, lookups; /* so far; see LINKAGE_TRIES_MAX */
	bool not_examined;     /* some library was not read: too large, or there are too many */
	bool any_machine;      /* a library will do that is not for the object's machine */
	struct error *error;
};

/* --- a memory of libraries --- */

/* At first need: most objects ask for none. What is no cache is none: there are the directories. */
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
	CLEANUP(cleanup_free) char *image = NULL;
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	struct elf_image fetched = {.size = 0};
	struct error own = {0};
	int code = archive->fetch(archive->payload, path, &fetched, &own);

	image = (char *)fetched.bytes.ptr;
	if (code == 0)
		code = elf_file_open_memory(fetched.bytes, &file, &own);
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
	uint32_t at;
	int code;

	if (closure->tries++ >= LINKAGE_TRIES_MAX) {
		closure->not_examined = true;
		return 0;
	}
	if (closure->archive && slice_starts(path, closure->archive->directory))
		return find_archived(closure, path, out);
	at = name_map_get(&linkage->by_path, path);
	if (at != NAME_MAP_NONE) {
		*out = linkage->libraries[at];
		return 1;
	}
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

static struct slice directory_of(struct slice path)
{
	const char *slash = memrchr(path.ptr, '/', path.len);

	return slash ? slice_between(path.ptr, slash) : SLICE("");
}

/*
 * An entry of RPATH or RUNPATH, with $ORIGIN replaced, put into @to. False for what leads
 * nowhere that is known here: other tokens, and paths relative to where the process is.
 */
static bool expand(struct slice entry, struct slice origin, char to[PATH_MAX], struct slice *out)
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

/* In the directories of @paths, a colon between two, which stand in @library. */
static int try_paths(struct closure *closure, struct slice paths, const struct library *library,
                     struct slice name, struct library **out)
{
	struct slice origin = directory_of(library->path), directory;
	char text[PATH_MAX];
	int code = 0;

	while (code == 0 && paths.len > 0 && closure->tries < LINKAGE_TRIES_MAX) {
		const char *colon = memchr(paths.ptr, ':', paths.len);
		struct slice entry = colon ? slice_between(paths.ptr, colon) : paths;

		paths = slice_from(paths, entry.len + (colon != NULL));
		if (expand(entry, origin, text, &directory))
			code = try_in(closure, directory, name, library->is_system, out);
	}
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
static int try_system(struct closure *closure, struct slice name, struct library **out)
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

	if (slice_equal(name, SLICE(MUSL)))
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

	if (!expand(name, directory_of(library->path), text, &path))
		return 0;
	return try_path(closure, path, library->is_system, out);
}

static int find(struct closure *closure, size_t user, struct slice name, struct library **out)
{
	int code;

	if (memchr(name.ptr, '/', name.len))
		return try_named_path(closure, user, name, out);
	code = try_run_paths(closure, user, name, out);
	if (code == 0)
		code = try_system(closure, name, out);
	if (code == 0 && closure->linkage->hosts)
		code = try_paths(closure, slice_of(closure->linkage->hosts),
		                 closure->libraries[user], name, out);
	return code;
}

/* --- the closure --- */

static struct slice base_name(struct slice path)
{
	const char *slash = memrchr(path.ptr, '/', path.len);

	return slash ? slice_from(path, (size_t)(slash - path.ptr) + 1) : path;
}

/* The library of that name, or at that path, which is to be loaded anyway; NULL: none is. */
static struct library *find_loaded(const struct closure *closure, struct slice name)
{
	for (size_t i = 0; i < closure->count; i++) {
		struct library *library = closure->libraries[i];

		if (slice_equal(library->soname, name) ||
		    slice_equal(base_name(library->path), name) || slice_equal(library->path, name))
			return library;
	}
	return NULL;
}

static bool has_name(const struct library_names *names, struct slice name)
{
	for (size_t i = 0; i < names->count; i++)
		if (slice_equal(names->items[i], name))
			return true;
	return false;
}

/* Once each, and the first few: a list of hundreds tells no more. */
static int tell(struct closure *closure, struct library_names *names, struct slice name)
{
	if (names->count >= LINKAGE_TOLD_MAX || has_name(names, name))
		return 0;
	if (!array_grow(&names->items, names->count, sizeof(*names->items), &names->room))
		return error_nomem(closure->error);
	names->items[names->count++] = name;
	return 0;
}

static void add_library(struct closure *closure, size_t user, struct library *library)
{
	if (closure->count == LINKAGE_CLOSURE_MAX) {
		closure->not_examined = true;
		return;
	}
	closure->needed_by[closure->count] = user;
	closure->libraries[closure->count++] = library;
}

static int add_needed(struct closure *closure, size_t user, struct slice name)
{
	struct library *found;
	int code;

	if (find_loaded(closure, name))
		return 0;
	if (closure->count == LINKAGE_CLOSURE_MAX) {
		closure->not_examined = true;
		return 0;
	}
	code = find(closure, user, name, &found);
	if (code == 0)
		return tell(closure, &closure->missing, name);
	if (code < 0)
		return code;
	if (!find_loaded(closure, found->path))
		add_library(closure, user, found);
	return 0;
}

static int collect(struct closure *closure)
{
	int code = 0;

	for (size_t i = 0; i < closure->count; i++) {
		const struct library *library = closure->libraries[i];

		for (size_t j = 0; code == 0 && j < library->needed.count; j++)
			code = add_needed(closure, i, library->needed.items[j]);
	}
	return code;
}

/* --- this machine --- */

/* One of the C libraries: 1, 0 for none, or a failure. */
static int find_libc(struct closure *closure, struct library **out)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < C_LIBRARY_COUNT; i++)
		code = try_system(closure, slice_of(c_libraries[i]), out);
	return code;
}

/* Does this machine have a C library at all, for whatever processor? */
static int look_for_libc(struct closure *closure)
{
	struct linkage *linkage = closure->linkage;
	struct library *found;
	int code;

	if (linkage->looked_for_libc)
		return 0;
	closure->any_machine = true;
	code = find_libc(closure, &found);
	closure->any_machine = false;
	linkage->has_libc = code > 0;
	linkage->looked_for_libc = code >= 0;
	return code < 0 ? code : 0;
}

static struct library *loaded_libc(const struct closure *closure)
{
	struct library *libc = NULL;

	for (size_t i = 0; !libc && i < C_LIBRARY_COUNT; i++)
		libc = find_loaded(closure, slice_of(c_libraries[i]));
	return libc;
}

/* 1, or a failure. What is not there was merged into the C library itself. */
static int add_parts(struct closure *closure)
{
	struct library *part;
	int code = 0;

	for (size_t i = 0; code >= 0 && i < sizeof(c_parts) / sizeof(*c_parts); i++) {
		struct slice name = slice_of(c_parts[i]);

		if (find_loaded(closure, name))
			continue;
		code = try_system(closure, name, &part);
		if (code > 0)
			add_library(closure, 0, part);
	}
	return code < 0 ? code : 1;
}

/*
 * The C library for the object, part of any program. 1: it is known; 0: there is none for
 * it, and *is_foreign says whether for others; or a failure.
 */
static int add_libc(struct closure *closure, bool *is_foreign)
{
	struct library *libc;
	int code;

	if (loaded_libc(closure))
		return add_parts(closure);
	code = find_libc(closure, &libc);
	if (code > 0)
		add_library(closure, 0, libc);
	if (code != 0)
		return code < 0 ? code : add_parts(closure);
	code = look_for_libc(closure);
	*is_foreign = closure->linkage->has_libc;
	return code;
}

/* --- what is missing in it --- */

/* When there have been too many look-ups, it is not known what is given. */
static bool is_given(struct closure *closure, struct slice symbol)
{
	closure->lookups += closure->count;
	if (closure->lookups > LINKAGE_LOOKUPS_MAX) {
		closure->not_examined = true;
		return true;
	}
	for (size_t i = 0; i < closure->count; i++)
		if (library_exports(closure->libraries[i], symbol))
			return true;
	return false;
}

/* What nothing gives of what @index needs. */
static int judge_symbols(struct closure *closure, size_t index, struct library_names *undefined,
                         struct linkage_report *report)
{
	const struct library *library = closure->libraries[index];
	int code = 0;

	for (size_t i = 0; code == 0 && i < library->undefined.count; i++) {
		struct slice symbol = library->undefined.items[i];

		if (is_given(closure, symbol))
			continue;
		if (!elf_is_python(symbol)) {
			code = tell(closure, undefined, symbol);
		} else if (!report->needs_python) {
			report->needs_python = true;
			if (index > 0)
				report->python_by = base_name(library->path);
		}
	}
	return code;
}

/* Is the library of @wanted there, and without that version? */
static bool lacks_version(const struct closure *closure, const struct library_version *wanted)
{
	const struct library *library = find_loaded(closure, wanted->library);

	return library && library->defined.count && !library_defines(library, wanted->version);
}

/* "2.34" of GLIBC_2.34; null for other names, such as GLIBC_PRIVATE. */
static struct slice version_of(struct slice name, struct slice prefix)
{
	struct slice rest;

	if (!slice_starts(name, prefix))
		return (struct slice){0};
	rest = slice_from(name, prefix.len);
	for (size_t i = 0; i < rest.len; i++)
		if (rest.ptr[i] != '.' && (rest.ptr[i] < '0' || rest.ptr[i] > '9'))
			return (struct slice){0};
	return rest.len ? rest : (struct slice){0};
}

static void note_newest(struct slice version, struct slice *newest)
{
	if (version.len && (slice_is_null(*newest) || dotted_is_newer(version, *newest)))
		*newest = version;
}

static int judge_versions(struct closure *closure, const struct library *library,
                          struct linkage_report *report)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < library->wanted_count; i++) {
		const struct library_version *wanted = &library->wanted[i];

		if (!library->is_system) {
			note_newest(version_of(wanted->version, SLICE("GLIBC_")), &report->glibc);
			note_newest(version_of(wanted->version, SLICE("GLIBCXX_")),
			            &report->glibcxx);
		}
		if (lacks_version(closure, wanted))
			code = tell(closure, &closure->missing, wanted->version);
	}
	return code;
}

/* --- the report --- */

static struct slice join(const struct library_names *names, struct arena *arena, bool *failed)
{
	size_t length = 0;
	char *text, *at;

	if (names->count == 0)
		return (struct slice){0};
	for (size_t i = 0; i < names->count; i++)
		length += names->items[i].len + 1;
	text = at = arena_alloc(arena, length);
	if (!text) {
		*failed = true;
		return (struct slice){0};
	}
	for (size_t i = 0; i < names->count; i++) {
		memcpy(at, names->items[i].ptr, names->items[i].len);
		at += names->items[i].len;
		*at++ = ' ';
	}
	at[-1] = '\0';
	return slice_between(text, at - 1);
}

static int finish(const struct closure *closure, const struct library_names *undefined,
                  struct arena *arena, struct linkage_report *report)
{
	bool failed = false;

	report->glibc = arena_copy(arena, report->glibc, &failed);
	report->glibcxx = arena_copy(arena, report->glibcxx, &failed);
	report->python_by = arena_copy(arena, report->python_by, &failed);
	report->missing = join(&closure->missing, arena, &failed);
	if (closure->missing.count == 0) /* else whatever it would have given is undefined, too */
		report->undefined = join(undefined, arena, &failed);
	return failed ? error_nomem(closure->error) : 0;
}

static int judge(struct closure *closure, struct library_names *undefined,
                 struct linkage_report *report)
{
	int code = collect(closure), has_libc = 0;

	if (code == 0)
		has_libc = code = add_libc(closure, &report->is_foreign);
	for (size_t i = 0; code >= 0 && i < closure->count; i++) {
		code = judge_versions(closure, closure->libraries[i], report);
		if (code == 0)
			code = judge_symbols(closure, i, undefined, report);
	}
	report->not_examined = closure->not_examined;
	if (code == 0 && (has_libc == 0 || report->not_examined)) /* not known what there is */
		closure->missing.count = undefined->count = 0;
	return code < 0 ? code : 0;
}

int linkage_judge(struct linkage *linkage, struct elf_file *file, struct slice path,
                  const struct linkage_archive *archive, struct arena *arena,
                  struct linkage_report *out, struct error *error)
{
	CLEANUP(cleanup_free) struct closure *closure = calloc(1, sizeof(*closure));
	struct library_names undefined = {0};
	struct linkage_report report = {0};
	int code;

	if (!closure)
		return error_nomem(error);
	closure->linkage = linkage;
	closure->archive = archive;
	closure->error = error;
	if (linkage->symbols > LINKAGE_SYMBOLS_MAX)
		forget_libraries(linkage);
	code = library_read(file, path, false, &closure->own[0], error);
	if (code == 0) {
		closure->own_count = closure->count = 1;
		closure->libraries[0] = closure->own[0];
		code = judge(closure, &undefined, &report);
	}
	if (code == 0)
		code = finish(closure, &undefined, arena, &report);
	for (size_t i = 0; i < closure->own_count; i++)
		library_free(closure->own[i]);
	free(closure->missing.items);
	free(undefined.items);
	if (code == 0)
		*out = report;
	return code;
}

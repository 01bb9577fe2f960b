/*
 * import_path.c - the path rules of Python's import, defined only here.
 *
 * A package comes before a module, and within each an extension before a .py before a .pyc, the
 * suffix of one interpreter before .abi3.so before .so; last a directory without __init__. RECORD
 * is searched first. If it is missing, or the module belongs to another distribution, the
 * directories are listed, since some suffixes cannot be guessed.
 */
#include "libquery/disk/target/import_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "libquery/disk/elf/object_name.h"

#define CACHED_NAMES_MAX ((size_t)1 << 20) /* names; beyond, the cache is emptied */

/* The preference of import: the first of these wins. */
enum rank {
	RANK_TAGGED, /* .cpython-XY-<triplet>.so */
	RANK_ABI3,   /* .abi3.so */
	RANK_PLAIN,  /* .so */
	RANK_HOST,   /* a host's own suffix */
	RANK_PYTHON, /* .py */
	RANK_BYTES,  /* .pyc without a .py */
	RANK_NONE,
};

/* The part after the module's name and its dot. */
struct suffix {
	enum rank rank;
	bool is_second;      /* within its rank: a debug or free-threaded build, or .so.0.9.0 */
	struct slice number; /* version of the interpreter or library: the newest wins */
	struct slice text;   /* the tie-breaker */
};

/* A search for one module. */
struct search {
	const struct import_site *site;
	bool by_host; /* for a host other than Python */
	struct arena *arena;
	struct error *error;
	struct suffix suffix; /* of the best file so far */
	struct wheel_file file;
	size_t length; /* of the path under construction */
	char text[PATH_MAX];
};

/* --- paths --- */

static struct slice path_of(const struct search *search)
{
	return (struct slice){search->text, search->length};
}

/* Leaves room for a NUL. */
static bool add_text(struct search *search, struct slice s)
{
	if (s.len >= sizeof(search->text) - search->length)
		return false;
	memcpy(search->text + search->length, s.ptr, s.len);
	search->length += s.len;
	return true;
}

/* Rejected, so that a value such as "a/../../b" cannot leave the path entry. */
static const char stray[] = "/\0\n\",";

#define INIT "/__init__."

/*
 * Convert a.b.c to a/b/c. False for an empty part, a rejected byte, or without room for INIT: what
 * is not looked for in its directory is not known to be visible to readers.
 */
static bool add_module(struct search *search, struct slice module)
{
	bool begins = true; /* a part */

	if (module.len == 0 || module.len + sizeof(INIT) > sizeof(search->text) ||
	    !add_text(search, module))
		return false;
	for (size_t i = 0; i < search->length; i++) {
		bool dot = search->text[i] == '.';

		if (memchr(stray, search->text[i], sizeof(stray) - 1) || (dot && begins))
			return false;
		if (dot)
			search->text[i] = '/';
		begins = dot;
	}
	return !begins;
}

/* --- suffixes --- */

/* Parse XY of cpython-XY-<triplet>.so, which has no other dot. */
static void read_tag(struct slice text, struct suffix *suffix)
{
	const struct slice cpython = SLICE("cpython-"), so = SLICE(".so");
	const char *dash;
	size_t i = 0;

	if (!slice_starts(text, cpython) || !slice_ends(text, so))
		return;
	text = slice_from(slice_first(text, text.len - so.len), cpython.len);
	dash = memchr(text.ptr, '-', text.len);
	if (!dash || memchr(text.ptr, '.', text.len))
		return;
	while (text.ptr + i < dash && i < 4 && text.ptr[i] >= '0' && text.ptr[i] <= '9')
		i++;
	suffix->number = slice_first(text, i);
	suffix->is_second = text.ptr + i < dash;
	suffix->rank = RANK_TAGGED;
}

/* @by_host: only suffixes that import would not accept (object_name.h). */
static struct suffix read_suffix(struct slice text, bool by_host)
{
	static const char *const known[2][RANK_NONE] = {
	        {[RANK_ABI3] = "abi3.so",
	         [RANK_PLAIN] = "so",
	         [RANK_PYTHON] = "py",
	         [RANK_BYTES] = "pyc"},
	        {[RANK_PLAIN] = "so", [RANK_HOST] = OBJECT_NAME_OTHER},
	};
	struct suffix suffix = {.rank = RANK_NONE, .text = text};

	for (unsigned rank = RANK_ABI3; rank < RANK_NONE; rank++)
		if (known[by_host][rank] && slice_equal(text, slice_of(known[by_host][rank])))
			suffix.rank = rank;
	if (!by_host) {
		read_tag(text, &suffix);
	} else if (slice_starts(text, SLICE("so.")) && dotted_is(slice_from(text, 3))) {
		suffix.is_second = true;
		suffix.number = slice_from(text, 3);
		suffix.rank = RANK_PLAIN;
	}
	return suffix;
}

/* Of several interpreters the newest wins; the order of the listing never matters. */
static bool is_better(const struct suffix *a, const struct suffix *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->is_second != b->is_second)
		return b->is_second;
	if (dotted_is_newer(a->number, b->number) || dotted_is_newer(b->number, a->number))
		return dotted_is_newer(a->number, b->number);
	return slice_compare(a->text, b->text) < 0;
}

static bool is_wanted(const struct search *search, struct slice text, struct suffix *out)
{
	*out = read_suffix(text, search->by_host);
	return out->rank < RANK_NONE && is_better(out, &search->suffix);
}

/* --- by RECORD --- */

/* Choose among the files whose path is the current one, which ends in a dot, and a suffix. */
static void choose_in_record(struct search *search)
{
	struct slice prefix = path_of(search);
	struct wheel_file file;
	struct suffix suffix;

	for (size_t at = 0; wheel_record_find(&search->site->record, prefix, &at, &file);) {
		if (!is_wanted(search, slice_from(file.path, prefix.len), &suffix))
			continue;
		search->suffix = suffix;
		search->file = file;
	}
}

/* --- directory listings --- */

static void forget_directories(struct import_cache *cache)
{
	for (size_t i = 0; i < cache->count; i++)
		path_index_free(&cache->directories[i]);
	name_map_free(&cache->by_path);
	arena_free(&cache->arena);
	cache->count = cache->names = 0;
}

void import_cache_free(struct import_cache *cache)
{
	forget_directories(cache);
	free(cache->directories);
	*cache = (struct import_cache){0};
}

/* Names are published, too: 1; 0: some readers cannot list the directory; or a failure. */
static int list_names(const struct import_site *site, const char *directory, struct path_index *out,
                      struct error *error)
{
	CLEANUP(cleanup_closedir)
	DIR *opened = file_open_directory_for(site->readers, site->fd, directory);
	bool is_withheld = !opened && errno == EACCES && site->readers.mode;
	int code;

	if (is_withheld && site->withheld)
		*site->withheld = true;
	if (is_withheld)
		return 0;
	code = path_index_list(out, opened, directory, NULL, &site->cache->arena, error);
	return code < 0 ? code : 1;
}

int import_names(const struct import_site *site, struct slice path, const struct path_index **out,
                 struct error *error)
{
	struct import_cache *cache = site->cache;
	struct slice where = path.len ? path : SLICE(".");
	uint32_t at = name_map_get(&cache->by_path, where);
	static const struct path_index nothing;
	struct path_index names = {0};
	bool failed = false;
	int code;

	if (at == NAME_MAP_NONE) {
		if (cache->names > CACHED_NAMES_MAX)
			forget_directories(cache);
		at = (uint32_t)cache->count;
		where = arena_copy(&cache->arena, where, &failed);
		failed |= !array_grow(&cache->directories, at, sizeof(names), &cache->room);
		code = failed ? error_nomem(error) : list_names(site, where.ptr, &names, error);
		if (code == 0) {
			*out = &nothing;
			return 0;
		}
		if (code > 0)
			name_map_put(&cache->by_path, where, at, &failed);
		if (code < 0 || failed) {
			path_index_free(&names);
			return code < 0 ? code : error_nomem(error);
		}
		cache->names += names.count + 1;
		cache->directories[cache->count++] = names;
	}
	*out = &cache->directories[at];
	return 0;
}

/* --- by the directory --- */

/*
 * file_status() for what is published: whether a link leads to anything, and to what, only if all
 * readers can see it.
 */
static int status_for_readers(const struct import_site *site, const char *path, struct stat *status,
                              struct error *error)
{
	CLEANUP(cleanup_close) int link = file_open(site->fd, path, O_PATH | O_NOFOLLOW);
	CLEANUP(cleanup_close) int fd = -1;

	if (link >= 0 && fstat(link, status) == 0) {
		if (!S_ISLNK(status->st_mode))
			return 1;
		fd = file_open_for(site->readers, site->fd, path);
		if (fd < 0 && errno == EACCES && site->withheld)
			*site->withheld = true;
		if (fd >= 0 && fstat(fd, status) == 0)
			return 1;
	}
	return errno_is_failure(errno) ? error_errno(error, errno, "%s", path) : 0;
}

/* 1: the file at the current path has this type; 0: not; or a failure. */
static int is_of_kind(struct search *search, mode_t kind)
{
	const struct import_site *site = search->site;
	struct stat status;
	int found;

	search->text[search->length] = '\0';
	found = site->readers.mode ? status_for_readers(site, search->text, &status, search->error)
	                           : file_status(site->fd, search->text, &status, search->error);
	return found <= 0 ? found : (status.st_mode & S_IFMT) == kind;
}

/* Choose the file at the current path plus @text, if import prefers it. */
static int consider(struct search *search, struct slice text)
{
	size_t length = search->length;
	bool failed = false;
	struct suffix suffix;
	int code;

	if (!is_wanted(search, text, &suffix) || !add_text(search, text))
		return 0;
	code = is_of_kind(search, S_IFREG);
	if (code > 0) {
		struct slice path = arena_copy(search->arena, path_of(search), &failed);

		search->suffix = suffix;
		search->file = (struct wheel_file){.path = path, .spelled = path};
	}
	search->length = length;
	return failed ? error_nomem(search->error) : code < 0 ? code : 0;
}

/* Choose among the names that start with the last component of the path. */
static int choose_in_directory(struct search *search)
{
	struct slice prefix = path_of(search), base = path_base(prefix);
	const struct path_index *names;
	const struct slice *name;
	size_t at = 0;
	int code;

	if (search->site->fd < 0)
		return 0;
	code = import_names(search->site, path_directory(prefix), &names, search->error);
	while (code == 0 && (name = path_index_next(names, base, SLICE(""), &at)) != NULL)
		code = consider(search, slice_from(*name, base.len));
	return code;
}

/* --- both, in import's order --- */

/* 1: found a file whose path is the current one, @end and a suffix; 0: none; or a failure. */
static int choose(struct search *search, bool in_record, struct slice end)
{
	size_t length = search->length;
	int code = 0;

	search->suffix = (struct suffix){.rank = RANK_NONE};
	if (!add_text(search, end))
		return 0;
	if (in_record)
		choose_in_record(search);
	else
		code = choose_in_directory(search);
	search->length = length;
	return code < 0 ? code : search->suffix.rank < RANK_NONE;
}

/* A directory without __init__ is a package too; in an archive, if RECORD lists files in it. */
static int find_namespace(struct search *search, struct import_file *out)
{
	struct wheel_file file;
	size_t at = 0, length = search->length;
	bool failed = false;
	int code = 0;

	if (search->site->fd >= 0)
		code = is_of_kind(search, S_IFDIR);
	else if (add_text(search, SLICE("/")))
		code = wheel_record_find(&search->site->record, path_of(search), &at, &file);
	search->length = length;
	if (code <= 0)
		return code;
	out->is_package = true;
	out->file.path = arena_copy(search->arena, path_of(search), &failed);
	return failed ? error_nomem(search->error) : 0;
}

int import_find(const struct import_site *site, struct slice module, struct arena *arena,
                struct import_file *out, struct error *error)
{
	const struct slice ends[] = {SLICE(INIT), SLICE(".")};
	struct search search = {.site = site, .arena = arena, .error = error};
	struct import_file found = {0};
	int code = 0;

	if (!add_module(&search, module)) {
		*out = found;
		return 0;
	}
	for (size_t i = 0; code == 0 && i < 4; i++) {
		code = choose(&search, i < 2, ends[i % 2]);
		found.is_package = code > 0 && i % 2 == 0;
	}
	found.file = search.file;
	found.is_object = search.suffix.rank < RANK_PYTHON;
	if (code == 0)
		code = find_namespace(&search, &found);
	if (code >= 0)
		*out = found;
	return code < 0 ? code : 0;
}

/* --- libraries for a host other than Python --- */

/* Convert a/b to a/libb. False if the path is too long. */
static bool add_lib(struct search *search)
{
	size_t at = search->length - path_base(path_of(search)).len;

	if (!add_text(search, SLICE("lib")))
		return false;
	memmove(search->text + at + 3, search->text + at, search->length - at - 3);
	memcpy(search->text + at, "lib", 3);
	return true;
}

int import_find_library(const struct import_site *site, struct slice module, struct arena *arena,
                        struct import_file *out, struct error *error)
{
	struct search search = {.site = site, .by_host = true, .arena = arena, .error = error};
	bool is_sound = add_module(&search, module);
	int code = 0;

	for (size_t i = 0; is_sound && code == 0 && i < 4; i++) {
		is_sound = i != 2 || add_lib(&search);
		if (is_sound)
			code = choose(&search, i % 2 == 0, SLICE("."));
	}
	if (code >= 0)
		*out = (struct import_file){.file = search.file, .is_object = code > 0};
	return code < 0 ? code : 0;
}

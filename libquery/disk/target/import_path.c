/*
 * import_path.c - see import_path.h. The path rules stand here and nowhere else.
 *
 * They are those of Python's own import: a package before a module, and within
 * each an extension before a .py before a .pyc, the suffix of one interpreter before
 * .abi3.so before .so; last a package that is a mere directory. RECORD is asked first.
 * Where it is absent, or does not list the module because another distribution
 * brings it, the directories are read: some suffixes cannot be guessed.
 */
#include "libquery/disk/target/import_path.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "libquery/disk/elf/dotted.h"
#include "libquery/disk/elf/object_name.h"

#define CACHED_NAMES_MAX ((size_t)1 << 20) /* names of files; beyond, all are forgotten */

/* A path while it is put together, the suffix last; text ends in a NUL. */
struct stem {
	size_t length;
	char text[PATH_MAX];
};

/* How much import prefers a file: the first of these wins. */
enum rank {
	RANK_TAGGED, /* .cpython-XY-<triplet>.so */
	RANK_ABI3,   /* .abi3.so */
	RANK_PLAIN,  /* .so */
	RANK_HOST,   /* one that only a host knows */
	RANK_PYTHON, /* .py */
	RANK_BYTES,  /* .pyc, which needs no .py */
	RANK_NONE,
};

/* Who would take a file. */
enum taker { BY_IMPORT, BY_HOST };

/* What stands behind the module's name and its dot. */
struct suffix {
	enum rank rank;
	unsigned version;  /* XY */
	bool is_numbered;  /* .so.0.9.0 */
	bool special;      /* XY is followed by letters: a debug or free-threaded build */
	struct slice text; /* decides between what is otherwise equal */
};

struct choice {
	enum taker taker;
	struct suffix suffix;
	struct wheel_file file;
};

/* --- paths --- */

static struct slice stem_slice(const struct stem *stem)
{
	return (struct slice){stem->text, stem->length};
}

static bool stem_add(struct stem *stem, struct slice s)
{
	if (s.len >= sizeof(stem->text) - stem->length)
		return false;
	memcpy(stem->text + stem->length, s.ptr, s.len);
	stem->length += s.len;
	stem->text[stem->length] = '\0';
	return true;
}

static void stem_cut(struct stem *stem, size_t length)
{
	stem->length = length;
	stem->text[length] = '\0';
}

/* Without this, a value such as "a/../../b" would lead out of the path entry. */
static bool is_stray(char c)
{
	return c == '/' || c == '\0' || c == '\n' || c == '"' || c == ',';
}

/* a.b.c becomes a/b/c. False for what import would not take: an empty part, a stray byte. */
static bool stem_of_module(struct slice module, struct stem *out)
{
	bool begins = true; /* a part */

	stem_cut(out, 0);
	if (module.len == 0 || !stem_add(out, module))
		return false;
	for (size_t i = 0; i < out->length; i++) {
		bool dot = out->text[i] == '.';

		if (is_stray(out->text[i]) || (dot && begins))
			return false;
		if (dot)
			out->text[i] = '/';
		begins = dot;
	}
	return !begins;
}

/* --- suffixes --- */

/* XY of cpython-XY-<triplet>. */
static void read_tag(struct slice tag, struct suffix *suffix)
{
	const char *dash = tag.len ? memchr(tag.ptr, '-', tag.len) : NULL;
	size_t i = 0;

	if (!dash || memchr(tag.ptr, '.', tag.len))
		return;
	tag = slice_between(tag.ptr, dash);
	for (; i < tag.len && i < 4 && tag.ptr[i] >= '0' && tag.ptr[i] <= '9'; i++)
		suffix->version = 10 * suffix->version + (unsigned)(tag.ptr[i] - '0');
	suffix->special = i < tag.len;
	suffix->rank = RANK_TAGGED;
}

static struct suffix read_suffix_of_import(struct slice text)
{
	const struct slice cpython = SLICE("cpython-"), so = SLICE(".so");
	struct suffix suffix = {.rank = RANK_NONE, .text = text};

	if (slice_equal(text, SLICE("py")))
		suffix.rank = RANK_PYTHON;
	else if (slice_equal(text, SLICE("pyc")))
		suffix.rank = RANK_BYTES;
	else if (slice_equal(text, SLICE("so")))
		suffix.rank = RANK_PLAIN;
	else if (slice_equal(text, SLICE("abi3.so")))
		suffix.rank = RANK_ABI3;
	else if (slice_starts(text, cpython) && slice_ends(text, so))
		read_tag(slice_from(slice_first(text, text.len - so.len), cpython.len), &suffix);
	return suffix;
}

/* Those of object_name.h; what import would take has been looked for before. */
static struct suffix read_suffix_of_host(struct slice text)
{
	struct suffix suffix = {.rank = RANK_NONE, .text = text};
	const char *const *other = object_name_others;

	if (slice_equal(text, SLICE("so")) || slice_starts(text, SLICE("so."))) {
		suffix.rank = RANK_PLAIN;
		suffix.is_numbered = text.len > 2;
		for (size_t i = 2; i < text.len; i++)
			if (text.ptr[i] != '.' && (text.ptr[i] < '0' || text.ptr[i] > '9'))
				suffix.rank = RANK_NONE;
		return suffix;
	}
	for (; *other; other++)
		if (slice_equal(text, slice_of(*other)))
			suffix.rank = RANK_HOST;
	return suffix;
}

static struct suffix read_suffix(enum taker taker, struct slice text)
{
	return taker == BY_HOST ? read_suffix_of_host(text) : read_suffix_of_import(text);
}

/* Of several interpreters the newest; the order of listing never matters. */
static bool is_better(const struct suffix *a, const struct suffix *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->special != b->special)
		return b->special;
	if (a->version != b->version)
		return a->version > b->version;
	if (a->is_numbered != b->is_numbered)
		return b->is_numbered;
	if (a->is_numbered && dotted_is_newer(slice_from(a->text, 3), slice_from(b->text, 3)))
		return true;
	if (a->is_numbered && dotted_is_newer(slice_from(b->text, 3), slice_from(a->text, 3)))
		return false;
	return slice_compare(a->text, b->text) < 0;
}

/* --- by RECORD --- */

/* Choose among the files whose path is @prefix, which ends in a dot, and a suffix. */
static void choose_in_record(const struct import_site *site, struct slice prefix,
                             struct choice *best)
{
	struct wheel_file file;

	for (size_t at = 0; wheel_record_find(&site->record, prefix, &at, &file);) {
		struct slice text = slice_from(file.path, prefix.len);
		struct suffix suffix = read_suffix(best->taker, text);

		if (suffix.rank < RANK_NONE && is_better(&suffix, &best->suffix)) {
			best->suffix = suffix;
			best->file = file;
		}
	}
}

/* --- by the directory --- */

int import_open_directory(const struct import_site *site, const char *path, DIR **out,
                          struct error *error)
{
	*out = NULL;
	if (site->fd < 0)
		return 0;
	*out = file_open_directory(site->fd, path[0] ? path : ".");
	return !*out && errno_is_failure(errno) ? error_errno(error, errno, "%s", path) : 0;
}

/* --- the cache --- */

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

static int read_names(struct import_cache *cache, DIR *directory, struct path_index *names,
                      struct error *error)
{
	const char *child;
	bool failed = false;
	int left = 1;

	while (!failed && (left = file_next(directory, &child)) > 0) {
		struct slice name = arena_copy(&cache->arena, slice_of(child), &failed);

		failed = failed || !path_index_add(names, name);
	}
	if (left < 0)
		return error_errno(error, errno, "cannot list");
	path_index_sort(names);
	cache->names += names->count;
	return failed ? error_nomem(error) : 0;
}

/* Have one more directory in the cache; false without memory. */
static bool add_directory(struct import_cache *cache, struct slice path)
{
	bool failed = false;

	if (!array_grow(&cache->directories, cache->count, sizeof(*cache->directories),
	                &cache->room))
		return false;
	path = arena_copy(&cache->arena, path, &failed);
	if (!failed)
		name_map_put(&cache->by_path, path, (uint32_t)cache->count, &failed);
	if (!failed)
		cache->directories[cache->count++] = (struct path_index){0};
	return !failed;
}

/* The names in @directory, which is at @path. What was read in part is forgotten. */
static int names_in(struct import_cache *cache, struct slice path, DIR *directory,
                    const struct path_index **out, struct error *error)
{
	uint32_t at = name_map_get(&cache->by_path, path);
	int code = 0;

	if (at == NAME_MAP_NONE && cache->names > CACHED_NAMES_MAX)
		forget_directories(cache);
	if (at == NAME_MAP_NONE) {
		if (!add_directory(cache, path))
			return error_nomem(error);
		at = (uint32_t)cache->count - 1;
		code = read_names(cache, directory, &cache->directories[at], error);
	}
	if (code < 0)
		forget_directories(cache);
	else
		*out = &cache->directories[at];
	return code;
}

/* --- what is in one directory --- */

struct listing {
	const struct import_site *site;
	struct slice prefix, base; /* of paths, and of the names in the directory */
	int fd;
	struct arena *arena;
	struct choice *best;
	struct error *error;
};

/* 1: it is a file of that kind; 0: it is not; or a failure. */
static int is_of_kind(int directory, const char *path, mode_t kind, struct error *error)
{
	struct stat status;
	int found = file_status(directory, path, &status, error);

	return found <= 0 ? found : (status.st_mode & S_IFMT) == kind;
}

static int is_file(const struct listing *listing, struct slice name)
{
	char text[NAME_MAX + 1];

	if (name.len >= sizeof(text))
		return 0;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	return is_of_kind(listing->fd, text, S_IFREG, listing->error);
}

/* Open the directory in which the prefix lies; the base becomes the rest of the prefix. */
static int open_parent(struct listing *listing, DIR **out)
{
	struct slice prefix = listing->prefix;
	const char *slash = memrchr(prefix.ptr, '/', prefix.len);
	struct stem parent;

	stem_cut(&parent, 0);
	if (slash) {
		listing->base = slice_from(prefix, (size_t)(slash - prefix.ptr) + 1);
		stem_add(&parent, slice_between(prefix.ptr, slash));
	}
	return import_open_directory(listing->site, parent.text, out, listing->error);
}

static int keep(const struct listing *listing, struct suffix suffix)
{
	struct slice prefix = listing->prefix;
	size_t length = prefix.len + suffix.text.len;
	char *path = arena_alloc(listing->arena, length + 1);

	if (!path)
		return error_nomem(listing->error);
	memcpy(path, prefix.ptr, prefix.len);
	memcpy(path + prefix.len, suffix.text.ptr, suffix.text.len);
	path[length] = '\0';
	suffix.text = (struct slice){path + prefix.len, suffix.text.len};
	listing->best->suffix = suffix;
	listing->best->file =
	        (struct wheel_file){.path = {path, length}, .spelled = {path, length}};
	return 0;
}

/* Take the file @name of the directory, if import would rather have it. */
static int consider(const struct listing *listing, struct slice name)
{
	struct suffix suffix;
	int code;

	if (!slice_starts(name, listing->base))
		return 0;
	suffix = read_suffix(listing->best->taker, slice_from(name, listing->base.len));
	if (suffix.rank == RANK_NONE || !is_better(&suffix, &listing->best->suffix))
		return 0;
	code = is_file(listing, name);
	return code > 0 ? keep(listing, suffix) : code;
}

/* Those of @names, sorted, that begin as the wanted ones do. */
static int choose_among(const struct listing *listing, const struct path_index *names)
{
	size_t at = path_index_first(names, listing->base, SLICE(""));
	int code = 0;

	for (; code == 0 && path_index_has(names, at, listing->base, SLICE("")); at++)
		code = consider(listing, names->paths[at]);
	return code;
}

/* At the top of the path entry the caller may know the objects: no need to list thousands. */
static int choose_at_top(struct listing *listing)
{
	struct stem python;
	int code;

	stem_cut(&python, 0);
	listing->fd = listing->site->fd;
	code = choose_among(listing, listing->site->cache->objects);
	if (code == 0 && stem_add(&python, listing->base) && stem_add(&python, SLICE("py")))
		code = consider(listing, stem_slice(&python));
	if (code == 0 && listing->best->suffix.rank == RANK_NONE && stem_add(&python, SLICE("c")))
		code = consider(listing, stem_slice(&python));
	return code;
}

/* Files are looked for by the listing of one directory; it need not be sorted for one. */
static int choose_by_reading(struct listing *listing, DIR *directory)
{
	const char *child;
	int code = 0, left = 0;

	while (code == 0 && (left = file_next(directory, &child)) > 0)
		code = consider(listing, slice_of(child));
	return left < 0 ? error_errno(listing->error, errno, "cannot list") : code;
}

static int choose_in_directory(const struct import_site *site, struct slice prefix,
                               struct arena *arena, struct choice *best, struct error *error)
{
	struct listing listing = {site, prefix, prefix, -1, arena, best, error};
	CLEANUP(cleanup_closedir) DIR *directory = NULL;
	const struct path_index *names = NULL;
	int code;

	if (site->fd < 0)
		return 0;
	if (site->cache && site->cache->objects && !memchr(prefix.ptr, '/', prefix.len))
		return choose_at_top(&listing);
	code = open_parent(&listing, &directory);
	if (code < 0 || !directory)
		return code;
	listing.fd = dirfd(directory);
	if (!site->cache)
		return choose_by_reading(&listing, directory);
	code = names_in(site->cache, slice_first(prefix, prefix.len - listing.base.len), directory,
	                &names, error);
	return code < 0 ? code : choose_among(&listing, names);
}

/* --- both, in import's order --- */

enum source { BY_RECORD, BY_DIRECTORY };

/* Find what @taker would take: @stem followed by @end and a suffix. */
static int choose(const struct import_site *site, enum taker taker, enum source source,
                  struct stem *stem, struct slice end, struct arena *arena, struct import_file *out,
                  struct error *error)
{
	struct choice best = {.taker = taker, .suffix = {.rank = RANK_NONE}};
	size_t length = stem->length;
	int code = 0;

	if (!stem_add(stem, end))
		return 0;
	if (source == BY_RECORD)
		choose_in_record(site, stem_slice(stem), &best);
	else
		code = choose_in_directory(site, stem_slice(stem), arena, &best, error);
	stem_cut(stem, length);
	out->file = best.file;
	out->is_object = best.suffix.rank < RANK_PYTHON;
	return code;
}

static int find_by(const struct import_site *site, enum source source, struct stem *stem,
                   struct arena *arena, struct import_file *out, struct error *error)
{
	int code = choose(site, BY_IMPORT, source, stem, SLICE("/__init__."), arena, out, error);

	out->is_package = !slice_is_null(out->file.path);
	if (code == 0 && !out->is_package)
		code = choose(site, BY_IMPORT, source, stem, SLICE("."), arena, out, error);
	return code;
}

/* A directory without __init__ is a package too, if only RECORD's files make it one. */
static int is_directory(const struct import_site *site, struct stem *stem, struct error *error)
{
	struct wheel_file file;
	size_t at = 0, length = stem->length;
	bool listed;

	if (site->fd >= 0)
		return is_of_kind(site->fd, stem->text, S_IFDIR, error);
	listed = stem_add(stem, SLICE("/")) &&
	         wheel_record_find(&site->record, stem_slice(stem), &at, &file);
	stem_cut(stem, length);
	return listed;
}

static int find_namespace(const struct import_site *site, struct stem *stem, struct arena *arena,
                          struct import_file *out, struct error *error)
{
	bool failed = false;
	int code = is_directory(site, stem, error);

	if (code <= 0)
		return code;
	out->is_package = true;
	out->file.path = arena_copy(arena, stem_slice(stem), &failed);
	return failed ? error_nomem(error) : 0;
}

int import_find(const struct import_site *site, struct slice module, struct arena *arena,
                struct import_file *out, struct error *error)
{
	struct import_file found = {0};
	struct stem stem;
	int code = 0;

	if (stem_of_module(module, &stem)) {
		code = find_by(site, BY_RECORD, &stem, arena, &found, error);
		if (code == 0 && slice_is_null(found.file.path))
			code = find_by(site, BY_DIRECTORY, &stem, arena, &found, error);
		if (code == 0 && slice_is_null(found.file.path))
			code = find_namespace(site, &stem, arena, &found, error);
	}
	if (code == 0)
		*out = found;
	return code;
}

/* --- what a host takes that is not Python --- */

static int find_of_host(const struct import_site *site, struct stem *stem, struct arena *arena,
                        struct import_file *out, struct error *error)
{
	int code = choose(site, BY_HOST, BY_RECORD, stem, SLICE("."), arena, out, error);

	if (code == 0 && slice_is_null(out->file.path))
		code = choose(site, BY_HOST, BY_DIRECTORY, stem, SLICE("."), arena, out, error);
	return code;
}

/* a/b becomes a/libb. False: the path is too long. */
static bool add_lib(struct stem *stem)
{
	const char *slash = memrchr(stem->text, '/', stem->length);
	size_t at = slash ? (size_t)(slash - stem->text) + 1 : 0;

	if (!stem_add(stem, SLICE("lib")))
		return false;
	memmove(stem->text + at + 3, stem->text + at, stem->length - at - 3);
	memcpy(stem->text + at, "lib", 3);
	return true;
}

int import_find_library(const struct import_site *site, struct slice module, struct arena *arena,
                        struct import_file *out, struct error *error)
{
	struct import_file found = {0};
	struct stem stem;
	int code = 0;

	if (stem_of_module(module, &stem)) {
		code = find_of_host(site, &stem, arena, &found, error);
		if (code == 0 && slice_is_null(found.file.path) && add_lib(&stem))
			code = find_of_host(site, &stem, arena, &found, error);
	}
	if (code == 0)
		*out = found;
	return code;
}

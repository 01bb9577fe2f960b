/*
 * import_path.c - finds the file that Python's import would take; the path rules stand here
 * and nowhere else.
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
#include "db/base/path.h"
#include "libquery/disk/elf/object_name.h"

#define CACHED_NAMES_MAX ((size_t)1 << 20) /* files and directories; beyond, all are forgotten */

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

/* What stands behind the module's name and its dot. */
struct suffix {
	enum rank rank;
	bool is_second;      /* of its rank: of a debug or free-threaded build, or .so.0.9.0 */
	struct slice number; /* of the interpreter, or the library: the newest wins */
	struct slice text;   /* decides between what is otherwise equal */
};

/* A search for one module. */
struct search {
	const struct import_site *site;
	bool by_host; /* for what a host takes that is not Python */
	struct arena *arena;
	struct error *error;
	struct suffix suffix; /* of the best file so far */
	struct wheel_file file;
	size_t length; /* of the path while it is put together, the suffix last, then a NUL */
	char text[PATH_MAX];
};

/* --- paths --- */

static struct slice path_of(const struct search *search)
{
	return (struct slice){search->text, search->length};
}

static bool add_text(struct search *search, struct slice s)
{
	if (s.len >= sizeof(search->text) - search->length)
		return false;
	memcpy(search->text + search->length, s.ptr, s.len);
	search->length += s.len;
	search->text[search->length] = '\0';
	return true;
}

static void cut_text(struct search *search, size_t length)
{
	search->length = length;
	search->text[length] = '\0';
}

/* Without this, a value such as "a/../../b" would lead out of the path entry. */
static bool is_stray(char c)
{
	return c == '/' || c == '\0' || c == '\n' || c == '"' || c == ',';
}

/* a.b.c becomes a/b/c. False for what import would not take: an empty part, a stray byte. */
static bool add_module(struct search *search, struct slice module)
{
	bool begins = true; /* a part */

	if (module.len == 0 || !add_text(search, module))
		return false;
	for (size_t i = 0; i < search->length; i++) {
		bool dot = search->text[i] == '.';

		if (is_stray(search->text[i]) || (dot && begins))
			return false;
		if (dot)
			search->text[i] = '/';
		begins = dot;
	}
	return !begins;
}

/* --- suffixes --- */

/* XY of cpython-XY-<triplet>.so; the text without ".so" is not one where there is a dot in it. */
static void read_tag(struct slice tag, struct suffix *suffix)
{
	const char *dash = tag.len ? memchr(tag.ptr, '-', tag.len) : NULL;
	size_t i = 0;

	if (!dash || memchr(tag.ptr, '.', tag.len))
		return;
	tag = slice_between(tag.ptr, dash);
	while (i < tag.len && i < 4 && tag.ptr[i] >= '0' && tag.ptr[i] <= '9')
		i++;
	suffix->number = slice_first(tag, i);
	suffix->is_second = i < tag.len;
	suffix->rank = RANK_TAGGED;
}

static struct suffix read_suffix_of_import(struct slice text)
{
	static const struct {
		const char *text;
		enum rank rank;
	} known[] = {{"abi3.so", RANK_ABI3},
	             {"so", RANK_PLAIN},
	             {"py", RANK_PYTHON},
	             {"pyc", RANK_BYTES}};
	const struct slice cpython = SLICE("cpython-"), so = SLICE(".so");
	struct suffix suffix = {.rank = RANK_NONE, .text = text};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (slice_equal(text, slice_of(known[i].text)))
			suffix.rank = known[i].rank;
	if (slice_starts(text, cpython) && slice_ends(text, so))
		read_tag(slice_from(slice_first(text, text.len - so.len), cpython.len), &suffix);
	return suffix;
}

/* Those of object_name.h; what import would take has been looked for before. */
static struct suffix read_suffix_of_host(struct slice text)
{
	struct suffix suffix = {.rank = RANK_NONE, .text = text};

	for (const char *const *other = object_name_others; *other; other++)
		if (slice_equal(text, slice_of(*other)))
			suffix.rank = RANK_HOST;
	if (slice_equal(text, SLICE("so")))
		suffix.rank = RANK_PLAIN;
	if (!slice_starts(text, SLICE("so.")))
		return suffix;
	suffix.is_second = true;
	suffix.number = slice_from(text, 3);
	suffix.rank = dotted_is(suffix.number) ? RANK_PLAIN : RANK_NONE;
	return suffix;
}

/* Of several interpreters the newest; the order of listing never matters. */
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
	*out = search->by_host ? read_suffix_of_host(text) : read_suffix_of_import(text);
	return out->rank < RANK_NONE && is_better(out, &search->suffix);
}

/* --- by RECORD --- */

/* Choose among the files whose path is that so far, which ends in a dot, and a suffix. */
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

/* --- the names in directories --- */

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

/* Have one more directory, at @path, in the cache. */
static int add_directory(const struct import_site *site, struct slice path, struct error *error)
{
	struct import_cache *cache = site->cache;
	CLEANUP(cleanup_closedir) DIR *directory = NULL;
	bool failed = !array_grow(&cache->directories, cache->count, sizeof(*cache->directories),
	                          &cache->room);
	struct path_index *names = NULL;
	const char *child;
	int left;

	path = arena_copy(&cache->arena, path, &failed);
	if (failed)
		return error_nomem(error);
	directory = file_open_directory(site->fd, path.ptr);
	if (!directory && errno_is_failure(errno))
		return error_errno(error, errno, "%s", path.ptr);
	name_map_put(&cache->by_path, path, (uint32_t)cache->count, &failed);
	names = &cache->directories[cache->count++];
	*names = (struct path_index){0};
	left = directory ? 1 : 0;
	while (!failed && left > 0 && (left = file_next(directory, &child)) > 0)
		failed = !path_index_add(names,
		                         arena_copy(&cache->arena, slice_of(child), &failed)) ||
		         failed;
	if (left < 0)
		return error_errno(error, errno, "cannot list");
	path_index_sort(names);
	cache->names += names->count + 1;
	return failed ? error_nomem(error) : 0;
}

int import_names(const struct import_site *site, struct slice path, const struct path_index **out,
                 struct error *error)
{
	struct import_cache *cache = site->cache;
	uint32_t at;
	int code = 0;

	path = path.len ? path : SLICE(".");
	at = name_map_get(&cache->by_path, path);
	if (at == NAME_MAP_NONE) {
		if (cache->names > CACHED_NAMES_MAX)
			forget_directories(cache);
		at = (uint32_t)cache->count;
		code = add_directory(site, path, error);
	}
	if (code < 0)
		forget_directories(cache); /* what was read in part */
	else
		*out = &cache->directories[at];
	return code;
}

/* --- by the directory --- */

/* 1: what is at the path is of that kind; 0: it is not; or a failure. */
static int is_of_kind(const struct search *search, mode_t kind)
{
	struct stat status;
	int found = file_status(search->site->fd, search->text, &status, search->error);

	return found <= 0 ? found : (status.st_mode & S_IFMT) == kind;
}

/* Take the file whose path is that so far and @text, if import would rather have it. */
static int consider(struct search *search, struct slice text)
{
	size_t length = search->length;
	bool failed = false;
	struct suffix suffix;
	struct slice path = {0};
	int code = 0;

	if (!is_wanted(search, text, &suffix) || !add_text(search, text))
		return 0;
	code = is_of_kind(search, S_IFREG);
	if (code > 0)
		path = arena_copy(search->arena, path_of(search), &failed);
	cut_text(search, length);
	if (failed)
		return error_nomem(search->error);
	if (code <= 0)
		return code;
	is_wanted(search, slice_from(path, length), &search->suffix); /* by the copy */
	search->file = (struct wheel_file){.path = path, .spelled = path};
	return 0;
}

/* Choose among the names that begin as the path ends. */
static int choose_in_directory(struct search *search)
{
	struct slice prefix = path_of(search), base = path_base(prefix);
	const struct path_index *names;
	int code;

	if (search->site->fd < 0)
		return 0;
	code = import_names(search->site, path_directory(prefix), &names, search->error);
	if (code < 0)
		return code;
	for (size_t at = path_index_first(names, base, SLICE(""));
	     code == 0 && path_index_has(names, at, base, SLICE("")); at++)
		code = consider(search, slice_from(names->paths[at], base.len));
	return code;
}

/* --- both, in import's order --- */

/* 1: a file was found whose path is that so far, @end and a suffix; 0: none; or a failure. */
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
	cut_text(search, length);
	return code < 0 ? code : search->suffix.rank < RANK_NONE;
}

/* A directory without __init__ is a package too, if only RECORD's files make it one. */
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
	cut_text(search, length);
	if (code <= 0)
		return code;
	out->is_package = true;
	out->file.path = arena_copy(search->arena, path_of(search), &failed);
	return failed ? error_nomem(search->error) : 0;
}

int import_find(const struct import_site *site, struct slice module, struct arena *arena,
                struct import_file *out, struct error *error)
{
	const struct slice ends[] = {SLICE("/__init__."), SLICE(".")};
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

/* --- what a host takes that is not Python --- */

/* a/b becomes a/libb. False: the path is too long. */
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

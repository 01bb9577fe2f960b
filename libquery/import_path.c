/*
 * import_path.c - see import_path.h. The path rules stand here and nowhere else.
 *
 * They are those of Python's own import: a package before a module, and within
 * each an extension before a .py, the suffix of one interpreter before .abi3.so
 * before .so; last a package that is a mere directory. RECORD is asked first.
 * Where it is absent, or does not list the module because another distribution
 * brings it, the directories are read: some suffixes cannot be guessed.
 */
#include "import_path.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "cleanup.h"

/* A path while it is put together; text ends in a NUL. */
struct path {
	size_t length;
	char text[PATH_MAX];
};

/* How much import prefers a file: the first of these wins. */
enum rank {
	RANK_TAGGED, /* .cpython-XY-<triplet>.so */
	RANK_ABI3,   /* .abi3.so */
	RANK_PLAIN,  /* .so */
	RANK_PYTHON, /* .py */
	RANK_NONE,
};

/* What stands behind the module's name and its dot. */
struct suffix {
	enum rank rank;
	unsigned version;  /* XY */
	bool special;      /* XY is followed by letters: a debug or free-threaded build */
	struct slice text; /* decides between what is otherwise equal */
};

struct choice {
	struct suffix suffix;
	struct wheel_file file;
};

/* Paths. */

static struct slice path_slice(const struct path *path)
{
	return (struct slice){path->text, path->length};
}

static bool path_add(struct path *path, struct slice s)
{
	if (s.len >= sizeof(path->text) - path->length)
		return false;
	memcpy(path->text + path->length, s.ptr, s.len);
	path->length += s.len;
	path->text[path->length] = '\0';
	return true;
}

static void path_cut(struct path *path, size_t length)
{
	path->length = length;
	path->text[length] = '\0';
}

/* Without this, a value such as "a/../../b" would lead out of the path entry. */
static bool is_stray(char c)
{
	return c == '/' || c == '\0' || c == '\n' || c == '"' || c == ',';
}

/* a.b.c becomes a/b/c. False for what import would not take: an empty part, a stray byte. */
static bool path_of_module(struct slice module, struct path *out)
{
	bool begins = true; /* a part */

	path_cut(out, 0);
	if (module.len == 0 || !path_add(out, module))
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

/* Suffixes. */

/* XY of cpython-XY-<triplet>; RANK_NONE when it is not the interpreter asked for. */
static void read_tag(struct slice tag, struct slice wanted, struct suffix *suffix)
{
	const char *dash = tag.len ? memchr(tag.ptr, '-', tag.len) : NULL;
	size_t i = 0;

	if (!dash || memchr(tag.ptr, '.', tag.len))
		return;
	tag = slice_between(tag.ptr, dash);
	if (!slice_is_null(wanted) && !slice_equal(tag, wanted))
		return;
	for (; i < tag.len && i < 4 && tag.ptr[i] >= '0' && tag.ptr[i] <= '9'; i++)
		suffix->version = 10 * suffix->version + (unsigned)(tag.ptr[i] - '0');
	suffix->special = i < tag.len;
	suffix->rank = RANK_TAGGED;
}

static struct suffix read_suffix(struct slice text, struct slice python_tag)
{
	const struct slice cpython = SLICE("cpython-"), so = SLICE(".so");
	struct suffix suffix = {.rank = RANK_NONE, .text = text};

	if (slice_equal(text, SLICE("py")))
		suffix.rank = RANK_PYTHON;
	else if (slice_equal(text, SLICE("so")))
		suffix.rank = RANK_PLAIN;
	else if (slice_equal(text, SLICE("abi3.so")))
		suffix.rank = RANK_ABI3;
	else if (slice_starts(text, cpython) && slice_ends(text, so))
		read_tag(slice_from(slice_first(text, text.len - so.len), cpython.len), python_tag,
		         &suffix);
	return suffix;
}

/* The newest interpreter where none was asked for; the order of listing never matters. */
static bool is_better(const struct suffix *a, const struct suffix *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->special != b->special)
		return b->special;
	if (a->version != b->version)
		return a->version > b->version;
	return slice_compare(a->text, b->text) < 0;
}

/* By RECORD. */

/* Choose among the files whose path is @prefix, which ends in a dot, and a suffix. */
static void choose_in_record(const struct target_query *query, struct slice prefix,
                             struct choice *best)
{
	struct wheel_file file;

	for (size_t at = 0; wheel_record_find(query->record, prefix, &at, &file);) {
		struct slice text = slice_from(file.path, prefix.len);
		struct suffix suffix = read_suffix(text, query->python_tag);

		if (suffix.rank < RANK_NONE && is_better(&suffix, &best->suffix))
			*best = (struct choice){suffix, file};
	}
}

/* By the directory. */

DIR *import_open_directory(const struct target_query *query, const char *path)
{
	CLEANUP(cleanup_close) int fd = -1;
	DIR *directory;

	if (query->site_fd < 0 || query->fetch)
		return NULL;
	fd = openat(query->site_fd, path[0] ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (directory)
		take_fd(&fd);
	return directory;
}

static void cleanup_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Files are looked for by the listing of one directory. */
struct listing {
	const struct target_query *query;
	struct slice prefix, base; /* of paths, and of the names in the directory */
	int fd;
	struct arena *arena;
	struct choice *best;
};

static bool is_file(int directory, struct slice name)
{
	char text[NAME_MAX + 1];
	struct stat st;

	if (name.len >= sizeof(text))
		return false;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	return fstatat(directory, text, &st, 0) == 0 && S_ISREG(st.st_mode);
}

/* Open the directory in which @prefix lies; *base becomes the rest of @prefix. */
static DIR *open_parent(const struct target_query *query, struct slice prefix, struct slice *base)
{
	const char *slash = memrchr(prefix.ptr, '/', prefix.len);
	struct path parent;

	path_cut(&parent, 0);
	*base = prefix;
	if (slash) {
		*base = slice_from(prefix, (size_t)(slash - prefix.ptr) + 1);
		path_add(&parent, slice_between(prefix.ptr, slash));
	}
	return import_open_directory(query, parent.text);
}

static int keep(const struct listing *listing, struct suffix suffix)
{
	struct slice prefix = listing->prefix;
	size_t length = prefix.len + suffix.text.len;
	char *path = arena_alloc(listing->arena, length + 1);

	if (!path)
		return ERROR_NOMEM;
	memcpy(path, prefix.ptr, prefix.len);
	memcpy(path + prefix.len, suffix.text.ptr, suffix.text.len);
	path[length] = '\0';
	suffix.text = (struct slice){path + prefix.len, suffix.text.len};
	*listing->best =
	        (struct choice){suffix, {.path = {path, length}, .spelled = {path, length}}};
	return 0;
}

/* Take the file @name of the directory, if import would rather have it. */
static int consider(const struct listing *listing, struct slice name)
{
	struct suffix suffix;

	if (!slice_starts(name, listing->base))
		return 0;
	suffix = read_suffix(slice_from(name, listing->base.len), listing->query->python_tag);
	if (suffix.rank == RANK_NONE || !is_better(&suffix, &listing->best->suffix) ||
	    !is_file(listing->fd, name))
		return 0;
	return keep(listing, suffix);
}

/* At the top of the path entry the caller may know the objects: no need to list thousands. */
static int choose_at_top(struct listing *listing)
{
	struct slice rest = listing->query->site_objects;
	struct path python;
	int r = 0;

	path_cut(&python, 0);
	listing->fd = listing->query->site_fd;
	while (r == 0 && rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		struct slice name = end ? slice_between(rest.ptr, end) : rest;

		rest = slice_from(rest, name.len + (end ? 1 : 0));
		r = consider(listing, name);
	}
	if (r == 0 && path_add(&python, listing->base) && path_add(&python, SLICE("py")))
		r = consider(listing, path_slice(&python));
	return r;
}

static int choose_in_directory(const struct target_query *query, struct slice prefix,
                               struct arena *arena, struct choice *best)
{
	struct listing listing = {query, prefix, prefix, -1, arena, best};
	CLEANUP(cleanup_directory) DIR *directory = NULL;
	struct dirent *child;
	int r = 0;

	if (query->site_fd < 0 || query->fetch)
		return 0;
	if (!slice_is_null(query->site_objects) && !memchr(prefix.ptr, '/', prefix.len))
		return choose_at_top(&listing);
	directory = open_parent(query, prefix, &listing.base);
	listing.fd = directory ? dirfd(directory) : -1;
	while (r == 0 && directory && (child = readdir(directory)) != NULL)
		r = consider(&listing, slice_of(child->d_name));
	return r;
}

/* Both, in import's order. */

enum source { BY_RECORD, BY_DIRECTORY };

/* Find @stem followed by @end and a suffix. */
static int choose(const struct target_query *query, enum source source, struct path *stem,
                  struct slice end, struct arena *arena, struct import_file *out)
{
	struct choice best = {.suffix = {.rank = RANK_NONE}};
	size_t length = stem->length;
	int r = 0;

	if (!path_add(stem, end))
		return 0;
	if (source == BY_RECORD)
		choose_in_record(query, path_slice(stem), &best);
	else
		r = choose_in_directory(query, path_slice(stem), arena, &best);
	path_cut(stem, length);
	out->file = best.file;
	out->is_object = best.suffix.rank < RANK_PYTHON;
	return r;
}

static int find_by(const struct target_query *query, enum source source, struct path *stem,
                   struct arena *arena, struct import_file *out)
{
	int r = choose(query, source, stem, SLICE("/__init__."), arena, out);

	out->is_package = !slice_is_null(out->file.path);
	if (r == 0 && !out->is_package)
		r = choose(query, source, stem, SLICE("."), arena, out);
	return r;
}

/* A directory without __init__ is a package too, if only RECORD's files make it one. */
static bool is_directory(const struct target_query *query, struct path *stem)
{
	struct wheel_file file;
	struct stat st;
	size_t at = 0, length = stem->length;
	bool listed;

	if (!query->fetch && query->site_fd >= 0)
		return fstatat(query->site_fd, stem->text, &st, 0) == 0 && S_ISDIR(st.st_mode);
	listed = path_add(stem, SLICE("/")) &&
	         wheel_record_find(query->record, path_slice(stem), &at, &file);
	path_cut(stem, length);
	return listed;
}

static int find_namespace(const struct target_query *query, struct path *stem, struct arena *arena,
                          struct import_file *out)
{
	bool failed = false;

	if (!is_directory(query, stem))
		return 0;
	out->is_package = true;
	out->file.path = arena_copy(arena, path_slice(stem), &failed);
	return failed ? ERROR_NOMEM : 0;
}

int import_find(const struct target_query *query, struct arena *arena, struct import_file *out,
                struct error *error)
{
	struct import_file found = {0};
	struct path stem;
	int r = 0;

	if (path_of_module(query->module, &stem)) {
		r = find_by(query, BY_RECORD, &stem, arena, &found);
		if (r == 0 && slice_is_null(found.file.path))
			r = find_by(query, BY_DIRECTORY, &stem, arena, &found);
		if (r == 0 && slice_is_null(found.file.path))
			r = find_namespace(query, &stem, arena, &found);
	}
	if (r < 0)
		return error_nomem(error);
	*out = found;
	return 0;
}

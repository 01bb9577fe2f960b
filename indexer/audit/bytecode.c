/*
 * bytecode.c - see facts.h: whether the bytecode that runs is that of its source.
 *
 * Python runs __pycache__/NAME.cpython-XY.pyc in place of NAME.py where the head of it
 * agrees with the source: by size and time, by a hash, or unseen, as the head can ask for.
 * What is behind the head, nothing vouches for: installers compile on the spot, and RECORD
 * has no hash. But a name in bytecode is a word of the source, with a few exceptions that
 * the compiler makes; other names can only come from another source.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "indexer/audit/facts.h"
#include "indexer/audit/marshal.h"
#include "indexer/command.h"

#define FILE_MAX     ((size_t)16 << 20) /* bytes of a source, or of bytecode, that are read */
#define HEAD         16                 /* bytes */
#define BY_HASH      1u                 /* flags in the head */
#define COMPARED     2u
#define MAGIC_HASHES 3450 /* from Python 3.11 on the hash is SipHash-1-3 */

/* A regular file, as far as it is read; ptr: malloc'd, NULL where there is none. */
struct text {
	char *ptr;
	size_t len;
	struct stat status;
};

static void cleanup_text(struct text *text)
{
	free(text->ptr);
}

static struct slice slice_of_text(const struct text *text)
{
	return (struct slice){text->ptr, text->len};
}

static int read_text(const char *path, struct text *out, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, 0);
	CLEANUP(cleanup_free) char *bytes = NULL;
	size_t size;
	ssize_t got;

	if (fd < 0 || fstat(fd, &out->status) != 0)
		return errno_is_failure(errno) ? error_errno(error, errno, "cannot read %s", path)
		                               : 0;
	if (!S_ISREG(out->status.st_mode))
		return 0;
	size = out->status.st_size > (off_t)FILE_MAX ? FILE_MAX : (size_t)out->status.st_size;
	bytes = malloc(size + 1);
	if (!bytes)
		return error_nomem(error);
	got = file_read(fd, bytes, size);
	if (got < 0)
		return error_errno(error, errno, "cannot read %s", path);
	out->len = (size_t)got;
	out->ptr = take(bytes);
	return 0;
}

/* --- the head --- */

static uint32_t word_at(struct slice head, size_t at)
{
	uint32_t word;

	memcpy(&word, head.ptr + at, sizeof(word));
	return le32toh(word);
}

static unsigned magic_of(struct slice pyc)
{
	return word_at(pyc, 0) & 0xffff;
}

static bool is_hash_of(struct slice pyc, struct slice source)
{
	struct hash_key key = {{word_at(pyc, 0), 0}};
	uint64_t hash = (uint64_t)word_at(pyc, 12) << 32 | word_at(pyc, 8);

	return hash_keyed(key, source.ptr, source.len) == hash;
}

/* How Python comes to run it: not at all, after a comparison, or whatever the source is. */
enum use { UNUSED, COMPARED_FIRST, UNSEEN };

static enum use use_of(struct slice pyc, const struct text *source)
{
	uint32_t flags;

	if (pyc.len < HEAD || memcmp(pyc.ptr + 2, "\r\n", 2) != 0 ||
	    !marshal_is_known(magic_of(pyc)))
		return UNUSED;
	flags = word_at(pyc, 4);
	if (flags == BY_HASH)
		return UNSEEN;
	if (flags == (BY_HASH | COMPARED))
		return magic_of(pyc) >= MAGIC_HASHES && is_hash_of(pyc, slice_of_text(source))
		               ? COMPARED_FIRST
		               : UNUSED;
	return flags == 0 && word_at(pyc, 8) == (uint32_t)source->status.st_mtim.tv_sec &&
	                       word_at(pyc, 12) == (uint32_t)source->status.st_size
	               ? COMPARED_FIRST
	               : UNUSED;
}

/* --- the names --- */

struct words {
	struct name_map map;  /* of the source */
	struct slice foreign; /* a name that is none of them */
	bool failed;
};

static bool is_of_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static void read_words(struct words *words, struct slice source)
{
	const char *at = source.ptr, *end = source.ptr + source.len;

	if (slice_starts(source, SLICE("\xef\xbb\xbf")))
		at += 3;
	while (at < end) {
		const char *begin = at;

		while (at < end && is_of_word(*at))
			at++;
		if (at > begin)
			name_map_put(&words->map, slice_between(begin, at), 0, &words->failed);
		else
			at++;
	}
}

/* What compilers put in of their own, 3.8 to 3.14. */
static bool is_of_compiler(struct slice name)
{
	static const char *const names[] = {
	        "__annotate__",
	        "__annotate_func__",
	        "__annotations__",
	        "__class__",
	        "__classcell__",
	        "__classdict__",
	        "__classdictcell__",
	        "__conditional_annotations__",
	        "__debug__",
	        "__doc__",
	        "__firstlineno__",
	        "__module__",
	        "__name__",
	        "__qualname__",
	        "__static_attributes__",
	        "__type_params__",
	        "format",
	        /* of '%s' and of __annotate__ */ "join",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (slice_equal(name, slice_of(names[i])))
			return true;
	return false;
}

/* "_Class__name" of "__name" in a class. */
static bool is_mangled(const struct words *words, struct slice name)
{
	for (size_t i = 1; name.ptr[0] == '_' && i + 1 < name.len; i++)
		if (name.ptr[i] == '_' && name.ptr[i + 1] == '_' &&
		    name_map_get(&words->map, slice_from(name, i)) != NAME_MAP_NONE)
			return true;
	return false;
}

/* Letters beyond ASCII are not compared: the compiler normalizes them. */
static bool is_plain(struct slice name)
{
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] >= 0x80)
			return false;
	return true;
}

/* "<lambda>", ".0" and the like are the compiler's; "a.b" is that of an import. */
static bool keep_foreign(void *payload, struct slice name)
{
	struct words *words = payload;

	if (name.len == 0 || name.ptr[0] == '<' || name.ptr[0] == '.')
		return true;
	while (name.len > 0) {
		const char *dot = memchr(name.ptr, '.', name.len);
		struct slice part = dot ? slice_between(name.ptr, dot) : name;

		name = slice_from(name, part.len + (dot != NULL));
		if (part.len == 0 || name_map_get(&words->map, part) != NAME_MAP_NONE ||
		    !is_plain(part) || is_of_compiler(part) || is_mangled(words, part))
			continue;
		words->foreign = part;
		return false;
	}
	return true;
}

/* --- one file --- */

/* The sources in one directory whose bytecode matters. */
struct sources {
	struct worksheet *sheet;
	int64_t site;
	struct slice site_path,
	        directory;     /* of the site; below it, "" or with a slash at the end */
	struct name_map stems; /* their names, without ".py" */
	struct arena texts;
	struct error *error;
};

static void put(const struct sources *sources, struct slice stem, const char *file,
                const char *state, struct slice name)
{
	CLEANUP(cleanup_free)
	char *source = text_format("%.*s%.*s.py", (int)sources->directory.len,
	                           sources->directory.ptr, (int)stem.len, stem.ptr);
	struct worksheet_query *row =
	        worksheet_ask(sources->sheet, "INSERT INTO bytecode VALUES (?, ?, ?, ?, ?)");

	worksheet_number(row, sources->site);
	worksheet_text(row, slice_of(file));
	worksheet_text(row, slice_of(source));
	worksheet_text(row, slice_of(state));
	worksheet_text(row, name);
	worksheet_run(row);
}

static int judge(const struct sources *sources, struct slice stem, const char *file,
                 struct slice pyc, const struct text *source)
{
	enum use use = use_of(pyc, source);
	struct words words = {0};
	enum marshal_end end;

	if (use == UNUSED)
		return 0;
	read_words(&words, slice_of_text(source));
	end = marshal_walk(slice_from(pyc, HEAD), magic_of(pyc), keep_foreign, &words);
	name_map_free(&words.map);
	if (words.failed || end == MARSHAL_NOMEM)
		return error_nomem(sources->error);
	if (end == MARSHAL_STOPPED)
		put(sources, stem, file, "foreign", words.foreign);
	else if (end == MARSHAL_BROKEN)
		put(sources, stem, file, "broken", (struct slice){0});
	else if (use == UNSEEN)
		put(sources, stem, file, "unchecked", (struct slice){0});
	return 0;
}

/* "NAME.cpython-312.pyc", "NAME.cpython-313t.opt-2.pyc": NAME; null for what Python would not take.
 */
static struct slice stem_of(struct slice name)
{
	static const char *const ends[] = {".pyc",       "t.pyc",       ".opt-1.pyc",
	                                   ".opt-2.pyc", "t.opt-1.pyc", "t.opt-2.pyc"};
	const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
	struct slice rest = dot ? slice_from(name, (size_t)(dot - name.ptr)) : (struct slice){0};

	if (!dot || !slice_starts(rest, SLICE(".cpython-")))
		return (struct slice){0};
	rest = slice_from(rest, sizeof(".cpython-") - 1);
	while (rest.len > 0 && rest.ptr[0] >= '0' && rest.ptr[0] <= '9')
		rest = slice_from(rest, 1);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (slice_equal(rest, slice_of(ends[i])))
			return slice_between(name.ptr, dot);
	return (struct slice){0};
}

static int read_one(const struct sources *sources, const char *name)
{
	struct slice stem = stem_of(slice_of(name)), site = sources->site_path,
	             directory = sources->directory;
	CLEANUP(cleanup_free) char *source_path = NULL;
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_text) struct text pyc = {0};
	CLEANUP(cleanup_text) struct text source = {0};
	int code;

	if (slice_is_null(stem) || name_map_get(&sources->stems, stem) == NAME_MAP_NONE)
		return 0;
	path = text_format("%.*s/%.*s__pycache__/%s", (int)site.len, site.ptr, (int)directory.len,
	                   directory.ptr, name);
	source_path = text_format("%.*s/%.*s%.*s.py", (int)site.len, site.ptr, (int)directory.len,
	                          directory.ptr, (int)stem.len, stem.ptr);
	if (!path || !source_path)
		return error_nomem(sources->error);
	code = read_text(path, &pyc, sources->error);
	if (code == 0 && pyc.ptr)
		code = read_text(source_path, &source, sources->error);
	return code == 0 && source.ptr
	               ? judge(sources, stem, path + site.len + 1, slice_of_text(&pyc), &source)
	               : code;
}

/* --- one directory --- */

static void forget_sources(struct sources *sources)
{
	name_map_free(&sources->stems);
	arena_free(&sources->texts);
	sources->site = 0;
}

static int read_directory(const struct sources *sources)
{
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_closedir) DIR *directory = NULL;
	const char *name;
	int left = 1, code = 0;

	if (sources->site == 0)
		return 0;
	path = text_format("%.*s/%.*s__pycache__", (int)sources->site_path.len,
	                   sources->site_path.ptr, (int)sources->directory.len,
	                   sources->directory.ptr);
	directory = path ? file_open_directory(AT_FDCWD, path) : NULL;
	if (!directory)
		return !path ? error_nomem(sources->error)
		       : errno_is_failure(errno)
		               ? error_errno(sources->error, errno, "cannot list %s", path)
		               : 0;
	while (code == 0 && !interrupted() && (left = file_next(directory, &name)) > 0)
		code = read_one(sources, name);
	return left < 0 ? error_errno(sources->error, errno, "cannot list %s", path) : code;
}

static int enter(struct sources *sources, struct worksheet_query *row)
{
	int64_t site = worksheet_integer(row, 0);
	struct slice directory = worksheet_column(row, 2);
	bool failed = false;
	int code;

	if (site == sources->site && slice_equal(directory, sources->directory))
		return 0;
	code = read_directory(sources);
	forget_sources(sources);
	sources->site = site;
	sources->site_path = arena_copy(&sources->texts, worksheet_column(row, 1), &failed);
	sources->directory = arena_copy(&sources->texts, directory, &failed);
	return failed ? error_nomem(sources->error) : code;
}

int bytecode_read(struct worksheet *sheet, struct error *error)
{
	CLEANUP(forget_sources) struct sources sources = {.sheet = sheet, .error = error};
	struct worksheet_query *row = worksheet_ask(
	        sheet, "SELECT site, path, directory, substr(file, length(directory) + 1) "
	               "FROM runs_from_source ORDER BY site, directory");
	bool failed = false;
	int code = 0;

	while (code == 0 && worksheet_next(row)) {
		struct slice name = worksheet_column(row, 3);

		code = enter(&sources, row);
		name = slice_first(name, name.len - SLICE(".py").len);
		name = arena_copy(&sources.texts, name, &failed);
		name_map_put(&sources.stems, name, 0, &failed);
		if (failed)
			code = error_nomem(error);
	}
	if (code == 0)
		code = read_directory(&sources);
	return code < 0 ? code : worksheet_failure(sheet, error);
}

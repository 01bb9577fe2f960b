/*
 * start.c - see facts.h: the other places that Python starts from.
 *
 * sitecustomize and usercustomize are looked for in all of sys.path: beside the site directories
 * and the standard library, which are scanned (startup.h), in the directories and zips that .pth
 * files add. What comes before all of these on sys.path is a zip of the standard library, which
 * no installation has.
 *
 * A virtual environment takes its standard library from where pyvenv.cfg says.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "db/base/unicode.h"
#include "indexer/audit/facts.h"
#include "indexer/command.h"
#include "libquery/disk/metadata/pth.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/tree/tree_open.h"

#define SETTINGS_MAX ((size_t)64 << 10) /* bytes of pyvenv.cfg */

struct start {
	struct facts_site *site;
	struct name_map seen; /* places, by device and inode */
	struct arena keys;
	struct slice sysroot;  /* "" without one */
	const char *place;     /* that is being read */
	int64_t distributions; /* in it */
	struct error *error;
};

static void cleanup_start(struct start *start)
{
	name_map_free(&start->seen);
	arena_free(&start->keys);
}

/* --- what is found --- */

/*
 * As RECORD names it, from the site directory: "../../python312.zip"; what is outside of the
 * environment, by its whole path. malloc'd; NULL without memory.
 */
static char *name_of(const struct facts_site *site, const char *path)
{
	struct slice from = slice_of(site->path);
	const char *rest = path;
	char *name = NULL;
	size_t size;
	FILE *stream;

	if (!slice_starts(slice_of(path), slice_of(site->prefix)) || !site->prefix[0])
		return strdup(path);
	stream = open_memstream(&name, &size);
	if (!stream)
		return NULL;
	while (!slice_starts(slice_of(path), from) || path[from.len] != '/') {
		from = path_directory(from);
		fputs("../", stream);
	}
	rest = path + from.len + 1;
	fputs(rest, stream);
	return text_close(stream, &name) ? name : NULL;
}

static int add_file(struct start *start, const char *path)
{
	struct facts_site *site = start->site;
	CLEANUP(cleanup_free) char *name = name_of(site, path);
	bool failed = !name;
	struct slice file = arena_copy(&site->texts, slice_of(name), &failed);
	struct worksheet_query *put;

	if (failed || !startup_add(&site->starts, file))
		return error_nomem(start->error);
	put = worksheet_ask(site->sheet, "INSERT INTO startup (site, file, line, kind, code) "
	                                 "VALUES (?, ?, 0, 'module', '')");
	worksheet_number(put, site->id);
	worksheet_text(put, file);
	worksheet_run(put);
	return 0;
}

static int add_module(void *payload, struct slice name)
{
	struct start *start = payload;
	CLEANUP(cleanup_free) char *path = NULL;

	start->distributions += distname_is_info(name) || distname_is_egg_info(name);
	if (!startup_is_module(name))
		return 0;
	path = text_format("%s/%.*s", start->place, (int)name.len, name.ptr);
	return path ? add_file(start, path) : error_nomem(start->error);
}

/* --- places --- */

/* Each once, by whatever path it is named. 1: it is new; 0: not, or nothing is there; or a failure.
 */
static int is_new(struct start *start, const char *place)
{
	CLEANUP(cleanup_free) char *text = NULL;
	struct slice key;
	struct stat status;
	bool failed = false;
	int code = file_status(AT_FDCWD, place, &status, start->error);

	if (code <= 0)
		return code;
	text = text_format("%llu %llu", (unsigned long long)status.st_dev,
	                   (unsigned long long)status.st_ino);
	if (!text)
		return error_nomem(start->error);
	code = name_map_get(&start->seen, slice_of(text)) == NAME_MAP_NONE;
	key = arena_copy(&start->keys, slice_of(text), &failed);
	name_map_put(&start->seen, key, 0, &failed);
	return failed ? error_nomem(start->error) : code;
}

static void put_added(const struct start *start)
{
	struct worksheet_query *put =
	        worksheet_ask(start->site->sheet, "INSERT INTO added VALUES (?, ?, ?)");

	worksheet_number(put, start->site->id);
	worksheet_text(put, slice_of(start->place));
	worksheet_number(put, start->distributions);
	worksheet_run(put);
}

/* The children of a directory, or of a zip, of these names. */
static int look_into(struct start *start, const char *place)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	struct error own = {0};
	int code;

	start->place = place;
	start->distributions = 0;
	code = tree_open(place, &tree, &own);
	if (code == 0)
		code = tree_children(tree, add_module, start, &own);
	if (start->distributions > 0)
		put_added(start);
	return error_move_failure(start->error, &own);
}

/* What is not there anybody can make, in a directory that everybody may write. */
static int look_at_absent(struct start *start, const char *place)
{
	struct slice directory = path_directory(slice_of(place));
	CLEANUP(cleanup_free)
	char *above = text_format("%.*s", (int)directory.len, directory.ptr);
	struct stat status;
	int code = above ? file_status(AT_FDCWD, above, &status, start->error)
	                 : error_nomem(start->error);

	if (code <= 0 || !S_ISDIR(status.st_mode) || !(status.st_mode & S_IWOTH))
		return code < 0 ? code : 0;
	facts_put(start->site, FACTS_WRITABLE, 0, slice_of(place),
	          "a .pth file adds it, it is not there, and everybody may make it");
	return 0;
}

static int look_into_path(void *payload, const char *path)
{
	struct start *start = payload;
	CLEANUP(cleanup_free)
	char *place = text_format("%.*s%s", (int)start->sysroot.len, start->sysroot.ptr, path);
	struct stat status;
	int code;

	if (!place)
		return error_nomem(start->error);
	if (interrupted())
		return 1;
	code = file_status(AT_FDCWD, place, &status, start->error);
	if (code == 0)
		return look_at_absent(start, place);
	if (code > 0)
		code = is_new(start, place);
	if (code > 0)
		code = writable_look(start->site, 0, place, start->error);
	else
		return code;
	return code < 0 ? code : look_into(start, place);
}

/* --- an installation --- */

/* "python312.zip" beside the standard library "python3.12", of which it stands for every module. */
static int find_zip(struct start *start)
{
	struct slice library = path_directory(slice_of(start->site->path));
	CLEANUP(cleanup_free)
	char *os = text_format("%.*s/os.py", (int)library.len, library.ptr);
	CLEANUP(cleanup_free) char *zip = text_format("%.*s.zip", (int)library.len, library.ptr);
	char *dot = zip ? strchr(strrchr(zip, '/'), '.') : NULL;
	struct stat status;
	int code;

	if (!os || !zip)
		return error_nomem(start->error);
	if (!slice_ends(slice_of(start->site->path), SLICE("-packages")))
		return 0; /* the standard library has directories of extensions, too */
	if (strcmp(dot, ".zip") != 0)
		memmove(dot, dot + 1, strlen(dot));
	code = file_status(AT_FDCWD, os, &status, start->error);
	if (code > 0)
		code = file_status(AT_FDCWD, zip, &status, start->error);
	return code > 0 && S_ISREG(status.st_mode) ? add_file(start, zip) : code;
}

/* --- a virtual environment --- */

/* The value of "home", as Modules/getpath.py of CPython reads it; null where there is none. */
static struct slice home_of(struct slice text)
{
	while (text.len > 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		struct slice line = end ? slice_between(text.ptr, end) : text;
		const char *equals = line.len ? memchr(line.ptr, '=', line.len) : NULL;
		struct slice key =
		        equals ? unicode_strip(slice_between(line.ptr, equals)) : (struct slice){0};

		if (key.len == 4 && strncasecmp(key.ptr, "home", 4) == 0)
			return unicode_strip(slice_between(equals + 1, line.ptr + line.len));
		text = slice_from(text, line.len + (end != NULL));
	}
	return (struct slice){0};
}

/* Python that comes out of the environment itself is whatever was installed there. */
static int look_at_home(struct start *start)
{
	struct facts_site *site = start->site;
	CLEANUP(cleanup_free) char *file = text_format("%s/pyvenv.cfg", site->prefix);
	CLEANUP(cleanup_free) char *text = NULL;
	CLEANUP(cleanup_free) char *what = NULL;
	struct slice home, prefix = slice_of(site->prefix);
	size_t len = 0;
	int code = file ? small_file_read(file, SETTINGS_MAX, &text, &len, start->error)
	                : error_nomem(start->error);

	if (code <= 0)
		return code;
	home = home_of((struct slice){text, len});
	if (!slice_starts(home, prefix) || (home.len > prefix.len && home.ptr[prefix.len] != '/'))
		return 0;
	what = text_format("it takes Python from %.*s, in the environment itself", (int)home.len,
	                   home.ptr);
	if (!what)
		return error_nomem(start->error);
	facts_put(site, FACTS_REPLACED, 0, slice_of(file), what);
	return 0;
}

int start_read(struct facts_site *site, const char *inside, struct error *error)
{
	size_t len = strlen(site->path), inner = strlen(inside);
	CLEANUP(cleanup_start)
	struct start start = {.site = site,
	                      .sysroot = {site->path, len > inner ? len - inner : 0},
	                      .error = error};
	int code = is_new(&start, site->path);

	if (code >= 0)
		code = pth_walk(site->path, inside, look_into_path, &start, error);
	if (code >= 0 && site->prefix[0])
		code = find_zip(&start);
	if (code >= 0 && site->prefix[0])
		code = look_at_home(&start);
	return code < 0 ? code : 0;
}

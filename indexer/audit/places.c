/*
 * places.c - finds code that Python starts from places other than site directories.
 *
 * sitecustomize and usercustomize are searched in all of sys.path: besides the site directories and
 * the standard library, which are scanned (startup.h), in directories and zips that .pth files add.
 * Before all of these, sys.path has a zip of the standard library, which normally does not exist.
 *
 * pyvenv.cfg determines the standard library of a virtual environment.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "indexer/audit/collect.h"
#include "indexer/message.h"
#include "indexer/update/startup.h"
#include "libquery/disk/metadata/pth.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/sites.h"

struct places {
	struct site *site;
	struct collect *collect;
	struct name_map seen; /* by device and inode */
	struct arena keys;
	struct slice sysroot;  /* "" without one */
	const char *place;     /* being read */
	int64_t distributions; /* in it */
};

static void cleanup_places(struct places *places)
{
	name_map_free(&places->seen);
	arena_free(&places->keys);
}

/* --- results --- */

/*
 * The name relative to the site directory, as in RECORD: "../../python312.zip"; the absolute path
 * if it is outside the environment.
 */
static struct slice name_of(struct site *site, const char *path, bool *failed)
{
	struct slice whole = slice_of(path), at = slice_of(site->path), name = whole;

	if (!site->prefix[0] || !slice_starts(whole, slice_of(site->prefix)))
		return arena_copy(&site->texts, whole, failed);
	while (!slice_starts(whole, at) || path[at.len] != '/')
		at = path_directory(at);
	name = slice_from(whole, at.len + 1);
	for (size_t i = at.len; site->path[i]; i++)
		if (site->path[i] == '/')
			name = path_join_in(&site->texts, SLICE(".."), name, failed);
	return *failed ? (struct slice){0} : arena_copy(&site->texts, name, failed);
}

static void add_file(struct places *places, const char *path)
{
	struct site *site = places->site;
	bool *failed = &places->collect->no_memory;
	struct slice file = path ? name_of(site, path, failed) : (struct slice){0};

	*failed |= !path_index_add(&site->places, file);
	worksheet_put(places->collect->sheet, "startup",
	              FACTS(fact(site->id), fact(file), fact(0), fact("module"), fact("")));
}

static int add_module(void *payload, struct slice name)
{
	struct places *places = payload;
	CLEANUP(cleanup_free) char *path = NULL;

	places->distributions += distname_is_info(name) || distname_is_egg_info(name);
	if (startup_is_module(name)) {
		path = collect_path(places->collect, "%s/%.*s", places->place, SLICE_ARGS(name));
		add_file(places, path);
	}
	return !collect_goes_on(places->collect);
}

/* --- .pth files --- */

/* Is this the first time that the file is seen, under any path? */
static bool is_new(struct places *places, const struct stat *status)
{
	CLEANUP(cleanup_free)
	char *text = collect_path(places->collect, "%llu %llu", (unsigned long long)status->st_dev,
	                          (unsigned long long)status->st_ino);
	bool *failed = &places->collect->no_memory;
	struct slice key = arena_copy(&places->keys, slice_of(text), failed);
	size_t before = places->seen.count;

	if (!*failed)
		name_map_put(&places->seen, key, 0, failed);
	return places->seen.count > before;
}

/*
 * May the file be examined on behalf of the site's owner, if root examines it, and of the readers
 * of the published result? Otherwise a .pth file could expose private data.
 */
static bool is_seen(const struct places *places, const char *place, const struct stat *status)
{
	const struct site *site = places->site;
	bool is_led = geteuid() == 0 && site->owner != 0 && site->owner != status->st_uid;
	mode_t needed = places->collect->readers.mode | (is_led ? S_IROTH : 0);

	return collect_is_readable(places->collect, place, needed);
}

/* Search the children of a directory or zip for such names. */
static void look_into(struct places *places, const char *place)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	struct error own = {0};

	places->place = place;
	places->distributions = 0;
	if (tree_open(place, &tree, &own) == 0)
		tree_children(tree, add_module, places, &own);
	if (places->distributions > 0)
		worksheet_put(
		        places->collect->sheet, "added",
		        FACTS(fact(places->site->id), fact(place), fact(places->distributions)));
	error_move_failure(&places->collect->error, &own);
}

/*
 * Anyone can create a missing file in a world-writable directory. If a link is there, readers must
 * not learn whether its target exists.
 */
static void look_at_absent(const struct places *places, struct slice place)
{
	struct slice directory = path_directory(place);
	CLEANUP(cleanup_close)
	int link = places->collect->readers.mode
	                   ? file_open(AT_FDCWD, place.ptr, O_PATH | O_NOFOLLOW)
	                   : -1;
	CLEANUP(cleanup_free)
	char *above = collect_path(places->collect, "%.*s", SLICE_ARGS(directory));
	struct stat status;

	if (link < 0 && collect_status(places->collect, above, &status) &&
	    S_ISDIR(status.st_mode) && (status.st_mode & S_IWOTH) &&
	    is_seen(places, above, &status))
		site_complain(places->site, "writable-by-others", 0, place,
		              "a .pth file adds it, it is not there, and everybody may make it");
}

static int look_at_path(void *payload, const char *path)
{
	struct places *places = payload;
	CLEANUP(cleanup_free)
	char *place = collect_path(places->collect, "%.*s%s", SLICE_ARGS(places->sysroot), path);
	struct stat status;
	bool is_there = collect_status(places->collect, place, &status);

	if (!collect_goes_on(places->collect))
		return 1;
	if (!is_there)
		look_at_absent(places, slice_of(place));
	if (is_there && is_seen(places, place, &status) && is_new(places, &status)) {
		files_look(places->site, 0, slice_of(place));
		look_into(places, place);
	}
	return !collect_goes_on(places->collect);
}

/* --- an installation --- */

/*
 * Find "python312.zip" beside the standard library "python3.12", which overrides every module of
 * it.
 */
static void find_zip(struct places *places)
{
	struct slice site = slice_of(places->site->path), library = path_directory(site);
	CLEANUP(cleanup_free)
	char *os = collect_path(places->collect, "%.*s/os.py", SLICE_ARGS(library));
	CLEANUP(cleanup_free)
	char *zip = collect_path(places->collect, "%.*s.zip", SLICE_ARGS(library));
	char *dot = zip ? strchr(strrchr(zip, '/'), '.') : NULL;
	struct stat status;

	if (!dot || !slice_ends(site, SLICE("-packages")))
		return; /* lib-dynload */
	if (strcmp(dot, ".zip") != 0)
		memmove(dot, dot + 1, strlen(dot));
	if (collect_status(places->collect, os, &status) &&
	    collect_status(places->collect, zip, &status) && S_ISREG(status.st_mode))
		add_file(places, zip);
}

/* --- a virtual environment --- */

/* A Python inside the environment itself could have been installed by a package. */
static void look_at_home(const struct places *places)
{
	const struct site *site = places->site;
	struct slice home, text, prefix = slice_of(site->prefix);
	CLEANUP(cleanup_free)
	char *file = collect_path(places->collect, "%s/pyvenv.cfg", site->prefix);
	CLEANUP(cleanup_free) char *bytes = NULL;
	CLEANUP(cleanup_free) char *what = NULL;

	if (!collect_text(places->collect, file, PYVENV_CFG_MAX, &bytes, &text))
		return;
	home = pyvenv_take(&text, SLICE("home"));
	if (!home.len || !slice_starts(home, prefix) ||
	    (home.len > prefix.len && home.ptr[prefix.len] != '/'))
		return;
	what = collect_path(places->collect, "it takes Python from %.*s, in the environment itself",
	                    SLICE_ARGS(home));
	site_complain(site, "environment-replaced", 0, slice_of(file), what);
}

void places_read(struct site *site, const char *inside)
{
	size_t len = strlen(site->path), inner = strlen(inside);
	CLEANUP(cleanup_places)
	struct places places = {.site = site,
	                        .collect = site->collect,
	                        .sysroot = {site->path, len > inner ? len - inner : 0}};
	struct stat status;

	if (collect_status(site->collect, site->path, &status))
		is_new(&places, &status);
	if (collect_goes_on(site->collect))
		pth_walk(site->path, inside, site->collect->readers, look_at_path, &places,
		         &site->collect->error);
	if (site->prefix[0] && collect_goes_on(site->collect)) {
		find_zip(&places);
		look_at_home(&places);
	}
}

/*
 * files.c - checks the owners and locations of files that run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/trust.h"
#include "indexer/audit/collect.h"
#include "libquery/disk/target/import_path.h"

/* --- write permission --- */

char *files_complaint(struct collect *collect, enum trust trust, const struct stat *status)
{
	if (trust == TRUST_FOREIGN)
		return collect_path(collect, "it belongs to user %u", status->st_uid);
	return trust != TRUST_WRITABLE
	               ? NULL
	               : collect_path(collect, "%s may write it",
	                              status->st_mode & S_IWOTH ? "everybody" : "a group");
}

void files_look(const struct site *site, int64_t distribution, struct slice file)
{
	bool is_whole = slice_starts(file, SLICE("/"));
	CLEANUP(cleanup_free)
	char *path = collect_path(site->collect, "%s%s%.*s", is_whole ? "" : site->path,
	                          is_whole ? "" : "/", SLICE_ARGS(file));
	CLEANUP(cleanup_close) int fd = path ? file_open(AT_FDCWD, path, O_PATH) : -1;
	CLEANUP(cleanup_free) char *what = NULL;
	struct stat status;

	if (collect_status(site->collect, path, &status) && fd >= 0 && fstat(fd, &status) == 0)
		what = files_complaint(site->collect, trust_of(fd, &status, site->owner), &status);
	if (what)
		site_complain(site, "writable-by-others", distribution, file, what);
}

/*
 * Check the site and the directories between it and its prefix: users who can write there can
 * replace it.
 */
static void look_at_way(const struct site *site)
{
	struct slice at = slice_of(site->path);

	files_look(site, 0, at);
	while (site->prefix[0] && at.len > strlen(site->prefix)) {
		at = path_directory(at);
		files_look(site, 0, at);
	}
}

void files_read(struct site *site)
{
	struct worksheet_rows *row;

	look_at_way(site);
	row = worksheet_walk(site->collect->sheet, "may_be_writable", FACTS(fact(site->id)));
	while (collect_goes_on(site->collect) && worksheet_next(row))
		if (worksheet_text(row, 2).ptr)
			files_look(site, worksheet_number(row, 1), worksheet_text(row, 2));
}

/* --- locations --- */

/* Unlike realpath(), it resolves links below --root as there. */
static char *real_path(const char *path)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, O_PATH);

	return fd < 0 ? NULL : file_real_path(fd);
}

/* Is @path in the directory @prefix, after resolving links in both? */
static bool is_inside(const char *path, const char *prefix)
{
	CLEANUP(cleanup_free) char *real = real_path(prefix);
	size_t len = real ? strlen(real) : 0;

	return !real || (strncmp(path, real, len) == 0 && (path[len] == '/' || len == 1));
}

/* Locate a target file; @row: of may_be_outside. */
static void locate(struct collect *collect, struct worksheet_rows *row)
{
	struct slice prefix = worksheet_text(row, 1), path = worksheet_text(row, 2);
	CLEANUP(cleanup_free) char *real = path.ptr ? real_path(path.ptr) : NULL;

	if (path.ptr && !real && errno_is_failure(errno))
		error_errno(&collect->error, errno, "%s", path.ptr);
	if (real && prefix.len > 0 && !is_inside(real, prefix.ptr) &&
	    collect_is_readable(collect, real, collect->readers.mode))
		worksheet_put(collect->sheet, "outside",
		              FACTS(fact(worksheet_number(row, 0)), fact(real)));
}

/* --- modules --- */

/* Modules are searched in one site after the other. */
struct finder {
	struct import_site site;
	struct import_cache cache;
	struct arena texts;
	int64_t id; /* of the site; 0: none yet */
};

static void finder_leave(struct finder *finder)
{
	import_cache_free(&finder->cache);
	arena_free(&finder->texts);
	if (finder->id > 0 && finder->site.fd >= 0)
		close(finder->site.fd);
}

static void finder_enter(struct finder *finder, int64_t id, const char *path,
                         struct collect *collect)
{
	if (finder->id == id)
		return;
	finder_leave(finder);
	*finder = (struct finder){.id = id};
	finder->site.cache = &finder->cache;
	finder->site.readers = collect->readers;
	finder->site.fd = file_open(AT_FDCWD, path, O_DIRECTORY);
	if (finder->site.fd < 0 && errno_is_failure(errno))
		error_errno(&collect->error, errno, "%s", path);
}

void files_locate(struct collect *collect)
{
	CLEANUP(finder_leave) struct finder finder = {0};
	struct worksheet_rows *row = worksheet_walk(collect->sheet, "may_be_unlisted", NULL);

	while (collect_goes_on(collect) && worksheet_next(row)) {
		struct slice module = worksheet_text(row, 2);
		struct import_file found = {0};

		finder_enter(&finder, worksheet_number(row, 0), worksheet_text(row, 1).ptr,
		             collect);
		if (import_find(&finder.site, module, &finder.texts, &found, &collect->error) == 0)
			worksheet_put(collect->sheet, "found",
			              FACTS(fact(finder.id), fact(module), fact(found.file.path)));
	}
	row = worksheet_walk(collect->sheet, "may_be_outside", NULL);
	while (collect_goes_on(collect) && worksheet_next(row))
		locate(collect, row);
}

/*
 * files.c - see facts.h: whose the files are that run, and where they lie.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "indexer/audit/facts.h"
#include "libquery/disk/target/import_path.h"

/* --- who may write --- */

/* What is wrong with that owner and those permissions; malloc'd, NULL where nothing is. */
static char *complaint(const struct stat *status, uid_t owner, bool *failed)
{
	enum trust trust = trust_of(status, owner);
	char *text;

	if (trust == TRUST_BELIEVED)
		return NULL;
	if (trust == TRUST_FOREIGN)
		text = text_format("it belongs to user %u", status->st_uid);
	else
		text = text_format("%s may write it",
		                   status->st_mode & S_IWOTH ? "everybody" : "a group");
	*failed |= !text;
	return text;
}

int writable_look(struct facts_site *site, int64_t distribution, const char *file,
                  struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *what = NULL;
	struct stat status;
	bool failed = false;
	int code;

	path = file[0] == '/' ? strdup(file) : text_format("%s/%s", site->path, file);
	code = path ? file_status(AT_FDCWD, path, &status, error) : error_nomem(error);
	if (code <= 0)
		return code;
	what = complaint(&status, site->owner, &failed);
	if (!what)
		return failed ? error_nomem(error) : 0;
	facts_put(site, FACTS_WRITABLE, distribution, slice_of(file), what);
	return 0;
}

static int look_at_distributions(struct facts_site *site, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < site->root->distribution_count; i++) {
		const struct distribution_record *row = &site->root->distributions[i];
		int64_t id = facts_distribution(site->id, i);
		CLEANUP(cleanup_free)
		char *directory = strndup(row->directory.ptr, row->directory.len);
		CLEANUP(cleanup_free)
		char *text = directory ? text_format("%s/entry_points.txt", directory) : NULL;

		code = text ? writable_look(site, id, directory, error) : error_nomem(error);
		if (code == 0 && row->entry_point_count > 0)
			code = writable_look(site, id, text, error);
	}
	return code;
}

/* The files of modules that entry points lead to, the directories that they are in, scripts. */
static int look_at_modules(struct facts_site *site, struct error *error)
{
	struct worksheet_query *row = worksheet_ask(
	        site->sheet,
	        "SELECT o.distribution, o.file FROM owner o JOIN distribution d ON d.id = "
	        "o.distribution WHERE d.site = ?1 UNION "
	        "SELECT o.distribution, rtrim(rtrim(o.file, replace(o.file, '/', '')), '/') "
	        "FROM owner o JOIN distribution d ON d.id = o.distribution "
	        "WHERE d.site = ?1 AND instr(o.file, '/') UNION "
	        "SELECT a.distribution, a.commands || '/' || a.name FROM announced a "
	        "WHERE a.site = ?1 AND a.is_command AND a.commands IS NOT NULL "
	        "AND NOT instr(a.name, '/')");
	int code = 0;

	worksheet_number(row, site->id);
	while (code == 0 && worksheet_next(row)) {
		struct slice file = worksheet_column(row, 1);

		if (file.ptr)
			code = writable_look(site, worksheet_integer(row, 0), file.ptr, error);
	}
	return code;
}

/* The site, and the directories from its prefix to it: whoever may write there can replace it. */
static int look_at_place(struct facts_site *site, struct error *error)
{
	size_t least = strlen(site->prefix), len = strlen(site->path);
	int code = writable_look(site, 0, site->path, error);

	while (code == 0 && least > 0 && len > least) {
		CLEANUP(cleanup_free) char *path = NULL;

		while (len > least && site->path[len - 1] != '/')
			len--;
		while (len > least && site->path[len - 1] == '/')
			len--;
		path = strndup(site->path, len);
		code = path ? writable_look(site, 0, path, error) : error_nomem(error);
	}
	return code;
}

int writable_read(struct facts_site *site, struct error *error)
{
	struct slice last = {0};
	int code = look_at_place(site, error);

	if (code == 0 && site->commands)
		code = writable_look(site, 0, site->commands, error);
	for (size_t i = 0; code == 0 && i < site->root->startup_count; i++) {
		struct slice file = site->root->startups[i].file;

		if (!slice_equal(file, last))
			code = writable_look(site, 0, file.ptr, error);
		last = file;
	}
	if (code == 0)
		code = look_at_distributions(site, error);
	return code < 0 ? code : look_at_modules(site, error);
}

/* --- where they lie --- */

/* Is @path in the directory @prefix, once all links in both are resolved? */
static bool is_inside(const char *path, const char *prefix)
{
	CLEANUP(cleanup_free) char *real = realpath(prefix, NULL);
	size_t len = real ? strlen(real) : 0;

	return !real || (strncmp(path, real, len) == 0 && (path[len] == '/' || len == 1));
}

static void put_place(struct worksheet *sheet, const char *text, int64_t entry_point,
                      const char *file)
{
	struct worksheet_query *put = worksheet_ask(sheet, text);

	worksheet_number(put, entry_point);
	worksheet_text(put, slice_of(file));
	worksheet_run(put);
}

/* A file that entry points lead to; @row: its id, the site, the prefix, the file. */
static int locate(struct worksheet *sheet, struct worksheet_query *row, struct error *error)
{
	CLEANUP(cleanup_free)
	char *path =
	        text_format("%s/%s", worksheet_column(row, 1).ptr, worksheet_column(row, 3).ptr);
	CLEANUP(cleanup_free) char *real = path ? realpath(path, NULL) : NULL;
	struct slice prefix = worksheet_column(row, 2);

	if (!path || (!real && errno_is_failure(errno)))
		return path ? error_errno(error, errno, "%s", path) : error_nomem(error);
	if (real && prefix.len > 0 && !is_inside(real, prefix.ptr))
		put_place(sheet, "INSERT OR IGNORE INTO outside VALUES (?, ?)",
		          worksheet_integer(row, 0), real);
	return 0;
}

/* --- what import takes, and no RECORD lists --- */

/* Modules are looked for in one site after the other. */
struct finder {
	struct worksheet *sheet;
	struct import_site site;
	struct import_cache cache;
	struct name_map listed; /* modules of the site that are what a RECORD lists, or not there */
	struct arena texts;
	int64_t id; /* of the site; 0: none yet */
};

static void finder_leave(struct finder *finder)
{
	import_cache_free(&finder->cache);
	name_map_free(&finder->listed);
	arena_free(&finder->texts);
	if (finder->id > 0 && finder->site.fd >= 0)
		close(finder->site.fd);
}

static int finder_enter(struct finder *finder, int64_t id, const char *path, struct error *error)
{
	if (finder->id == id)
		return 0;
	finder_leave(finder);
	*finder = (struct finder){.sheet = finder->sheet, .id = id};
	finder->site.cache = &finder->cache;
	finder->site.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return finder->site.fd < 0 && errno_is_failure(errno)
	               ? error_errno(error, errno, "%s", path)
	               : 0;
}

static bool is_listed(const struct finder *finder, struct slice file)
{
	struct worksheet_query *row = worksheet_ask(
	        finder->sheet, "SELECT 1 FROM owner o JOIN distribution d ON d.id = o.distribution "
	                       "WHERE o.file = ? AND d.site = ?");

	worksheet_text(row, file);
	worksheet_number(row, finder->id);
	return worksheet_next(row);
}

/* Not a directory without __init__, which nobody lists. */
static bool is_code(struct slice path)
{
	return slice_ends(path, SLICE(".py")) || slice_ends(path, SLICE(".so")) ||
	       slice_ends(path, SLICE(".pyc"));
}

/* What import would take for @module, if no RECORD lists it; else null. */
static int find_unlisted_file(struct finder *finder, struct slice module, struct slice *out,
                              struct error *error)
{
	struct import_file found = {0};
	bool failed = false;
	int code;

	*out = (struct slice){0};
	if (name_map_get(&finder->listed, module) != NAME_MAP_NONE)
		return 0;
	code = import_find(&finder->site, module, &finder->texts, &found, error);
	if (code < 0)
		return code;
	if (is_code(found.file.path) && !is_listed(finder, found.file.path))
		*out = found.file.path;
	else
		name_map_put(&finder->listed, arena_copy(&finder->texts, module, &failed), 0,
		             &failed);
	return failed ? error_nomem(error) : 0;
}

static void put_unlisted(struct finder *finder, int64_t entry_point, struct slice module,
                         struct slice file)
{
	struct worksheet_query *put =
	        worksheet_ask(finder->sheet, "INSERT INTO unlisted VALUES (?, ?, ?)");

	worksheet_number(put, entry_point);
	worksheet_text(put, module);
	worksheet_text(put, file);
	worksheet_run(put);
}

/* The packages that @module is in are imported before it: the first of them that is not listed. */
static int check_module(struct finder *finder, int64_t entry_point, struct slice module,
                        struct error *error)
{
	struct slice file = {0};
	int code = 0;

	for (size_t len = 1; code == 0 && !file.ptr && len <= module.len; len++) {
		struct slice part = slice_first(module, len);

		if (len < module.len && module.ptr[len] != '.')
			continue;
		code = find_unlisted_file(finder, part, &file, error);
		if (code == 0 && file.ptr)
			put_unlisted(finder, entry_point, part, file);
	}
	return code;
}

static int find_unlisted(struct worksheet *sheet, struct error *error)
{
	CLEANUP(finder_leave) struct finder finder = {.sheet = sheet};
	struct worksheet_query *row = worksheet_ask(
	        sheet,
	        "SELECT e.id, e.module, d.site, s.path FROM entry_point e "
	        "JOIN distribution d ON d.id = e.distribution JOIN site s ON s.id = d.site "
	        "WHERE e.module <> '' AND e.kind IN ('python', 'extension') AND NOT s.managed "
	        "AND d.has_record ORDER BY d.site");
	int code = 0;

	while (code == 0 && worksheet_next(row)) {
		code = finder_enter(&finder, worksheet_integer(row, 2),
		                    worksheet_column(row, 3).ptr, error);
		if (code == 0)
			code = check_module(&finder, worksheet_integer(row, 0),
			                    worksheet_column(row, 1), error);
	}
	return code;
}

int files_locate(struct worksheet *sheet, struct error *error)
{
	struct worksheet_query *row;
	int code = find_unlisted(sheet, error);

	row = worksheet_ask(
	        sheet, "SELECT e.id, s.path, s.prefix, o.file FROM entry_point e "
	               "JOIN distribution d ON d.id = e.distribution JOIN site s ON s.id = d.site "
	               "JOIN owner o ON o.module = e.module AND o.distribution = d.id "
	               "WHERE NOT s.managed UNION ALL "
	               "SELECT a.id, a.commands, a.prefix, a.name FROM announced a "
	               "WHERE a.is_command AND a.commands IS NOT NULL AND NOT a.managed "
	               "AND NOT instr(a.name, '/') UNION ALL "
	               "SELECT e.id, s.path, s.prefix, u.file FROM unlisted u "
	               "JOIN entry_point e ON e.id = u.entry_point "
	               "JOIN distribution d ON d.id = e.distribution JOIN site s ON s.id = d.site");
	while (code == 0 && worksheet_next(row))
		if (worksheet_column(row, 1).ptr && worksheet_column(row, 3).ptr)
			code = locate(sheet, row, error);
	return code < 0 ? code : worksheet_failure(sheet, error);
}

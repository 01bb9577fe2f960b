/*
 * files.c - see facts.h: whose the files are that run, and where they lie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "indexer/audit/facts.h"

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

/* @file: relative to the site, or absolute; @distribution: 0 where it is the site's own. */
static int look(struct facts_site *site, int64_t distribution, const char *file,
                struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *what = NULL;
	struct worksheet_query *put;
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
	put = worksheet_ask(site->sheet, "INSERT INTO writable VALUES (?, nullif(?, 0), ?, ?)");
	worksheet_number(put, site->id);
	worksheet_number(put, distribution);
	worksheet_text(put, slice_of(file));
	worksheet_text(put, slice_of(what));
	worksheet_run(put);
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

		code = text ? look(site, id, directory, error) : error_nomem(error);
		if (code == 0 && row->entry_point_count > 0)
			code = look(site, id, text, error);
	}
	return code;
}

/* The files of modules that entry points lead to, and the directories that they are in. */
static int look_at_modules(struct facts_site *site, struct error *error)
{
	struct worksheet_query *row = worksheet_ask(
	        site->sheet,
	        "SELECT o.distribution, o.file FROM owner o JOIN distribution d ON d.id = "
	        "o.distribution WHERE d.site = ?1 UNION "
	        "SELECT o.distribution, rtrim(rtrim(o.file, replace(o.file, '/', '')), '/') "
	        "FROM owner o JOIN distribution d ON d.id = o.distribution "
	        "WHERE d.site = ?1 AND instr(o.file, '/')");
	int code = 0;

	worksheet_number(row, site->id);
	while (code == 0 && worksheet_next(row)) {
		struct slice file = worksheet_column(row, 1);

		if (file.ptr)
			code = look(site, worksheet_integer(row, 0), file.ptr, error);
	}
	return code;
}

int writable_read(struct facts_site *site, struct error *error)
{
	struct slice last = {0};
	int code = look(site, 0, site->path, error);

	if (code == 0 && site->commands)
		code = look(site, 0, site->commands, error);
	for (size_t i = 0; code == 0 && i < site->root->startup_count; i++) {
		struct slice file = site->root->startups[i].file;

		if (!slice_equal(file, last))
			code = look(site, 0, file.ptr, error);
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

/* Where import would look for a module without a RECORD: 1 found, as *out; 0 not. */
static int find_module(const char *site, struct slice module, char **out, struct error *error)
{
	static const char *const suffixes[] = {".py", "/__init__.py"};
	CLEANUP(cleanup_free) char *inner = strndup(module.ptr, module.len);
	int code = inner ? 0 : error_nomem(error);

	for (size_t i = 0; inner && inner[i]; i++)
		if (inner[i] == '.')
			inner[i] = '/';
	for (size_t i = 0; code == 0 && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		CLEANUP(cleanup_free) char *path = NULL;
		struct stat status;

		path = text_format("%s/%s%s", site, inner, suffixes[i]);
		code = path ? file_status(AT_FDCWD, path, &status, error) : error_nomem(error);
		if (code > 0)
			*out = take(path);
	}
	return code;
}

static int find_unlisted(struct worksheet *sheet, struct error *error)
{
	struct worksheet_query *row = worksheet_ask(
	        sheet, "SELECT e.id, s.path, e.module FROM entry_point e "
	               "JOIN distribution d ON d.id = e.distribution JOIN site s ON s.id = d.site "
	               "WHERE e.module <> '' AND e.kind = 'python' AND NOT s.managed "
	               "AND d.has_record AND NOT d.is_editable "
	               "AND NOT EXISTS (SELECT 1 FROM owner o WHERE o.module = e.module)");
	int code = 0;

	while (code >= 0 && worksheet_next(row)) {
		struct slice site = worksheet_column(row, 1), module = worksheet_column(row, 2);
		CLEANUP(cleanup_free) char *file = NULL;

		if (!site.ptr || !module.ptr)
			continue;
		code = find_module(site.ptr, module, &file, error);
		if (code > 0)
			put_place(sheet, "INSERT INTO unlisted VALUES (?, ?)",
			          worksheet_integer(row, 0), file + site.len + 1);
	}
	return code < 0 ? code : 0;
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
	               "SELECT e.id, s.path, s.prefix, u.file FROM unlisted u "
	               "JOIN entry_point e ON e.id = u.entry_point "
	               "JOIN distribution d ON d.id = e.distribution JOIN site s ON s.id = d.site");
	while (code == 0 && worksheet_next(row))
		if (worksheet_column(row, 1).ptr && worksheet_column(row, 3).ptr)
			code = locate(sheet, row, error);
	return code < 0 ? code : worksheet_failure(sheet, error);
}

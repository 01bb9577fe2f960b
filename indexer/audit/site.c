/*
 * site.c - see facts.h: a site directory as it is now.
 *
 * The database tells what was so; what is judged must be so at this moment. So each
 * site is scanned, and the rows of the database serve where nothing has changed.
 */
#include "indexer/audit/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "indexer/progress.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/layout.h"

/* --- the environment --- */

/* "PREFIX/lib/python3.12/site-packages", "PREFIX/lib64/...": where the prefix ends; or NULL. */
static const char *end_of_prefix(const char *path)
{
	static const char *const layouts[] = {"/lib/python", "/lib64/python", "/lib/pypy",
	                                      "/local/lib/python"};
	const char *end = NULL;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		const char *at = strstr(path, layouts[i]);

		if (at && (!end || at < end))
			end = at;
	}
	return end;
}

static int find_environment(struct facts_site *site, const char *inside, struct error *error)
{
	const char *end = end_of_prefix(site->path), *inner = end_of_prefix(inside);
	struct slice prefix = inner ? slice_between(inside, inner) : (struct slice){0};
	struct stat status;
	int code;

	site->managed = slice_equal(prefix, SLICE("/usr")) && !strstr(inside, "/usr/local/");
	site->prefix = end ? strndup(site->path, (size_t)(end - site->path)) : strdup("");
	site->commands = end && site->prefix ? text_format("%s/bin", site->prefix) : NULL;
	if (!site->prefix || (end && !site->commands))
		return error_nomem(error);
	code = file_status(AT_FDCWD, site->path, &status, error);
	site->owner = code > 0 ? status.st_uid : geteuid();
	return code < 0 ? code : 0;
}

/* --- rows --- */

static void put_site(const struct facts_site *site)
{
	struct worksheet_query *row =
	        worksheet_ask(site->sheet, "INSERT INTO site VALUES (?, ?, ?, ?, ?)");

	worksheet_number(row, site->id);
	worksheet_text(row, slice_of(site->path));
	worksheet_text(row, slice_of(site->prefix));
	worksheet_text(row, slice_of(site->commands));
	worksheet_number(row, site->managed);
	worksheet_run(row);
}

static void put_entry_point(const struct facts_site *site, int64_t distribution, size_t number,
                            const struct entry_point_record *row)
{
	struct worksheet_query *put = worksheet_ask(
	        site->sheet, "INSERT INTO entry_point VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	const struct target_record *target = row->target;

	worksheet_number(put, facts_entry_point(distribution, number));
	worksheet_number(put, distribution);
	worksheet_text(put, row->group);
	worksheet_text(put, row->name);
	worksheet_text(put, row->value);
	worksheet_text(put, row->module);
	worksheet_text(put, slice_of(target_kind_name(target ? target->kind : TARGET_PYTHON)));
	worksheet_text(put, slice_of(target_state_name(target ? target->state : TARGET_OK)));
	worksheet_text(put, target ? target->object : (struct slice){0});
	worksheet_text(put, target ? target->missing : (struct slice){0});
	worksheet_number(put, facts_is_command(row));
	worksheet_run(put);
}

static void put_distribution(const struct facts_site *site, size_t number,
                             const struct distribution_record *row)
{
	struct worksheet_query *put = worksheet_ask(
	        site->sheet,
	        "INSERT INTO distribution VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, 0)");
	int64_t id = facts_distribution(site->id, number);

	worksheet_number(put, id);
	worksheet_number(put, site->id);
	worksheet_text(put, row->directory);
	worksheet_text(put, slice_is_null(row->name) ? row->directory : row->name);
	worksheet_text(put, row->normalized_name);
	worksheet_text(put, row->version);
	worksheet_text(put, row->error);
	worksheet_number(put, slice_ends(row->directory, SLICE(".dist-info")));
	worksheet_run(put);
	for (size_t i = 0; i < row->entry_point_count; i++)
		put_entry_point(site, id, i, &row->entry_points[i]);
}

static void put_startup(const struct facts_site *site, const struct startup_record *row)
{
	struct worksheet_query *put =
	        worksheet_ask(site->sheet, "INSERT INTO startup (site, file, line, kind, code) "
	                                   "VALUES (?, ?, ?, ?, ?)");

	worksheet_number(put, site->id);
	worksheet_text(put, row->file);
	worksheet_number(put, row->line);
	worksheet_text(put, slice_of(startup_kind_name(row->kind)));
	worksheet_text(put, row->code);
	worksheet_run(put);
}

/* --- history --- */

struct history {
	struct facts_site *site;
	struct slice root; /* as the database spells it */
};

static int put_event(void *payload, const struct reader_event *event)
{
	const struct history *history = payload;
	struct worksheet_query *put;

	if (!slice_equal(event->root, history->root))
		return 0;
	put = worksheet_ask(history->site->sheet,
	                    "INSERT INTO event (site, time, action, distribution, old_version, "
	                    "version, detail, command, uid) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
	worksheet_number(put, history->site->id);
	worksheet_number(put, event->time);
	worksheet_text(put, event->action);
	worksheet_text(put, event->distribution);
	worksheet_text(put, event->old_version);
	worksheet_text(put, event->version);
	worksheet_text(put, event->detail);
	worksheet_text(put, event->command);
	worksheet_number(put, event->uid);
	worksheet_run(put);
	return 0;
}

/* --- reading --- */

/* The rows of the database, to compare the disk with; none where there are none to be had. */
static int read_rows(struct facts_site *site, const struct database_root *wanted,
                     struct reader *reader, struct error *error)
{
	struct history history = {site, slice_of(wanted->root_path)};
	int code = reader ? reader_root(reader, history.root, &site->rows, error) : 0;

	if (code > 0)
		code = reader_distributions(reader, &site->rows, true, error);
	return reader && code == 0 ? reader_events(reader, put_event, &history, error) : code;
}

static int scan_site(struct facts_site *site, const struct database_root *wanted,
                     struct error *error)
{
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA | SCAN_STARTUP,
	        .targets = target_records,
	        .in_place = !layout_is_known(wanted->inside),
	        .egg_base = slice_of(wanted->root_path),
	        .known = site->rows.kind == ROOT_DIRECTORY ? &site->rows : NULL,
	        .on_progress = progress_ask,
	};

	return scan_path(site->path, &how, &site->disk, error);
}

static int put_rows(struct facts_site *site, struct error *error)
{
	const struct root_record *root = &site->disk;

	put_site(site);
	for (size_t i = 0; i < root->distribution_count; i++)
		put_distribution(site, i, &root->distributions[i]);
	for (size_t i = 0; i < root->startup_count; i++)
		put_startup(site, &root->startups[i]);
	return worksheet_failure(site->sheet, error);
}

/* To whoever may not list it, the directory is as good as empty; not so to others. */
static void check_withheld(const struct facts_site *site)
{
	if (faccessat(AT_FDCWD, site->path, R_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES)
		facts_put(site, FACTS_UNREAD, 0, slice_of(site->path),
		          "the directory cannot be read");
}

static void cleanup_site(struct facts_site *site)
{
	free(site->prefix);
	free(site->commands);
	root_record_free(&site->disk);
	root_record_free(&site->rows);
	startup_files_free(&site->starts);
	arena_free(&site->texts);
}

int site_read(struct worksheet *sheet, int64_t id, const struct database_root *wanted,
              struct reader *reader, struct error *error)
{
	CLEANUP(cleanup_site)
	struct facts_site site = {.sheet = sheet, .id = id, .path = wanted->path};
	int code = find_environment(&site, wanted->inside, error);

	if (code == 0)
		code = read_rows(&site, wanted, reader, error);
	if (code == 0)
		code = scan_site(&site, wanted, error);
	site.root = &site.disk;
	if (code == 0)
		code = put_rows(&site, error);
	if (code == 0)
		check_withheld(&site);
	if (code == 0 && site.disk.kind == ROOT_DIRECTORY)
		code = start_read(&site, wanted->inside, error);
	if (code == 0 && site.disk.kind == ROOT_DIRECTORY)
		code = installed_read(&site, error);
	if (code == 0 && site.disk.kind == ROOT_DIRECTORY)
		code = writable_read(&site, error);
	if (code == 0)
		names_read(&site);
	return code < 0 ? code : worksheet_failure(sheet, error);
}

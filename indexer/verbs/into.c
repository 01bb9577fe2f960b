/*
 * into.c - see into.h.
 *
 * Whoever builds an image knows what will be installed before it is, and wants the
 * database to be ready with it. The rows are made as if the files were in place:
 *
 *     the directory as it is now, if it is there (a scan, as for update)
 *       and what was recorded before and is not installed yet
 *       less what the archives replace, by name
 *       and the archives' own distributions
 *
 * The root is not settled, so readers scan the directory themselves until an update
 * has seen the files. A distribution that is in the directory already is taken from
 * there; if all are, the root is settled as usual.
 */
#include "indexer/verbs/into.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/archive/package.h"
#include "indexer/verbs/merge.h"
#include "indexer/verbs/placed.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/layout.h"

/* --- the root in the making --- */

struct site {
	const struct edit *edit;
	const struct archive_list *list;
	const struct plugin_kinds *kinds;
	struct add_report *report;
	const struct database_root *wanted;
	int fd;                    /* of the directory; -1: it is not there yet */
	struct root_record known;  /* the rows */
	struct root_record now;    /* the directory as it is */
	struct root_record *added; /* of each archive */
	size_t added_count;
	struct merge merge;
	struct distribution_record *merged; /* what came of it */
	size_t merged_count;
	bool has_rows, is_pending;
};

static void cleanup_site(struct site *site)
{
	root_record_free(&site->known);
	root_record_free(&site->now);
	for (size_t i = 0; i < site->added_count; i++)
		root_record_free(&site->added[i]);
	free(site->added);
	free(site->merged);
	merge_free(&site->merge);
	cleanup_close(&site->fd);
}

static int find_rows(struct site *site, struct error *error)
{
	struct slice path = slice_of(site->wanted->root_path);
	int found;

	root_record_free(&site->known);
	found = writer_find_root(site->edit->writer, path, &site->known, error);
	site->has_rows = found > 0;
	site->known.path = path;
	return found < 0 ? found : 0;
}

/* The directory as update would read it. */
static int scan_directory(struct site *site, struct error *error)
{
	CLEANUP(cleanup_linkage)
	struct linkage *linkage = linkage_create(site->edit->options->sysroot);
	struct stat status;
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA | SCAN_STARTUP,
	        .targets = target_records,
	        .in_place = !layout_is_known(site->wanted->inside),
	        .egg_base = slice_of(site->wanted->root_path),
	        .known = site->has_rows ? &site->known : NULL,
	        .readers = site->edit->mode & 0444,
	        .linkage = linkage,
	        .kinds = site->kinds,
	        .place = slice_of(site->wanted->inside),
	        .on_progress = progress_ask,
	};

	if (!linkage)
		return error_nomem(error);
	site->now.kind = ROOT_DIRECTORY;
	site->fd = file_open(AT_FDCWD, site->wanted->path, O_DIRECTORY);
	if (site->fd < 0)
		return errno == ENOENT ? 0 : error_errno(error, errno, "%s", site->wanted->path);
	if (fstat(site->fd, &status) == 0)
		how.now = writer_time_on(site->edit->writer, status.st_dev, false);
	return scan_path(site->wanted->path, &how, &site->now, error);
}

/* A directory that the database has not seen is first recorded as what it is. */
static int record_directory(struct site *site, struct error *error)
{
	int code;

	site->now.path = slice_of(site->wanted->root_path);
	if (site->has_rows || site->now.distribution_count == 0)
		return 0;
	code = store_root(site->edit->writer, &site->now, NULL, &site->edit->result->stored, error);
	for (size_t i = 0; i < site->now.distribution_count; i++)
		site->now.distributions[i].reused = true;
	return code < 0 ? code : find_rows(site, error);
}

/* --- the archives --- */

static int read_archive(struct site *site, const char *path, struct root_record *root,
                        struct error *error)
{
	CLEANUP(package_close) struct package package = PACKAGE_INIT;
	int code = package_open(path, interrupted, &package, error);

	if (code < 0)
		return code;
	add_report_ignored(site->report, &package);
	return placed_scan(&package, site->fd, site->kinds, root, error);
}

/* Any failure is the archive's own. */
static int add_archive(struct site *site, const char *path)
{
	struct root_record *root = &site->added[site->added_count++];
	struct error why = {0};

	if (read_archive(site, path, root, &why) < 0)
		return add_report_failed(site->report, path, &why);
	add_report_archive(site->report, path, root, ADD_ADDED);
	return 0;
}

static int read_archives(struct site *site, struct error *error)
{
	const struct archive_list *list = site->list;
	int code = 0;

	site->added = calloc(list->count + 1, sizeof(*site->added));
	if (!site->added)
		return error_nomem(error);
	for (size_t i = 0; code == 0 && i < list->count; i++) {
		progress_show(&site->report->progress, list->paths[i], i, list->count);
		code = interrupted() ? ERROR_IO : add_archive(site, list->paths[i]);
	}
	return code;
}

/* --- all together --- */

/* What is installed, and what was recorded before and is not installed yet. */
static int merge_known(struct site *site, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < site->now.distribution_count; i++)
		code = merge_add(&site->merge, &site->now.distributions[i], error);
	for (size_t i = 0; code == 0 && i < site->known.distribution_count; i++) {
		struct distribution_record row = site->known.distributions[i];

		if (!placed_is_pending(&row) || merge_find(&site->merge, row.directory))
			continue;
		row.reused = true;
		code = merge_add(&site->merge, &row, error);
	}
	return code;
}

/* Unless it is installed, or recorded from the very same archive, already. */
static int merge_added(struct site *site, const struct distribution_record *row,
                       struct error *error)
{
	struct distribution_record *there = merge_find(&site->merge, row->directory);
	struct distribution_record added = *row;
	int code;

	if (there && (!placed_is_pending(there) || there->directory_stamp == row->directory_stamp))
		return 0;
	if (there) {
		added.id = there->id;
		merge_drop(there);
	}
	code = merge_drop_replaced(&site->merge, row, error);
	return code < 0 ? code : merge_add(&site->merge, &added, error);
}

static int merge_all(struct site *site, struct error *error)
{
	int code = merge_known(site, error);

	for (size_t i = 0; i < site->added_count; i++)
		for (size_t j = 0; code == 0 && j < site->added[i].distribution_count; j++)
			code = merge_added(site, &site->added[i].distributions[j], error);
	if (code < 0)
		return code;
	return merge_finish(&site->merge, &site->merged, &site->merged_count, error);
}

/* Positions of what is not there yet follow those of what is. */
static void number_rows(struct site *site, struct root_record *root)
{
	uint32_t next = (uint32_t)site->now.distribution_count;

	root->broken = root->watched = 0;
	site->is_pending = false;
	for (size_t i = 0; i < site->merged_count; i++) {
		struct distribution_record *row = &site->merged[i];

		root->broken += !slice_is_null(row->error);
		root->watched += row->watched;
		if (!placed_is_pending(row))
			continue;
		row->position = next++;
		site->is_pending = true;
	}
}

static int store(struct site *site, struct error *error)
{
	struct root_record root = site->now;

	if (!site->has_rows && site->merged_count == 0)
		return 0;
	root.distributions = site->merged;
	root.distribution_count = site->merged_count;
	number_rows(site, &root);
	root.settled = site->now.settled && !site->is_pending;
	return store_root(site->edit->writer, &root, &site->known, &site->edit->result->stored,
	                  error);
}

int into_site(struct edit *edit, const struct archive_list *list, const struct plugin_kinds *kinds,
              struct add_report *report, struct error *error)
{
	CLEANUP(cleanup_site)
	struct site site = {
	        .edit = edit,
	        .list = list,
	        .kinds = kinds,
	        .report = report,
	        .wanted = &edit->database->roots[0],
	        .fd = -1,
	};
	int code = find_rows(&site, error);

	if (code == 0)
		code = scan_directory(&site, error);
	if (code == 0)
		code = record_directory(&site, error);
	if (code == 0)
		code = read_archives(&site, error);
	if (code == 0)
		code = merge_all(&site, error);
	return code < 0 ? code : store(&site, error);
}

/*
 * in_step.c - see in_step.h. Whatever cannot be read counts as out of step: the
 * update that follows will say why.
 */
#include "indexer/update/in_step.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/reader.h"
#include "indexer/gone.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/layout.h"
#include "libquery/site_kinds.h"

/* --- by the times of the roots --- */

static bool root_is_fresh(struct reader *reader, const struct database_root *wanted,
                          const struct plugin_kinds *kinds)
{
	struct root_record row;
	struct stat status;

	return stat(wanted->path, &status) == 0 &&
	       reader_root(reader, slice_of(wanted->root_path), &row, NULL) > 0 && row.settled &&
	       row.kinds == scan_kinds(row.kind, kinds) && row.watched == 0 &&
	       stamp_equal(row.stamp, stamp_of(&status));
}

bool database_is_fresh(const struct options *options, const struct database *database)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	CLEANUP(cleanup_plugin_kinds) struct plugin_kinds *kinds = NULL;

	if (site_kinds_load(options->sysroot, &kinds, NULL, NULL) < 0)
		return false;
	if (options->fresh != ENTRYDB_FRESH_ROOTS ||
	    reader_open(database->file, database->uid, &reader, NULL) < 0)
		return false;
	if (reader_status(reader).is_marked_stale)
		return false;
	for (size_t i = 0; i < database->root_count; i++)
		if (!root_is_fresh(reader, &database->roots[i], kinds))
			return false;
	return true;
}

/* --- distribution by distribution --- */

static bool distribution_is_in_step(const struct distribution_record *row,
                                    const struct distribution_record *disk, bool nearly)
{
	return row->id == disk->id && row->directory_stamp == disk->directory_stamp &&
	       row->files_stamp == disk->files_stamp && slice_equal(row->version, disk->version) &&
	       (nearly || (row->settled && row->watched == disk->watched));
}

static bool rows_are_in_step(const struct root_record *rows, const struct root_record *disk,
                             bool nearly)
{
	if (rows->kind != disk->kind || !stamp_equal(rows->stamp, disk->stamp) ||
	    rows->distribution_count != disk->distribution_count || !(nearly || rows->settled))
		return false;
	for (size_t i = 0; i < rows->distribution_count; i++)
		if (!distribution_is_in_step(&rows->distributions[i], &disk->distributions[i],
		                             nearly))
			return false;
	return true;
}

/* In a tree that was carried no stamp is as it was, which readers know. */
static bool all_are_reused(const struct root_record *rows, const struct root_record *disk)
{
	if (rows->kind != disk->kind || rows->distribution_count != disk->distribution_count)
		return false;
	for (size_t i = 0; i < disk->distribution_count; i++)
		if (!disk->distributions[i].reused)
			return false;
	return true;
}

static bool root_is_absent(const struct database_root *wanted)
{
	return access(wanted->path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* @reader: NULL where there is no database, which is right where there is no root. */
static bool root_is_in_step(struct reader *reader, const struct database_root *wanted,
                            const struct carried *carried, mode_t readers, bool nearly)
{
	CLEANUP(root_record_free) struct root_record rows = {0};
	CLEANUP(root_record_free) struct root_record disk = {0};
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .in_place = !layout_is_known(wanted->inside),
	        .egg_base = slice_of(wanted->root_path),
	        .known = &rows,
	        .readers = readers,
	};
	int found = reader ? reader_root(reader, slice_of(wanted->root_path), &rows, NULL) : 0;
	struct stat status;

	if (found == 0)
		return root_is_absent(wanted);
	if (found > 0 && carried && stat(wanted->path, &status) == 0 &&
	    carried_with(carried, rows.stamp, stamp_of(&status)))
		how.carried = carried;
	if (found < 0 || reader_distributions(reader, &rows, false, NULL) < 0 ||
	    scan_path(wanted->path, &how, &disk, NULL) < 0)
		return false;
	return rows_are_in_step(&rows, &disk, nearly) ||
	       (nearly && how.carried && all_are_reused(&rows, &disk));
}

static bool has_gone_roots(const struct options *options, const struct database *database,
                           struct reader *reader)
{
	CLEANUP(gone_free) struct gone gone = {0};

	return gone_begin(&gone, options, database) < 0 ||
	       reader_roots(reader, gone_collect, &gone, NULL) < 0 || gone.paths.count > 0;
}

bool database_is_in_step(const struct options *options, const struct database *database,
                         bool nearly)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	int code = reader_open(database->file, database->uid, &reader, NULL);
	struct carried carried;
	bool was_carried;
	mode_t mode;

	if ((code < 0 && code != ERROR_NOTFOUND) || database_mode(database, &mode, NULL) < 0)
		return false;
	if (reader &&
	    (reader_status(reader).is_marked_stale || has_gone_roots(options, database, reader)))
		return false;
	was_carried = reader && options->fresh != ENTRYDB_FRESH_EXACT &&
	              reader_carried(reader, &carried, NULL) > 0;
	for (size_t i = 0; i < database->root_count; i++)
		if (!root_is_in_step(reader, &database->roots[i], was_carried ? &carried : NULL,
		                     mode & 0444, nearly))
			return false;
	return true;
}

/*
 * Decides whether a database needs an update, by comparing it with the disk.
 */
#include "indexer/update/needed.h"

#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/reader.h"
#include "indexer/update/startup.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/layout.h"
#include "libquery/sites.h"

struct question {
	const struct database *database;
	struct reader *reader;      /* NULL: no database */
	struct plugin_kinds *kinds; /* NULL: check each distribution */
	struct readers readers;
	bool lenient;
};

static void cleanup_question(struct question *question)
{
	reader_close(question->reader);
	plugin_kinds_free(question->kinds);
}

static bool row_is_right(const struct distribution_record *row,
                         const struct distribution_record *disk, bool lenient)
{
	return row->id == disk->id && row->directory_stamp == disk->directory_stamp &&
	       row->files_stamp == disk->files_stamp && slice_equal(row->version, disk->version) &&
	       (lenient || (row->settled && row->watched == disk->watched));
}

static bool rows_hold(const struct root_record *rows, const struct root_record *disk, bool lenient)
{
	if (rows->kind != disk->kind || !stamp_equal(rows->stamp, disk->stamp) ||
	    rows->distribution_count != disk->distribution_count || !(lenient || rows->settled))
		return false;
	for (size_t i = 0; i < rows->distribution_count; i++)
		if (!row_is_right(&rows->distributions[i], &disk->distributions[i], lenient))
			return false;
	return true;
}

bool root_times_hold(const struct root_record *row, const struct plugin_kinds *kinds,
                     const struct stat *status)
{
	return row->settled && row->watched == 0 && row->kinds == scan_kinds(row->kind, kinds) &&
	       stamp_equal(row->stamp, stamp_of(status));
}

struct scan_options root_scan(const struct database_root *root, struct readers readers,
                              struct linkage *linkage, const struct plugin_kinds *kinds)
{
	return (struct scan_options){
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .targets = target_records,
	        .startup = &startup_scan,
	        .in_place = !layout_is_known(root->inside),
	        .egg_base = slice_of(root->root_path),
	        .readers = readers,
	        .linkage = linkage,
	        .kinds = kinds,
	        .place = slice_of(root->inside),
	        .on_progress = progress_ask,
	};
}

/* A root that does not exist needs no rows. */
static bool root_holds(const struct question *question, const struct database_root *wanted)
{
	CLEANUP(root_record_free) struct root_record rows = {0};
	CLEANUP(root_record_free) struct root_record disk = {0};
	struct slice root_path = slice_of(wanted->root_path);
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .in_place = !layout_is_known(wanted->inside),
	        .egg_base = slice_of(wanted->root_path),
	        .known = &rows,
	        .readers = question->readers,
	};
	struct stat status;
	int found = question->reader ? reader_root(question->reader, root_path, &rows, NULL) : 0;

	if (found <= 0)
		return found == 0 && !question->kinds && known_root_is_gone(wanted->path);
	if (question->kinds)
		return file_status(AT_FDCWD, wanted->path, &status, NULL) > 0 &&
		       root_times_hold(&rows, question->kinds, &status);
	return reader_distributions(question->reader, &rows, false, NULL) == 0 &&
	       scan_path(wanted->path, &how, &disk, NULL) == 0 &&
	       rows_hold(&rows, &disk, question->lenient);
}

static bool has_gone_roots(const struct options *options, const struct question *question)
{
	CLEANUP(sites_free) struct sites known = {0};
	bool gone = reader_roots(question->reader, known_roots_add, &known, NULL) < 0;

	for (size_t i = 0; !gone && i < known.count; i++) {
		CLEANUP(cleanup_free) char *path = NULL;

		gone = known_root_path(options, question->database->file, known.paths[i], &path,
		                       NULL) < 0 ||
		       (path && known_root_is_gone(path));
	}
	return gone;
}

/* Has a directory or archive been closed to readers of the caller's file? */
static bool must_narrow(const struct question *question, mode_t mode)
{
	return reader_status(question->reader).owner == geteuid() &&
	       reader_must_narrow(question->reader, mode);
}

bool update_is_needed(const struct options *options, const struct database *database, bool lenient)
{
	CLEANUP(cleanup_question)
	struct question question = {.database = database, .lenient = lenient};
	mode_t mode;
	int code = reader_open(database->file, database->uid, &question.reader, NULL);

	if ((code < 0 && code != ERROR_NOTFOUND) ||
	    database_mode(options, database, question.reader, &mode, NULL) < 0)
		return true;
	if (options->fresh == ENTRYDB_FRESH_ROOTS &&
	    plugin_kinds_load(options->sysroot, &question.kinds, NULL, NULL) < 0)
		return true;
	if (question.reader && (reader_status(question.reader).is_marked_stale ||
	                        must_narrow(&question, mode) || has_gone_roots(options, &question)))
		return true;
	question.readers = database_readers(database, mode);
	for (size_t i = 0; i < database->root_count; i++)
		if (!root_holds(&question, &database->roots[i]))
			return true;
	return false;
}

/*
 * update.c - updates the databases by the disk, run by hand or by a hook.
 *
 *     for each database of the arguments
 *       is anything to be done?  (needed.h: reads only, no lock)
 *       lock, copy; for each root: scan, reusing unchanged rows; store
 *       drop roots that no longer exist; publish
 *
 * A failure in one root or database does not stop the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/publish.h"
#include "indexer/manifests.h"
#include "indexer/update/edit.h"
#include "indexer/update/events.h"
#include "indexer/update/needed.h"
#include "indexer/verb.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/layout.h"

struct update {
	struct progress progress; /* must be first, for progress_ask() */
	const struct options *options;
	const struct database *database;
	const struct database_root *wanted; /* the current root */
	struct stat status;                 /* its status before reading */
	struct writer *writer;
	struct edit_result *result;
	struct linkage *linkage;
	struct plugin_kinds *kinds;
	struct readers readers; /* of the published file; see scan.h */
};

static bool has_done_any(const struct edit_result *result)
{
	return result->roots + result->unsettled + result->stored.removed > 0;
}

/*
 * --- sealed databases, for images and archives ---
 *
 * Their content depends on the files alone: no times, inodes or events, and no directory order. So
 * the same tree gives the same bytes, wherever and whenever it is indexed. How readers use it:
 * db/carried.h.
 */

#define SEALED_STAMP 1 /* in place of a digest of times */

/* The pretended time of the scan: so late that no file is recent. */
static const struct timespec seal_time = {.tv_sec = 9000000000}; /* in the year 2255 */

static int by_directory(const void *a, const void *b)
{
	return slice_compare(((const struct distribution_record *)a)->directory,
	                     ((const struct distribution_record *)b)->directory);
}

/* Remove everything from the scanned @root that depends on place and time. */
static void seal_root(struct root_record *root)
{
	if (root->distribution_count > 0)
		qsort(root->distributions, root->distribution_count, sizeof(*root->distributions),
		      by_directory);
	for (size_t i = 0; i < root->distribution_count; i++) {
		struct distribution_record *distribution = &root->distributions[i];

		distribution->position = (uint32_t)i;
		distribution->directory_stamp = 0;
		distribution->files_stamp = SEALED_STAMP;
		distribution->entry_points_txt.mtime = distribution->metadata.mtime = 0;
	}
	root->stamp = (struct stamp){0};
}

static int by_root_path(const void *a, const void *b)
{
	return strcmp(((const struct database_root *)a)->root_path,
	              ((const struct database_root *)b)->root_path);
}

/* Sort the roots of each database independently of directory order. */
static void seal_order(struct databases *databases)
{
	for (size_t i = 0; i < databases->count; i++)
		if (databases->items[i].root_count > 0)
			qsort(databases->items[i].roots, databases->items[i].root_count,
			      sizeof(*databases->items[i].roots), by_root_path);
}

/* --- one root --- */

static void complain(struct update *update, struct slice directory, const char *why)
{
	progress_erase(&update->progress);
	message("%s/%.*s: %s", update->wanted->path, (int)directory.len, directory.ptr, why);
}

/* The root no longer exists: all its distributions are removed. */
static int remove_root(struct update *update, const struct root_record *known, struct error *error)
{
	struct events events = {update->writer, known->path, error};
	int code = 0;

	for (size_t i = 0; code == 0 && i < known->distribution_count; i++) {
		update->result->stored.removed++;
		code = events_distribution(&events, &known->distributions[i], NULL);
	}
	return code < 0 ? code : writer_drop_root(update->writer, known->id, error);
}

/*
 * The time of the file system of both the root and the database, past @time and the last change of
 * the root: see writer_time_past().
 */
static struct timespec now_after(void *payload, int64_t time)
{
	struct update *update = payload;
	struct stat root;
	int64_t changed;

	if (file_status(AT_FDCWD, update->wanted->path, &root, NULL) <= 0)
		return (struct timespec){0};
	changed = nanoseconds_of(root.st_ctim);
	return writer_time_past(update->writer, root.st_dev, time > changed ? time : changed);
}

/* Make readers check the root, and the next update try again. */
static int unsettle(struct update *update, struct root_record *known, struct error *error)
{
	if (!known->settled)
		return 0;
	known->settled = false;
	update->result->unsettled++;
	return writer_put_root(update->writer, known, error);
}

/*
 * A root that cannot be read is reported and keeps its rows, which may be wrong. @known: NULL if
 * there are none.
 */
static int skip_root(struct update *update, struct root_record *known, struct error *error)
{
	bool unsettles = known && error_is_failure(error->code);

	progress_erase(&update->progress);
	fail(error);
	update->result->failed++;
	return unsettles ? unsettle(update, known, error) : 0;
}

/* A distribution that could not be read keeps its row. */
static void report_unread(void *payload, struct slice directory, const struct error *error)
{
	struct update *update = payload;

	complain(update, directory, error_text(error));
	update->result->failed++;
}

/*
 * How the known root was carried, in *room; NULL: not carried, or everything must be read that
 * times do not prove.
 */
static const struct carried *carried_here(const struct update *update,
                                          const struct root_record *known, struct carried *room)
{
	if (!known || update->options->fresh == ENTRYDB_FRESH_EXACT ||
	    writer_is_marked(update->writer) ||
	    reader_carried(writer_reader(update->writer), room, NULL) <= 0)
		return NULL;
	return carried_with(room, known->stamp, stamp_of(&update->status)) ? room : NULL;
}

static int scan(struct update *update, const struct root_record *known, struct root_record *root,
                struct error *error)
{
	const struct database_root *wanted = update->wanted;
	struct carried carried;
	struct scan_options how =
	        root_scan(wanted, update->readers, update->linkage, update->kinds);
	struct tree *tree;
	int code;

	how.known = known;
	how.carried = carried_here(update, known, &carried);
	how.now = seal_time;
	how.now_after = update->options->sealed ? NULL : now_after;
	how.on_unread = report_unread;
	how.payload = update;
	code = scan_path(wanted->path, &how, root, error);
	if (code < 0 || root->kind != ROOT_ABSENT)
		return code;
	/*
	 * importlib.metadata treats such a root as empty; here it is an error, and rows are kept.
	 */
	code = tree_open(wanted->path, &tree, error);
	if (code < 0)
		return code == ERROR_FORMAT ? ERROR_NOTFOUND : code;
	tree_close(tree);
	return error_set(error, ERROR_NOTFOUND,
	                 "%s: could not be read, but can be now; update again", wanted->path);
}

static int scan_and_store(struct update *update, struct root_record *known, struct error *error)
{
	CLEANUP(root_record_free) struct root_record root = {0};
	int code = scan(update, known, &root, error);

	if (code < 0 && interrupted())
		return code;
	if (code < 0)
		return skip_root(update, known, error);
	root.path = slice_of(update->wanted->root_path);
	/* A hook reports no broken distributions: it would repeat them after each transaction. */
	for (size_t i = 0; i < root.distribution_count && !update->options->hook; i++)
		if (!slice_is_null(root.distributions[i].error))
			complain(update, root.distributions[i].directory,
			         root.distributions[i].error.ptr);
	if (update->options->sealed && !root.settled)
		return error_set(error, ERROR_BUSY,
		                 "%s: it changed while it was read; seal it again",
		                 update->wanted->path);
	if (update->options->sealed)
		seal_root(&root);
	update->result->roots++;
	update->result->distributions += root.distribution_count;
	return store_root(update->writer, &root, known, &update->result->stored, error);
}

static int update_absent(struct update *update, struct root_record *known, struct error *error)
{
	bool is_gone = errno == ENOENT || errno == ENOTDIR;

	if (is_gone && known)
		return remove_root(update, known, error);
	if (is_gone && update->options->hook)
		return 0; /* a hook's site directories may come and go */
	error_errno(error, errno, "%s", update->wanted->path);
	return skip_root(update, known, error);
}

static int update_root(struct update *update, const struct database_root *wanted,
                       struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	int found = writer_find_root(update->writer, slice_of(wanted->root_path), &known, error);
	bool by_times = update->options->fresh == ENTRYDB_FRESH_ROOTS || known.kind == ROOT_ZIP;

	update->wanted = wanted;
	if (found < 0)
		return found;
	if (file_status(AT_FDCWD, wanted->path, &update->status, NULL) <= 0)
		return update_absent(update, found ? &known : NULL, error);
	if (!found || !by_times || writer_is_marked(update->writer) ||
	    !root_times_hold(&known, update->kinds, &update->status))
		return scan_and_store(update, found ? &known : NULL, error);
	update->result->roots++;
	update->result->distributions += known.distribution_count;
	return 0;
}

/* --- roots that no argument names --- */

/*
 * Drop roots that no longer exist. If the database was carried, the new file no longer proves the
 * other roots, so they are read, too. And if it is marked stale as a whole, roots that this update
 * has not checked are unsettled, so that the mark can be removed.
 */
static int update_other(struct update *update, const char *root_path, bool carried, bool marked,
                        struct error *error)
{
	const char *sysroot = update->database->sysroot;
	CLEANUP(root_record_free) struct root_record known = {0};
	CLEANUP(cleanup_free) char *path = NULL;
	struct database_root wanted = {.root_path = (char *)root_path};
	int code =
	        known_root_path(update->options, update->database->file, root_path, &path, error);
	int found = code;

	if (code == 0)
		found = writer_find_root(update->writer, slice_of(root_path), &known, error);
	if (found <= 0)
		return found;
	if (path && known_root_is_gone(path))
		return remove_root(update, &known, error);
	if (path && carried && database_check_root(path, sysroot, NULL) == 0 &&
	    file_can_list(path)) {
		wanted.path = path;
		wanted.inside = path + (sysroot ? strlen(sysroot) : 0);
		return update_root(update, &wanted, error);
	}
	return marked ? unsettle(update, &known, error) : 0;
}

static int update_others(struct update *update, struct error *error)
{
	CLEANUP(sites_free) struct sites known = {0};
	struct carried how;
	bool marked = writer_is_marked(update->writer) && has_done_any(update->result);
	int carried = reader_carried(writer_reader(update->writer), &how, error);
	int code = carried < 0 ? carried
	                       : reader_roots(writer_reader(update->writer), known_roots_add,
	                                      &known, error);

	for (size_t i = 0; code == 0 && i < known.count; i++) {
		const char *path = known.paths[i];

		if (name_map_get(&update->database->by_root_path, slice_of(path)) == NAME_MAP_NONE)
			code = update_other(update, path,
			                    carried && (how.is_elsewhere || how.is_sealed), marked,
			                    error);
	}
	if (code == 0 && marked)
		code = writer_unmark(update->writer, error);
	return code == ERROR_NOMEM ? error_nomem(error) : code;
}

/* --- one database --- */

static int update_in(struct edit *edit, void *payload, struct error *error)
{
	struct update update = {
	        .options = edit->options,
	        .database = edit->database,
	        .writer = edit->writer,
	        .result = edit->result,
	        .progress = progress_begin("indexing", edit->options->quiet),
	        .readers = database_readers(edit->database, edit->mode),
	};
	int code;

	update.linkage = linkage_create(edit->options->sysroot, update.readers);
	code = update.linkage ? load_kinds(edit->options, &update.kinds, error)
	                      : error_nomem(error);

	(void)payload;
	for (size_t i = 0; code == 0 && i < update.database->root_count; i++)
		code = interrupted() ? ERROR_IO
		                     : update_root(&update, &update.database->roots[i], error);
	if (code == 0 && edit->options->sealed && edit->result->failed)
		code = error_set(error, ERROR_IO,
		                 "%s: not sealed, since not all of it could be read",
		                 edit->database->file);
	if (code == 0)
		code = update_others(&update, error);
	linkage_free(update.linkage);
	plugin_kinds_free(update.kinds);
	progress_erase(&update.progress);
	return code < 0 || has_done_any(edit->result) ? code : EDIT_NOTHING;
}

/* Mark a database that could not be updated as stale. If nothing is published, nothing is stale. */
static enum status give_up(const struct database *database, struct error *error)
{
	struct error own = {0};
	int code = publish_mark_stale(database->file, database->sysroot, &own);

	error_clear(&own);
	if (code == 0 || code == ERROR_NOTFOUND)
		return fail(error);
	message("%s; it could not be marked as out of date either, so that readers may use "
	        "right",
	        error_text(error));
	error_clear(error);
	return STATUS_COULD_NOT;
}

/* Manifests are kept current even then: the database does not hold the permissions of objects. */
static bool is_up_to_date(const struct options *options, const struct database *database)
{
	if (update_is_needed(options, database, false))
		return false;
	manifests_follow(options, database);
	return true;
}

/* @readers: the database that readers use for these roots, if a hook has checked it. */
static enum status update_database(const struct options *options, const struct database *database,
                                   const struct database *readers)
{
	struct edit_result result = {0};
	struct error error = {0};
	int code = database_check_owner(database, NULL, &error);

	if (code < 0)
		return fail(&error);
	if (options->fresh == ENTRYDB_FRESH_ROOTS && !options->sealed &&
	    is_up_to_date(options, database))
		return STATUS_DONE;
	code = edit_database(options, database, update_in, NULL, &result, &error);
	if (code < 0 && readers && !update_is_needed(options, readers, true))
		code = 0; /* e.g. on a read-only file system: readers get correct results */
	if (code < 0)
		return options->sealed ? fail(&error) : give_up(database, &error);
	error_clear(&error);
	if (has_done_any(&result)) {
		note(options,
		     "%s: %zu site directories, %zu distributions: %zu added, %zu changed, "
		     "%zu removed, %zu broken",
		     database->file, result.roots, result.distributions, result.stored.added,
		     result.stored.changed, result.stored.removed, result.stored.broken);
		manifests_follow(options, database);
	}
	return result.failed ? STATUS_COULD_NOT : STATUS_DONE;
}

/*
 * A hook checks the database that readers use, and skips those of other users. If it cannot be
 * written, the user's own is updated.
 */
static enum status update_by_hook(const struct options *options, const struct database *readers)
{
	CLEANUP(databases_free) struct databases writers = {0};
	enum status status = STATUS_DONE;
	struct error error = {0};
	int code = 0;

	if (database_check_owner(readers, NULL, NULL) < 0 || is_up_to_date(options, readers))
		return STATUS_DONE;
	for (size_t i = 0; code == 0 && i < readers->root_count; i++)
		code = databases_add_path(options, true, readers->roots[i].inside, &writers,
		                          &error);
	if (code < 0)
		return give_up(readers, &error);
	for (size_t i = 0; i < writers.count; i++)
		if (update_database(options, &writers.items[i], readers) != STATUS_DONE)
			status = STATUS_COULD_NOT;
	return status;
}

int command_update(const struct options *options, struct error *error)
{
	CLEANUP(databases_free) struct databases databases = {0};
	int code, status = STATUS_DONE;

	if (options->hook && options->sealed)
		return usage_error("update", "--sealed cannot be combined with --hook");
	code = databases_of_arguments(options, !options->hook, &databases, error);
	if (code < 0)
		return code;
	if (databases.count == 0 && !databases.left_alone)
		note(options, "no Python is installed here yet, so there is nothing to record; "
		              "'entrydb update PATH' is for one elsewhere");
	if (options->sealed)
		seal_order(&databases);
	for (size_t i = 0; i < databases.count; i++) {
		const struct database *database = &databases.items[i];
		int one;

		if (interrupted()) {
			message("interrupted; %zu of %zu databases were not checked",
			        databases.count - i, databases.count);
			return STATUS_COULD_NOT;
		}
		one = options->hook ? update_by_hook(options, database)
		                    : update_database(options, database, NULL);
		status = one == STATUS_DONE ? status : one;
	}
	return databases.left_alone ? STATUS_COULD_NOT : status;
}

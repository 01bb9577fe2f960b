/*
 * update.c - bring the databases up to date with what is installed, by hand or by a hook.
 *
 *     for each database that the arguments lead to
 *       is anything to be done?  (needed.h: readers only, no lock)
 *       lock, copy; for each root: scan, reusing what has not changed; store
 *       drop roots that are gone; publish
 *
 * One root, or one database, that fails does not stop the others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
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
	struct progress progress; /* the first, for progress_ask() */
	const struct options *options;
	const struct database *database;
	const struct database_root *wanted; /* the root that is being read, */
	struct stat status;                 /* and what it was when that began */
	struct writer *writer;
	struct edit_result *result;
	struct linkage *linkage;
	struct plugin_kinds *kinds;
	mode_t readers; /* who will be able to read what is published; see scan.h */
};

static bool has_done_any(const struct edit_result *result)
{
	return result->roots + result->unsettled + result->stored.removed > 0;
}

/*
 * --- a database that is made to be carried: in an image, an archive, a store ---
 *
 * What is in it follows from what the files say alone: no times, inodes or events, nothing
 * in the order of a directory. So the same tree gives the same bytes, wherever and whenever
 * it is indexed. How readers use it: db/carried.h.
 */

#define SEALED_STAMP 1 /* no digest of times */

/* When to say that it was scanned: so far ahead that nothing was young then. */
static const struct timespec seal_time = {.tv_sec = 9000000000}; /* in the year 2255 */

static int by_directory(const void *a, const void *b)
{
	return slice_compare(((const struct distribution_record *)a)->directory,
	                     ((const struct distribution_record *)b)->directory);
}

/* Take out of @root, as it was scanned, all that is of this place and this moment. */
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

/* Put the roots of each database into an order that no directory has given. */
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
 * The time by the clock of the file system that holds both the root and the database, past
 * @time, and past the last change of the root: see writer_time_past().
 */
static struct timespec now_after(void *payload, int64_t time)
{
	struct update *update = payload;
	struct stat root;
	int64_t changed;

	if (stat(update->wanted->path, &root) != 0)
		return (struct timespec){0};
	changed = nanoseconds_of(root.st_ctim);
	return writer_time_past(update->writer, root.st_dev, time > changed ? time : changed);
}

/* Readers are to look themselves, and the next update is to try again. */
static int unsettle(struct update *update, struct root_record *known, struct error *error)
{
	if (!known->settled)
		return 0;
	known->settled = false;
	update->result->unsettled++;
	return writer_put_root(update->writer, known, error);
}

/*
 * A root that cannot be read is reported and keeps its rows, which may be wrong then; the
 * others go on. @known: NULL where there are none.
 */
static int skip_root(struct update *update, struct root_record *known, struct error *error)
{
	bool unsettles = known && error_is_failure(error->code);

	progress_erase(&update->progress);
	fail(error);
	update->result->failed++;
	return unsettles ? unsettle(update, known, error) : 0;
}

/* A distribution that could not be read stays as it was known, and so does what was said of it. */
static void report_unread(void *payload, struct slice directory, const struct error *error)
{
	struct update *update = payload;

	complain(update, directory, error_text(error));
	update->result->failed++;
}

/*
 * Was what is known of the root carried, by *room? NULL: it was not, or all is to be read
 * that times do not prove.
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
	/* importlib.metadata takes such a root for empty; here it is an error, and rows are kept.
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
	/* A hook reports none: they are recorded, and would be told after each transaction. */
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
	if (stat(wanted->path, &update->status) != 0)
		return update_absent(update, found ? &known : NULL, error);
	if (!found || !by_times || writer_is_marked(update->writer) ||
	    !root_times_hold(&known, update->kinds, &update->status))
		return scan_and_store(update, found ? &known : NULL, error);
	update->result->roots++;
	update->result->distributions += known.distribution_count;
	return 0;
}

/* --- the roots that no argument names --- */

/*
 * Those that are gone are dropped. Where the database was carried, it will be another file, which
 * proves nothing then about the others: they, too, are read. And where it is marked as a whole,
 * readers and other updates are to compare what this update has not: then the mark has done its
 * work.
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
	if (path && carried && access(path, R_OK | X_OK) == 0) {
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
	        .linkage = linkage_create(edit->options->sysroot),
	        .readers = database_readers(edit->database, edit->mode),
	};
	int code = update.linkage ? load_kinds(edit->options, &update.kinds, error)
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

/*
 * What could not be updated is not to be believed any more without a look at the disk. Where
 * nothing is published, nothing is stale.
 */
static enum status give_up(const struct database *database, struct error *error)
{
	struct error own = {0};
	int code = publish_mark_stale(database->file, database->sysroot, &own);

	error_clear(&own);
	if (code == 0 || code == ERROR_NOTFOUND)
		return fail(error);
	message("%s; nor could it be marked as out of date, so that readers may take it to be "
	        "right",
	        error_text(error));
	error_clear(error);
	return STATUS_COULD_NOT;
}

/* @readers: the database that readers use for these roots, where a hook has looked at it. */
static enum status update_database(const struct options *options, const struct database *database,
                                   const struct database *readers)
{
	struct edit_result result = {0};
	struct error error = {0};
	int code = database_check_owner(database, NULL, &error);

	if (code < 0)
		return fail(&error);
	if (options->fresh == ENTRYDB_FRESH_ROOTS && !options->sealed &&
	    !update_is_needed(options, database, false))
		return STATUS_DONE;
	code = edit_database(options, database, update_in, NULL, &result, &error);
	if (code < 0 && readers && !update_is_needed(options, readers, true))
		code = 0; /* such as on a read-only file system: readers see what is true */
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
 * A hook looks at what readers use, and skips what belongs to another user. A database that
 * cannot be written is replaced by the user's own.
 */
static enum status update_by_hook(const struct options *options, const struct database *readers)
{
	CLEANUP(databases_free) struct databases writers = {0};
	enum status status = STATUS_DONE;
	struct error error = {0};
	int code = 0;

	if (database_check_owner(readers, NULL, NULL) < 0 ||
	    !update_is_needed(options, readers, false))
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
		return usage_error("update", "--sealed is for making images, not for a hook");
	code = databases_of_arguments(options, !options->hook, &databases, error);
	if (code < 0)
		return code;
	if (databases.count == 0)
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

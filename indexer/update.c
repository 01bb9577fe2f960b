/*
 * update.c - keep the databases in step with installed trees.
 *
 *     for each database that the arguments lead to
 *       is anything to be done?  (readers only, no lock)
 *       lock, copy; for each root: scan, reusing what has not changed; store
 *       drop roots that are gone; publish
 *
 * One root, or one database, that fails does not stop the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "databases.h"
#include "hook.h"
#include "layout.h"
#include "name_map.h"
#include "progress.h"
#include "publish.h"
#include "reader.h"
#include "scan.h"
#include "store.h"
#include "writer.h"

#define TICK_PART  1000000 /* nanoseconds: a part of a tick of the kernel's clock, */
#define TICK_PARTS 20      /* and more of them than the longest tick has */

struct update {
	const struct options *options;
	struct writer *writer;
	const struct database *database;
	struct progress progress;
	struct store_counts counts;
	size_t roots, distributions;
	bool failed; /* a root could not be done */
};

static void cleanup_writer(struct writer **writer)
{
	writer_close(*writer);
}

static void cleanup_reader(struct reader **reader)
{
	reader_close(*reader);
}

/* --- is there anything to do? --- */

/* At level "roots" the root's own times are believed, as a query would believe them. */
static bool root_is_fresh(struct reader *reader, const struct database_root *wanted)
{
	struct root_record row;
	struct stat status;

	return stat(wanted->path, &status) == 0 &&
	       reader_root(reader, slice_of(wanted->root_path), &row, NULL) > 0 && row.settled &&
	       row.watched == 0 && stamp_equal(row.stamp, stamp_of(&status));
}

static bool all_is_fresh(const struct options *options, const struct database *database)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;

	if (options->fresh != ENTRYDB_FRESH_ROOTS ||
	    reader_open(database->file, geteuid(), &reader, NULL) < 0)
		return false;
	for (size_t i = 0; i < database->root_count; i++)
		if (!root_is_fresh(reader, &database->roots[i]))
			return false;
	return true;
}

/*
 * What a hook asks, which is run after each transaction, whatever it was about: is
 * each distribution as its row says?
 *
 * @nearly: leave aside that an update would now believe more of what it sees, since
 * it is no longer new. Where nothing can be written that is no loss.
 */
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

static bool root_is_absent(const struct database_root *wanted)
{
	return access(wanted->path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* @reader: NULL where there is no database, which is right where there is no root. */
static bool root_is_in_step(struct reader *reader, const struct database_root *wanted, bool nearly)
{
	CLEANUP(root_record_free) struct root_record rows = {0};
	CLEANUP(root_record_free) struct root_record disk = {0};
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA,
	        .in_place = !layout_is_known(wanted->inside),
	        .egg_base = slice_of(wanted->root_path),
	        .known = &rows,
	};
	int found = reader ? reader_root(reader, slice_of(wanted->root_path), &rows, NULL) : 0;

	if (found == 0)
		return root_is_absent(wanted);
	return found > 0 && reader_distributions(reader, &rows, false, NULL) == 0 &&
	       scan_path(wanted->path, &how, &disk, NULL) == 0 &&
	       rows_are_in_step(&rows, &disk, nearly);
}

/* --- one root --- */

static int show_progress(void *payload, size_t done, size_t total)
{
	struct update *update = payload;

	progress_show(&update->progress, NULL, done, total);
	return interrupted();
}

/* Not to a hook: they are recorded, and would be told after each transaction. */
static void report_broken(struct update *update, const struct database_root *wanted,
                          const struct root_record *root)
{
	if (update->options->hook)
		return;
	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *row = &root->distributions[i];

		if (slice_is_null(row->error))
			continue;
		progress_erase(&update->progress);
		message("%s/%.*s: %.*s", wanted->path, (int)row->directory.len, row->directory.ptr,
		        (int)row->error.len, row->error.ptr);
	}
}

/* What was there and is no more is removed with all its distributions. */
static int remove_root(struct update *update, const struct root_record *known, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < known->distribution_count; i++) {
		const struct distribution_record *row = &known->distributions[i];

		update->counts.removed++;
		code = writer_log(update->writer,
		                  &(struct event_record){
		                          .action = SLICE("remove"),
		                          .root = known->path,
		                          .distribution = slice_is_null(row->name) ? row->directory
		                                                                   : row->name,
		                          .old_version = row->version,
		                  },
		                  error);
	}
	return code < 0 ? code : writer_drop_root(update->writer, known->id, error);
}

static bool is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/*
 * The time by the clock of the file system that holds both the root and the
 * database. A root that changed within this very tick could change again without a
 * trace: it is worth waiting for the next tick.
 */
static struct timespec now_for(const struct update *update, const struct database_root *wanted)
{
	struct timespec now = writer_time(update->writer, false);
	struct stat root, database;
	CLEANUP(cleanup_free) char *lock = NULL;

	if (asprintf(&lock, "%s.lock", update->database->file) < 0)
		lock = NULL;
	if (!lock || stat(wanted->path, &root) != 0 || stat(lock, &database) != 0 ||
	    root.st_dev != database.st_dev)
		return (struct timespec){0};
	for (int part = 0; part < TICK_PARTS && !is_before(root.st_ctim, now); part++) {
		nanosleep(&(struct timespec){.tv_nsec = TICK_PART}, NULL);
		now = writer_time(update->writer, true);
	}
	return now;
}

static bool is_unchanged(const struct update *update, const struct root_record *known,
                         const struct stat *status)
{
	return known->settled && known->watched == 0 &&
	       stamp_equal(known->stamp, stamp_of(status)) &&
	       (update->options->fresh == ENTRYDB_FRESH_ROOTS || known->kind == ROOT_ZIP);
}

/* To stock it is silently empty; whoever wants it indexed should hear of it, and lose no rows. */
static int why_unreadable(const struct database_root *wanted, struct error *error)
{
	struct tree *tree;
	int code = tree_open(wanted->path, &tree, error);

	if (code < 0)
		return code == ERROR_FORMAT ? ERROR_NOTFOUND : code;
	tree_close(tree);
	return error_set(error, ERROR_NOTFOUND, "%s: it could not be read a moment ago",
	                 wanted->path);
}

/* A root that cannot be read is reported, and keeps its rows; the others go on. */
static int skip_root(struct update *update, struct error *error)
{
	progress_erase(&update->progress);
	message("%s", error_text(error));
	error_clear(error);
	update->failed = true;
	return 0;
}

static int scan(struct update *update, const struct database_root *wanted,
                const struct root_record *known, struct root_record *root, struct error *error)
{
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA | SCAN_TARGETS,
	        .in_place = !layout_is_known(wanted->inside),
	        .egg_base = slice_of(wanted->root_path),
	        .known = known,
	        .now = now_for(update, wanted),
	        .progress = show_progress,
	        .payload = update,
	};
	int code = scan_path(wanted->path, &how, root, error);

	if (code == 0 && root->kind == ROOT_ABSENT)
		code = why_unreadable(wanted, error);
	return code;
}

static int scan_and_store(struct update *update, const struct database_root *wanted,
                          const struct root_record *known, struct error *error)
{
	CLEANUP(root_record_free) struct root_record root = {0};
	int code = scan(update, wanted, known, &root, error);

	if (code == ERROR_NOMEM || (code < 0 && interrupted()))
		return code;
	if (code < 0)
		return skip_root(update, error);
	root.path = slice_of(wanted->root_path);
	report_broken(update, wanted, &root);
	update->roots++;
	update->distributions += root.distribution_count;
	return store_root(update->writer, &root, known, &update->counts, error);
}

static int update_absent(struct update *update, const struct database_root *wanted,
                         const struct root_record *known, int errnum, struct error *error)
{
	bool is_gone = errnum == ENOENT || errnum == ENOTDIR;

	if (is_gone && known)
		return remove_root(update, known, error);
	if (is_gone && update->options->hook)
		return 0; /* a hook's site directories may come and go */
	error_errno(error, errnum, "%s", wanted->path);
	return skip_root(update, error);
}

static int update_root(struct update *update, const struct database_root *wanted,
                       struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	struct stat status;
	int found = writer_find_root(update->writer, slice_of(wanted->root_path), &known, error);

	if (found < 0)
		return found;
	if (stat(wanted->path, &status) != 0)
		return update_absent(update, wanted, found ? &known : NULL, errno, error);
	if (found && is_unchanged(update, &known, &status)) {
		update->roots++;
		update->distributions += known.distribution_count;
		return 0;
	}
	return scan_and_store(update, wanted, found ? &known : NULL, error);
}

/* --- roots that are gone --- */

struct gone {
	const struct options *options;
	char *base;
	struct root_record *roots;
	size_t count;
};

static int collect_gone(void *payload, const struct root_record *root)
{
	struct gone *gone = payload;
	CLEANUP(cleanup_free) char *path = NULL;
	struct root_record *roots;
	struct stat status;

	/* An absolute path is meant below --root, relative ones start where the database lies. */
	if (root->kind == ROOT_ARCHIVE || (root->path.ptr[0] == '/' && gone->options->root))
		return 0;
	if (asprintf(&path, "%s%s%.*s", root->path.ptr[0] == '/' ? "" : gone->base,
	             root->path.ptr[0] == '/' ? "" : "/", (int)root->path.len,
	             root->path.ptr) < 0) {
		path = NULL;
		return ERROR_NOMEM;
	}
	if (stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return 0;
	roots = realloc(gone->roots, (gone->count + 1) * sizeof(*roots));
	if (!roots)
		return ERROR_NOMEM;
	gone->roots = roots;
	roots[gone->count] = (struct root_record){0};
	roots[gone->count++].path =
	        (struct slice){strndup(root->path.ptr, root->path.len), root->path.len};
	return 0;
}

static int drop_gone_root(struct update *update, struct slice path, struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	int found = writer_find_root(update->writer, path, &known, error);

	return found > 0 ? remove_root(update, &known, error) : found;
}

static void gone_free(struct gone *gone)
{
	for (size_t i = 0; i < gone->count; i++)
		free((char *)gone->roots[i].path.ptr);
	free(gone->roots);
	free(gone->base);
}

static int drop_gone(struct update *update, struct error *error)
{
	CLEANUP(gone_free)
	struct gone gone = {.options = update->options,
	                    .base = layout_base(update->database->file)};
	int code = gone.base ? writer_roots(update->writer, collect_gone, &gone, error)
	                     : error_nomem(error);

	for (size_t i = 0; code == 0 && i < gone.count; i++)
		code = drop_gone_root(update, gone.roots[i].path, error);
	return code;
}

/* See distribution_is_in_step(). */
static bool all_is_in_step(const struct options *options, const struct database *database,
                           bool nearly)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	CLEANUP(gone_free)
	struct gone gone = {.options = options, .base = layout_base(database->file)};
	int code = reader_open(database->file, geteuid(), &reader, NULL);

	if (code == 0)
		code = gone.base ? reader_roots(reader, collect_gone, &gone, NULL) : ERROR_NOMEM;
	if ((code < 0 && code != ERROR_NOTFOUND) || gone.count > 0)
		return false;
	for (size_t i = 0; i < database->root_count; i++)
		if (!root_is_in_step(reader, &database->roots[i], nearly))
			return false;
	return true;
}

/* --- one database --- */

/* Whoever can read the first site directory may read what is said of it. */
static mode_t mode_of(const struct database *database)
{
	struct stat status;

	if (database->root_count > 0 && stat(database->roots[0].path, &status) == 0)
		return (status.st_mode & 0444) | 0600;
	return 0644;
}

static void summarize(const struct update *update)
{
	const struct store_counts *counts = &update->counts;

	note(update->options,
	     "%s: %zu site directories, %zu distributions: %zu added, %zu changed, %zu removed, "
	     "%zu "
	     "broken",
	     update->database->file, update->roots, update->distributions, counts->added,
	     counts->changed, counts->removed, counts->broken);
}

static int update_roots(struct update *update, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < update->database->root_count; i++) {
		if (interrupted())
			return error_set(error, ERROR_IO, "interrupted; nothing was changed");
		code = update_root(update, &update->database->roots[i], error);
	}
	return code;
}

/* Stands for all the roots: who looks at other ones does not do the same work. */
static uint64_t work_of(const struct database *database)
{
	uint64_t pair[2] = {0};

	for (size_t i = 0; i < database->root_count; i++) {
		const char *path = database->roots[i].root_path;

		pair[1] = name_map_hash(path, strlen(path));
		pair[0] = name_map_hash(pair, sizeof(pair));
	}
	return pair[0] | 1;
}

/* 1: another update that is waiting for the lock will do it. */
static int update_locked(struct update *update, struct error *error)
{
	bool is_hook = update->options->hook != NULL;
	struct writer_options how = {
	        .file = update->database->file,
	        .command = update->options->command,
	        .lock_timeout = is_hook ? HOOK_LOCK_TIMEOUT : PUBLISH_LOCK_TIMEOUT,
	        .work = is_hook ? work_of(update->database) : 0,
	        .stopped = interrupted,
	        .may_replace = update->database->may_replace,
	};
	CLEANUP(cleanup_writer) struct writer *writer = NULL;
	int code = writer_open(&how, &writer, error);

	if (code != 0)
		return code;
	update->writer = writer;
	if (writer_was_rebuilt(writer))
		message("%s; it was set aside as %s.damaged and is built anew",
		        writer_was_rebuilt(writer), update->database->file);
	code = update_roots(update, error);
	if (code == 0)
		code = drop_gone(update, error);
	if (code == 0 && update->roots + update->counts.removed > 0)
		code = writer_commit(writer, mode_of(update->database), error);
	return code;
}

/* @readers: what they look at, where that was looked at before; or NULL. */
static enum status update_database(const struct options *options, const struct database *database,
                                   const struct database *readers)
{
	struct update update = {
	        .options = options,
	        .database = database,
	        .progress = progress_begin("indexing", options->quiet),
	};
	struct error error = {0};
	int code;

	if (all_is_fresh(options, database))
		return STATUS_DONE;
	code = update_locked(&update, &error);
	progress_erase(&update.progress);
	if (code < 0 && readers && all_is_in_step(options, readers, true))
		code = 0; /* nothing is lost, such as on a read-only file system */
	if (code < 0)
		return fail(&error);
	error_clear(&error);
	if (update.roots + update.counts.removed > 0)
		summarize(&update);
	return update.failed ? STATUS_COULD_NOT : STATUS_DONE;
}

static bool was_interrupted(size_t left, size_t total)
{
	if (interrupted())
		message("interrupted; %zu of %zu databases were not looked at", left, total);
	return interrupted();
}

static enum status update_all(const struct options *options, const struct databases *databases,
                              const struct database *readers)
{
	enum status status = STATUS_DONE;

	for (size_t i = 0; i < databases->count; i++) {
		enum status one;

		if (was_interrupted(databases->count - i, databases->count))
			return STATUS_COULD_NOT;
		one = update_database(options, &databases->items[i], readers);
		if (one != STATUS_DONE)
			status = one;
	}
	return status;
}

/* What is not in step is written where it can be, which may be the user's own database. */
static enum status bring_in_step(const struct options *options, const struct database *readers)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct error error = {0};
	int code = 0;

	if (all_is_in_step(options, readers, false))
		return STATUS_DONE;
	for (size_t i = 0; code == 0 && i < readers->root_count; i++)
		code = databases_add_path(options, true, readers->roots[i].inside, &databases,
		                          &error);
	return code < 0 ? fail(&error) : update_all(options, &databases, readers);
}

static enum status update_for_hook(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct error error = {0};
	enum status status = STATUS_DONE;

	if (databases_of_arguments(options, false, &databases, &error) < 0)
		return fail(&error);
	for (size_t i = 0; i < databases.count; i++) {
		if (was_interrupted(databases.count - i, databases.count))
			return STATUS_COULD_NOT;
		if (bring_in_step(options, &databases.items[i]) != STATUS_DONE)
			status = STATUS_COULD_NOT;
	}
	return status;
}

enum status command_update(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct error error = {0};

	if (options->hook)
		return update_for_hook(options);
	if (databases_of_arguments(options, true, &databases, &error) < 0)
		return fail(&error);
	if (databases.count == 0)
		note(options, "no site directories were found; name one, or a prefix");
	return update_all(options, &databases, NULL);
}

/*
 * freshness.c - decides for each path entry whether the database is up to date. The first line that
 * applies:
 *
 *     observed                                 then used
 *       level trust, or a catalogued archive     the rows, unchecked
 *       nothing exists there                     nothing
 *       an unchanged zip                         the rows
 *       level exact; a stale mark; no row;       a new scan
 *       or an unsettled one
 *       the proven stamp, and nothing watched    the previous result; at first the rows
 *       has changed
 *       anything else                            the rows that are still valid (row_check.h), in
 *                                                their current order, and a scan of the others
 *
 * The result of a scan is proven, that is, valid while the stamp of the path entry stays the same,
 * if that stamp is old enough (scan.h) and no distribution in it may change in place. Level exact
 * and a stale mark ignore stamps. After a database is replaced, everything is decided anew.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "libquery/disk/metadata/row_check.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/handle.h"
#include "libquery/layout.h"
#include "libquery/names.h"

static void set_state(struct entrydb *db, struct path_entry *entry, enum entry_state state,
                      const char *reason)
{
	db->changes += state != entry->state;
	entry->state = state;
	entry->reason = reason;
}

static struct source *source_of(struct entrydb *db, const struct path_entry *entry)
{
	return entry->source == SOURCE_NONE ? NULL : &db->sources.items[entry->source];
}

/* Must everything be read regardless of stamps? */
static bool ignores_stamps(struct entrydb *db, const struct path_entry *entry)
{
	const struct source *source = source_of(db, entry);

	return db->fresh == ENTRYDB_FRESH_EXACT || (source && source_is_marked(source));
}

/* How the row's database was carried (carried.h), and probably the entry with it; NULL if not. */
static const struct carried *carried_here(struct entrydb *db, const struct path_entry *entry,
                                          struct stamp stamp)
{
	struct source *source = source_of(db, entry);
	const struct carried *carried = source ? source_carried(source) : NULL;

	return carried && carried_with(carried, entry->row.stamp, stamp) ? carried : NULL;
}

/* --- reading all --- */

static const char as_recorded[] = "the directory has not changed since the database was updated";
static const char no_row[] = "it is in no database; 'entrydb update' would speed up queries";

static const char *why_not_fresh(struct entrydb *db, const struct path_entry *entry,
                                 struct stamp stamp)
{
	if (entry->source == SOURCE_NONE)
		return no_row;
	if (!stamp_equal(entry->row.stamp, stamp))
		return "it has changed since the database was updated";
	if (!entry->row.settled)
		return "it had just changed when the database was updated";
	if (db->fresh == ENTRYDB_FRESH_EXACT)
		return "everything is read at level exact";
	if (source_is_marked(source_of(db, entry)))
		return "a hook could not bring the database up to date";
	return "a distribution in it, editable or just installed, has changed";
}

static struct scan_options scan_options_of(const struct entrydb *db, const struct path_entry *entry)
{
	return (struct scan_options){
	        .egg_base = slice_of(entry->spelled),
	        .in_place = !layout_is_known(entry->path),
	        .depth = db->rules == ENTRYDB_IM_10_1 ? SCAN_HAS_METADATA : 0,
	        .seen = db->seen,
	};
}

/* The scan is valid while its stamp stays the same. */
static void prove(struct path_entry *entry)
{
	entry->proven = entry->read.stamp;
	entry->is_proven = entry->read.settled && entry->read.watched == 0;
}

/* Read what Python would read. @tree: the tree just opened, or NULL; takes ownership. */
static int read_all(struct entrydb *db, struct path_entry *entry, struct tree *tree,
                    const char *reason, struct error *error)
{
	struct scan_options options = scan_options_of(db, entry);
	const struct root_record *row = &entry->row;
	int code;

	entry_forget_read(entry);
	code = scan_opened(tree, entry->path, &options, &entry->read, error);
	if (code < 0)
		return code;
	/* Distributions that the database knows to change in place do so here, too. */
	for (size_t i = 0; row->watched > 0 && row->distributions && i < row->distribution_count;
	     i++)
		entry->read.watched += row->distributions[i].watched == WATCHED_ALWAYS;
	prove(entry);
	db->changes++;
	set_state(db, entry, ENTRY_SCANNED, reason);
	return 0;
}

/*
 * If neither the path nor its real path has a database, there is nothing to compare: read the
 * directory as Python does, without a stat of it first. 1: done; 0: not applicable; or a failure.
 */
static int read_undescribed(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	CLEANUP(cleanup_free) char *real = NULL;
	const char *inside = entry->path + (db->sysroot ? strlen(db->sysroot) : 0);
	int code = locate_database(db, inside, error);

	if (code != 0)
		return code < 0 ? code : 0;
	if (tree_open(entry->path, &tree, NULL) < 0 || tree->kind != ROOT_DIRECTORY)
		return 0;
	if (!db->sysroot && !(real = file_real_path(tree->fd)))
		return 0;
	if (real && strcmp(real, entry->path) != 0)
		code = locate_database(db, real, error);
	if (code != 0)
		return code < 0 ? code : 0;
	entry->generation = db->sources.generation;
	code = read_all(db, entry, take(tree), no_row, error);
	return code < 0 ? code : 1;
}

/* --- comparing --- */

/* Load the rows to compare with; false if they cannot be read: then everything is scanned. */
static bool load_rows(struct entrydb *db, struct path_entry *entry)
{
	struct source *source = source_of(db, entry);
	struct root_record *row = &entry->row;
	size_t count = row->distribution_count;

	if (row->distributions || count == 0)
		return true;
	if (source_reader(source) && reader_distributions(source->reader, row, false, NULL) == 0)
		return true;
	row->distributions = NULL;
	row->distribution_count = count;
	return false;
}

/*
 * Set the current positions of valid rows, and keep only new distributions in entry->read. Recount
 * the watched rows: none is recent in a carried tree. 1: all rows are valid; 0; or an error.
 */
static int separate_rows(struct path_entry *entry, bool was_carried, struct error *error)
{
	struct root_record *read = &entry->read;
	size_t kept = 0;
	bool all_valid = true;

	if (!entry_make_places(entry))
		return error_nomem(error);
	read->watched = 0;
	for (size_t i = 0; i < read->distribution_count; i++) {
		const struct distribution_record *found = &read->distributions[i];

		if (found->reused) {
			entry_place_row(entry, found->id, found->position);
			continue;
		}
		read->watched += found->watched != WATCHED_NOT;
		read->distributions[kept++] = *found;
	}
	read->distribution_count = kept;
	entry->row.watched = 0;
	for (size_t i = 0; i < entry->row.distribution_count; i++) {
		struct distribution_record *row = &entry->row.distributions[i];
		bool is_valid = entry_row_is_valid(entry, row->id, &(uint32_t){0});

		if (!is_valid || (row->watched == WATCHED_YOUNG && was_carried))
			row->watched = WATCHED_NOT;
		entry->row.watched += row->watched != WATCHED_NOT;
		all_valid &= is_valid;
	}
	return all_valid;
}

/*
 * On read-only file systems, as in images, change times are missing: a directory's stamp then
 * proves nothing about its files.
 */
static enum row_check how_to_compare(const struct entrydb *db, const struct path_entry *entry,
                                     const struct carried *carried)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct statvfs system;

	if (carried && db->rules == ENTRYDB_IM_10_1) /* the order depends on METADATA */
		return ROW_CHECK_FILES;
	if (carried)
		return handle_omits_names(db) ? ROW_CHECK_NO_NAMES : ROW_CHECK_DIRECTORY;
	fd = file_open(AT_FDCWD, entry->path, O_PATH | O_DIRECTORY);
	return fd < 0 || fstatvfs(fd, &system) != 0 || system.f_flag & ST_RDONLY
	               ? ROW_CHECK_FILES
	               : ROW_CHECK_DIRECTORY;
}

/* Keep the valid rows, scan the others. */
static int compare(struct entrydb *db, struct path_entry *entry, struct stamp stamp,
                   const char *reason, struct error *error)
{
	struct scan_options options = scan_options_of(db, entry);
	const struct carried *carried = carried_here(db, entry, stamp);
	int code;

	if (entry->row.kind != ROOT_DIRECTORY || !load_rows(db, entry))
		return read_all(db, entry, NULL, reason, error);
	options.known = &entry->row;
	options.carried = carried;
	options.row_check = how_to_compare(db, entry, carried);
	entry_forget_read(entry);
	code = scan_path(entry->path, &options, &entry->read, error);
	if (code == 0)
		code = separate_rows(entry, carried != NULL, error);
	if (code < 0)
		return code;
	prove(entry);
	entry->nameless = options.row_check == ROW_CHECK_NO_NAMES;
	db->changes++;
	if (code == 0 || entry->read.distribution_count > 0 ||
	    (!carried && entry->row.stamp.mtime != stamp.mtime))
		set_state(db, entry, ENTRY_SCANNED, reason);
	else
		set_state(db, entry, ENTRY_CHECKED,
		          carried ? "it was relocated along with its database, and has not "
		                    "changed"
		                  : "every distribution was compared with the database");
	return 0;
}

/* --- checking proven states --- */

/* Are the watched distributions (see scan.h) unchanged? */
static bool watched_unchanged(struct entrydb *db, struct path_entry *entry, struct stamp stamp)
{
	CLEANUP(cleanup_close) int fd = -1;
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	const struct carried *carried;
	bool has_rows = entry->state != ENTRY_SCANNED || entry->places;
	bool same = true;
	int64_t now;

	if (!has_rows || entry->row.watched == 0)
		return true;
	carried = carried_here(db, entry, stamp);
	now = nanoseconds_now(CLOCK_REALTIME);
	fd = file_open(AT_FDCWD, entry->path, O_DIRECTORY);
	if (fd < 0 || tree_open_directory(take_fd(&fd), (struct stamp){0}, &tree, NULL) < 0)
		return false;
	for (size_t i = 0; same && i < entry->row.distribution_count; i++) {
		struct distribution_record *row = &entry->row.distributions[i];
		int64_t newest = 0;

		if (!row->watched)
			continue;
		same = row_is_valid(tree, carried, ROW_CHECK_FILES, row, &newest, NULL) > 0;
		/*
		 * A distribution that was watched only because it was recent need not be checked
		 * again once it is old enough. The clock may differ from the file system's.
		 */
		if (same && row->watched == WATCHED_YOUNG &&
		    newest + WATCHED_FOR + CLOCK_SKEW < now) {
			row->watched = WATCHED_NOT;
			entry->row.watched--;
		}
	}
	return same;
}

/* A zip changes as a whole: its size and time cover all its content. */
static bool zip_unchanged(struct entrydb *db, const struct path_entry *entry,
                          const struct stat *status)
{
	const struct stamp stamp = stamp_of(status);
	const struct outline recorded = {true, entry->row.size, entry->row.stamp.mtime};
	const struct outline now = {true, status->st_size, stamp.mtime};
	const struct carried *carried;

	if (!entry->row.settled || !S_ISREG(status->st_mode))
		return false;
	if (stamp_equal(entry->row.stamp, stamp))
		return true;
	carried = ignores_stamps(db, entry) ? NULL : carried_here(db, entry, stamp);
	return carried && carried_same(carried, &recorded, &now, 0);
}

/* --- the decision --- */

static int decide(struct entrydb *db, struct path_entry *entry, const struct stat *status,
                  struct error *error)
{
	const struct stamp stamp = stamp_of(status);
	const bool reads_all = ignores_stamps(db, entry);

	if (entry->source != SOURCE_NONE && entry->row.kind == ROOT_ZIP &&
	    zip_unchanged(db, entry, status)) {
		if (entry->read.distribution_count > 0)
			entry_forget_read(entry);
		set_state(db, entry, reads_all ? ENTRY_CHECKED : ENTRY_FRESH,
		          reads_all ? "the file has not changed since the database was updated"
		                    : as_recorded);
		return 0;
	}
	if (!reads_all && entry->is_proven && stamp_equal(entry->proven, stamp) &&
	    (!entry->nameless || handle_omits_names(db)) && watched_unchanged(db, entry, stamp)) {
		if (entry->state != ENTRY_SCANNED)
			set_state(db, entry, ENTRY_FRESH, as_recorded);
		return 0;
	}
	if (reads_all || entry->source == SOURCE_NONE || !entry->row.settled)
		return read_all(db, entry, NULL, why_not_fresh(db, entry, stamp), error);
	return compare(db, entry, stamp, why_not_fresh(db, entry, stamp), error);
}

/* Must the row be looked up? The stamp may also have returned to the recorded one. */
static bool wants_row(const struct entrydb *db, const struct path_entry *entry, struct stamp stamp)
{
	if (entry->state == ENTRY_UNKNOWN || entry->state == ENTRY_ABSENT ||
	    entry->generation != db->sources.generation)
		return true;
	return entry->source != SOURCE_NONE && entry->row.settled &&
	       stamp_equal(entry->row.stamp, stamp) &&
	       !(entry->is_proven && stamp_equal(entry->proven, stamp));
}

static int refresh_entry(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	struct stat status;
	int done = 0;
	int code = entry->path && !entry->relative ? 1 : locate_path(db, entry, error);

	if (code > 0 && entry->state == ENTRY_UNKNOWN)
		done = read_undescribed(db, entry, error);
	if (done != 0)
		return done < 0 ? done : 0;
	if (code > 0)
		code = entry->state == ENTRY_UNKNOWN || entry->state == ENTRY_ABSENT
		               ? file_status(AT_FDCWD, entry->path, &status, error)
		               : file_status_again(entry->path, &entry->way, &status, error);
	/* A file with a trailing slash does not exist, as for any system call. */
	if (code > 0 && !S_ISDIR(status.st_mode) &&
	    slice_ends(slice_of(entry->spelled), SLICE("/")))
		code = 0;
	if (code == 0) {
		entry_forget_read(entry);
		set_state(db, entry, ENTRY_ABSENT, "nothing is there");
	}
	if (code <= 0)
		return code;
	if (wants_row(db, entry, stamp_of(&status)))
		code = locate_row(db, entry, &status, error);
	return code < 0 ? code : decide(db, entry, &status, error);
}

/* Without a row: the error if this is because the given database cannot be read. */
static int why_without_row(struct entrydb *db, struct error *error)
{
	size_t index = sources_find(&db->sources, db->database, (uid_t)-1);
	const struct source *source;

	if (index == SOURCE_NONE)
		return error_nomem(error);
	source = &db->sources.items[index];
	return source->damaged || error_is_failure(source->why.code)
	               ? error_set(error, source->why.code, "%s", error_text(&source->why))
	               : 0;
}

/*
 * Level trust: no stat once the row is found; entries without a row are read once. A catalogued
 * archive is never checked against the disk.
 */
static int trust_entry(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	int code;

	if (entry->state != ENTRY_UNKNOWN && !entry->relative &&
	    entry->generation == db->sources.generation)
		return 0;
	code = locate_path(db, entry, error);
	if (code > 0)
		code = locate_row(db, entry, NULL, error);
	if (code < 0)
		return code;
	if (entry->source != SOURCE_NONE)
		set_state(db, entry, ENTRY_FRESH,
		          entry->archive ? "an archive recorded by 'entrydb add'"
		                         : "the database is trusted (level trust)");
	else if (!entry->archive)
		code = refresh_entry(db, entry, error);
	else if ((code = why_without_row(db, error)) == 0)
		set_state(db, entry, ENTRY_ABSENT, "an archive recorded by 'entrydb add'");
	return code;
}

int refresh(struct entrydb *db, struct error *error)
{
	struct scan_seen seen = {0};
	int code = 0;

	db->seen = &seen;
	if (db->fresh != ENTRYDB_FRESH_TRUST)
		sources_refresh(&db->sources);
	for (size_t i = 0; code == 0 && i < db->entry_count; i++) {
		struct path_entry *entry = &db->entries[i];

		code = entry->archive || db->fresh == ENTRYDB_FRESH_TRUST
		               ? trust_entry(db, entry, error)
		               : refresh_entry(db, entry, error);
	}
	db->seen = NULL;
	scan_seen_free(&seen);
	return code;
}

/* @state: the caller's unsigned long long. */
static int refresh_and_count(struct entrydb *db, void *state, struct error *error)
{
	int code = refresh(db, error);

	if (code == 0)
		*(unsigned long long *)state =
		        (unsigned long long)db->sources.generation << 32 | db->changes;
	return code;
}

int entrydb_refresh(entrydb *db, unsigned long long *state, entrydb_error *error)
{
	return handle_query(db, refresh_and_count, state, error_inside(error));
}

/*
 * refresh.c - is the database right about this path entry, now?
 *
 *     stat of the path entry
 *       equal to the row's, row settled, nothing watched changed   -> the rows
 *       carried with its database (db/carried.h), or with the same names in it and
 *       something else about it changed: compare every distribution
 *         all as in the rows, in the same order                     -> the rows
 *         otherwise                                                 -> the scan,
 *                                  with the rows that are still right in it
 *       otherwise                                                   -> the scan
 *
 * To compare a distribution asks the disk three times, to read it once, as Python does, and
 * nobody is to wait longer than with Python: so it is read, wherever most would have to be
 * read after all, or whoever asks believes in no times.
 *
 * The level "trust" takes the rows as they are, "exact" always scans, and so does everybody
 * with a database which a writer has marked as one it could not update. What a scan has
 * read is kept and believed by the same rules as a row, until a database is another one: an
 * update brings what no time tells, also to whom it has no row.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "libquery/disk/metadata/recognize.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/tree/tree_directory.h"
#include "libquery/disk/tree/tree_open.h"
#include "libquery/handle.h"
#include "libquery/layout.h"
#include "libquery/locate.h"

/*
 * 1: something is there; 0: nothing is; or a failure. A trailing slash on a file makes it
 * nothing at all, as for any system call.
 */
static int stat_entry(const struct path_entry *entry, struct stat *status, struct error *error)
{
	struct slice spelled = slice_of(entry->spelled);
	int found = file_status(AT_FDCWD, entry->path, status, error);

	return found <= 0 ? found : S_ISDIR(status->st_mode) || !slice_ends(spelled, SLICE("/"));
}

/* --- the rows --- */

/* @newest: when any of its files was changed last. */
static bool distribution_unchanged(struct tree *tree, const struct carried *carried,
                                   const struct distribution_record *row, int64_t *newest)
{
	struct distribution_record now = {.directory = row->directory};

	if (carried)
		return recognize(tree, carried, RECOGNIZE_OF_ALL, row, NULL) > 0;
	return tree_stamps(tree, row, &now, newest, NULL) == 0 &&
	       now.directory_stamp == row->directory_stamp && now.files_stamp == row->files_stamp;
}

/*
 * Was a distribution watched just because it was young, and is it so no more? Then this
 * handle need not look at it again. The clock may be another one than the file system's.
 */
static bool has_grown_old(const struct distribution_record *row, int64_t newest)
{
	return row->young && newest + WATCHED_FOR + CLOCK_SKEW < nanoseconds_now(CLOCK_REALTIME);
}

/* Are the few distributions that are watched (see scan.h) as they were? */
static bool watched_unchanged(struct entrydb *db, struct path_entry *entry)
{
	CLEANUP(cleanup_close) int fd = -1;
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	const struct carried *carried = NULL;
	bool same = true;

	if ((entry->standings ? entry->still_watched : entry->row.watched) == 0)
		return true;
	if (entry->standings)
		carried = source_carried(&db->sources.items[entry->source]);
	fd = file_open(AT_FDCWD, entry->path, O_DIRECTORY);
	if (fd < 0 || tree_open_directory(take_fd(&fd), (struct stamp){0}, &tree, NULL) < 0)
		return false;
	for (size_t i = 0; same && i < entry->row.distribution_count; i++) {
		struct distribution_record *row = &entry->row.distributions[i];
		int64_t newest = 0;

		if (!entry_watches(entry, row))
			continue;
		same = distribution_unchanged(tree, carried, row, &newest);
		if (same && !entry->standings && has_grown_old(row, newest)) {
			distribution_set_watched(row, 0);
			entry->row.watched--;
		}
	}
	return same;
}

static void set_state(struct entrydb *db, struct path_entry *entry, enum entry_state state,
                      const char *reason)
{
	if (state != entry->state || state == ENTRY_SCANNED)
		db->changes++;
	if (state != ENTRY_SCANNED)
		entry_forget_scan(entry);
	entry->state = state;
	entry->reason = reason;
}

/* --- the scan --- */

/*
 * Is the row right? Where something else in the directory has changed, such as a .pth
 * file, a comparison of all distributions stands for as long as the stamp.
 */
static bool row_holds(struct entrydb *db, struct path_entry *entry, struct stamp stamp)
{
	bool same = entry->row.settled && stamp_equal(entry->row.stamp, stamp);
	bool compared = entry->compared_stands && stamp_equal(entry->compared, stamp) &&
	                (!entry->nameless || handle_omits_names(db));

	if (entry->source == SOURCE_NONE || !(same || compared))
		return false;
	if (same && entry->standings) {
		entry_forget_standings(entry);
		db->changes++;
	}
	entry->nameless &= !same;
	return watched_unchanged(db, entry);
}

/* How the row's database was carried, and probably the entry with it; NULL: they were not. */
static const struct carried *carried_here(struct entrydb *db, const struct path_entry *entry,
                                          struct stamp stamp)
{
	const struct carried *carried = entry->source == SOURCE_NONE
	                                        ? NULL
	                                        : source_carried(&db->sources.items[entry->source]);

	return carried && carried_with(carried, entry->row.stamp, stamp) ? carried : NULL;
}

/* All of a zip changes at once: its size and time are those of everything in it. */
static bool zip_holds(struct entrydb *db, const struct path_entry *entry, const struct stat *status)
{
	const struct stamp stamp = stamp_of(status);
	const struct outline recorded = {true, entry->row.size, entry->row.stamp.mtime};
	const struct outline now = {true, status->st_size, stamp.mtime};
	const struct carried *carried;

	if (entry->row.kind != ROOT_ZIP || !entry->row.settled || !S_ISREG(status->st_mode))
		return false;
	carried = carried_here(db, entry, stamp);
	return carried && carried_same(carried, &recorded, &now);
}

/* What the scan did not read again, because its row is still right. */
static int adopt_rows(struct path_entry *entry, struct error *error)
{
	const struct root_record *rows = &entry->reused;
	struct name_map by_directory = {0};
	bool failed = false;

	for (size_t i = 0; i < rows->distribution_count; i++)
		name_map_put(&by_directory, rows->distributions[i].directory, (uint32_t)i, &failed);
	for (size_t i = 0; i < entry->scanned.distribution_count; i++) {
		struct distribution_record *now = &entry->scanned.distributions[i];
		uint32_t at = name_map_get(&by_directory, now->directory);
		struct distribution_record fresh = *now;

		if (!now->reused || at == NAME_MAP_NONE)
			continue;
		*now = rows->distributions[at];
		now->position = fresh.position;
		now->reused = true;
		if (entry->nameless) {
			now->name = now->version = (struct slice){0};
			now->has_headers = false;
		}
	}
	name_map_free(&by_directory);
	return failed ? error_nomem(error) : 0;
}

/* Is the scan, distribution by distribution, what the rows say? */
static bool same_as_rows(const struct root_record *scanned, const struct root_record *known)
{
	if (scanned->distribution_count != known->distribution_count)
		return false;
	for (size_t i = 0; i < scanned->distribution_count; i++)
		if (!scanned->distributions[i].reused)
			return false;
	return true;
}

/* Do they also stand in the same order? */
static bool in_same_order(const struct root_record *scanned, const struct root_record *known)
{
	for (size_t i = 0; i < scanned->distribution_count; i++)
		if (scanned->distributions[i].id != known->distributions[i].id)
			return false;
	return true;
}

/*
 * The rows are right: from now on, for as long as the path entry does not change. @in_place:
 * they also stand where the database has them.
 */
static int believe_rows(struct entrydb *db, struct path_entry *entry, bool in_place,
                        const char *reason, struct error *error)
{
	entry_forget_standings(entry);
	if (!in_place) {
		db->changes++;
		if (!entry_keep_standings(entry, &entry->scanned))
			return error_nomem(error);
	}
	entry->compared = entry->scanned.stamp;
	entry->compared_stands = entry->scanned.settled;
	set_state(db, entry, ENTRY_CHECKED, reason);
	return 0;
}

enum known_part {
	KNOWN_OUTLINES, /* what is known again by them, and in no order */
	KNOWN_ROWS,
	KNOWN_ALL, /* with entry points */
};

/* The distributions of the row, to compare with; false where there are none to be had. */
static bool read_known(struct reader *reader, const struct path_entry *entry, enum known_part part,
                       struct root_record *known)
{
	if (!reader || entry->row.kind != ROOT_DIRECTORY)
		return false;
	known->id = entry->row.id;
	known->distribution_count = entry->row.distribution_count;
	if (part == KNOWN_OUTLINES)
		return reader_outlines(reader, known, NULL) == 0;
	return reader_distributions(reader, known, part == KNOWN_ALL, NULL) == 0;
}

static struct scan_options scan_options_of(const struct entrydb *db, const struct path_entry *entry)
{
	return (struct scan_options){
	        .egg_base = slice_of(entry->spelled),
	        .in_place = !layout_is_known(entry->path),
	        .depth = db->rules == ENTRYDB_IM_10_1 ? SCAN_HAS_METADATA : 0,
	};
}

/* How many distributions the database knows to change in place, at any age. */
static uint32_t changing_in_place(const struct root_record *row)
{
	uint32_t count = 0;

	for (size_t i = 0; row->watched > 0 && i < row->distribution_count; i++)
		count += row->distributions[i].watched && !row->distributions[i].young;
	return count;
}

/*
 * Read the entry again, all that Python would read; @tree, taken over: it was opened just
 * now, or NULL. What the database knows to change in place is read at each question.
 */
static int scan(struct entrydb *db, struct path_entry *entry, struct tree *tree, const char *reason,
                struct error *error)
{
	struct scan_options options = scan_options_of(db, entry);
	int code;

	options.met = db->met;
	entry_forget_scan(entry);
	code = scan_opened(tree, entry->path, &options, &entry->scanned, error);
	if (code < 0)
		return code;
	entry->scanned.watched += changing_in_place(&entry->row);
	set_state(db, entry, ENTRY_SCANNED, reason);
	return 0;
}

/* The rows are right only in part: read those, and take what has been read besides. */
static int complete(struct entrydb *db, struct path_entry *entry, struct reader *reader,
                    const char *reason, struct error *error)
{
	int code;

	if (!read_known(reader, entry, KNOWN_ALL, &entry->reused))
		return scan(db, entry, NULL, reason, error);
	code = adopt_rows(entry, error);
	if (code == 0)
		set_state(db, entry, ENTRY_SCANNED, reason);
	else
		entry_forget_scan(entry);
	return code;
}

static const char was_carried[] = "it was carried here with its database, and is as it was indexed";

/*
 * Compare the entry, a directory, with its distributions in the database, which was perhaps
 * @carried with it. If all of them are as they were, the rows will do; what is not is read. A
 * database that fails meanwhile is done without.
 */
static int rescan(struct entrydb *db, struct path_entry *entry, const struct carried *carried,
                  const char *reason, struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	struct reader *reader = source_reader(&db->sources.items[entry->source]);
	struct scan_options options = scan_options_of(db, entry);
	int code;

	if (!read_known(reader, entry, carried ? KNOWN_OUTLINES : KNOWN_ROWS, &known))
		return scan(db, entry, NULL, reason, error);
	options.known = &known;
	options.carried = carried;
	options.depth |= carried ? 0 : SCAN_STAMPS | SCAN_HAS_METADATA;
	options.nameless = handle_omits_names(db);
	entry->nameless = carried && options.nameless;
	entry_forget_scan(entry);
	code = scan_path(entry->path, &options, &entry->scanned, error);
	if (code < 0)
		return code;
	if (!same_as_rows(&entry->scanned, &known))
		return complete(db, entry, reader, reason, error);
	return believe_rows(
	        db, entry, !carried && in_same_order(&entry->scanned, &known),
	        carried ? was_carried : "every distribution was compared with the database", error);
}

/* --- the decision --- */

static bool scan_still_holds(const struct path_entry *entry, struct stamp stamp)
{
	return entry->state == ENTRY_SCANNED && entry->scanned.settled &&
	       entry->scanned.watched == 0 && stamp_equal(entry->scanned.stamp, stamp);
}

static const char no_row[] = "no database describes it; 'entrydb update' would make it fast";

static const char *why_not_fresh(const struct entrydb *db, const struct path_entry *entry,
                                 struct stamp stamp)
{
	if (entry->source == SOURCE_NONE)
		return no_row;
	if (!stamp_equal(entry->row.stamp, stamp))
		return "it has changed since the database was updated";
	if (!entry->row.settled)
		return "it had just changed when the database was updated";
	if (db->fresh == ENTRYDB_FRESH_EXACT)
		return "all of it is read, whatever a database has (level exact)";
	if (source_is_marked(&db->sources.items[entry->source]))
		return "a hook could not bring the database up to date";
	return "a distribution in it, editable or just installed, has changed";
}

/* Are times of the path entry no proof, so that every distribution is to be compared? */
static bool must_compare(const struct entrydb *db, const struct path_entry *entry)
{
	return db->fresh == ENTRYDB_FRESH_EXACT ||
	       (entry->source != SOURCE_NONE &&
	        source_is_marked(&db->sources.items[entry->source]));
}

/*
 * Has something about it changed, but not the names in it? Its permissions have, or it is a
 * copy: most in it may be as it was.
 */
static bool has_same_names(const struct path_entry *entry, struct stamp stamp)
{
	return entry->source != SOURCE_NONE && entry->row.stamp.mtime == stamp.mtime &&
	       !stamp_equal(entry->row.stamp, stamp);
}

/* The same for where links lead that the path of @tree, of @entry, may contain. */
static int has_database_resolved(struct entrydb *db, const struct path_entry *entry,
                                 const struct tree *tree, struct error *error)
{
	CLEANUP(cleanup_free) char *real = db->sysroot ? NULL : file_real_path(tree->fd);

	if (db->sysroot || (real && strcmp(real, entry->path) == 0))
		return 0;
	return real ? locate_database(db, real, error) : 1;
}

/*
 * Where there is no database, nothing is to be compared: the directory is opened and read,
 * as Python does, without another look at it. 1: done; 0: it takes more; or a failure.
 */
static int scan_undescribed(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	const char *inside = entry->path + (db->sysroot ? strlen(db->sysroot) : 0);
	int code = locate_database(db, inside, error);

	if (code != 0)
		return code < 0 ? code : 0;
	if (tree_open(entry->path, &tree, NULL) < 0 || tree->kind != ROOT_DIRECTORY)
		return 0;
	code = has_database_resolved(db, entry, tree, error);
	if (code != 0)
		return code < 0 ? code : 0;
	entry->generation = db->sources.generation;
	code = scan(db, entry, take(tree), no_row, error);
	return code < 0 ? code : 1;
}

static int refresh_entry(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	const struct carried *carried;
	const char *reason;
	struct stat status;
	struct stamp stamp;
	bool is_updated;
	int code = locate_path(db, entry, error);

	if (code > 0 && entry->state == ENTRY_UNKNOWN) {
		code = scan_undescribed(db, entry, error);
		if (code != 0)
			return code < 0 ? code : 0;
		code = 1;
	}
	if (code > 0)
		code = stat_entry(entry, &status, error);
	if (code == 0)
		set_state(db, entry, ENTRY_ABSENT, "nothing is there");
	if (code <= 0)
		return code;
	is_updated = entry->generation != db->sources.generation;
	if (entry->state == ENTRY_UNKNOWN || entry->state == ENTRY_ABSENT || is_updated)
		code = locate_row(db, entry, &status, error);
	if (code < 0)
		return code;
	stamp = stamp_of(&status);
	if (!must_compare(db, entry)) {
		if (row_holds(db, entry, stamp) || zip_holds(db, entry, &status)) {
			set_state(db, entry, ENTRY_FRESH,
			          "the directory is as the database has it");
			return 0;
		}
		if (!is_updated && scan_still_holds(entry, stamp))
			return 0;
	} else if (entry->source != SOURCE_NONE && entry->row.kind == ROOT_ZIP &&
	           entry->row.settled && stamp_equal(entry->row.stamp, stamp)) {
		set_state(db, entry, ENTRY_CHECKED, "the file is as the database has it");
		return 0;
	}
	reason = why_not_fresh(db, entry, stamp);
	carried = must_compare(db, entry) ? NULL : carried_here(db, entry, stamp);
	if (carried || (!must_compare(db, entry) && has_same_names(entry, stamp)))
		return rescan(db, entry, carried, reason, error);
	return scan(db, entry, NULL, reason, error);
}

/* Without any stat, once the row is found; what has no row is scanned once. */
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
	if (entry->source == SOURCE_NONE)
		return refresh_entry(db, entry, error);
	set_state(db, entry, ENTRY_FRESH, "the database is trusted (level trust)");
	return 0;
}

/* Is there no row because the database that was named cannot be read? Then that is the error. */
static int why_without_row(struct entrydb *db, struct error *error)
{
	size_t index = sources_find(&db->sources, db->database, (uid_t)-1);
	const struct source *source;

	if (index == SOURCE_NONE)
		return error_nomem(error);
	source = &db->sources.items[index];
	if (!source->damaged && !error_is_failure(source->why.code))
		return 0;
	return error_set(error, source->why.code, "%s", error_text(&source->why));
}

/* A catalogued archive is what was said of it; nobody asks the disk. */
static int refresh_archive(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	int code = 0;

	if (entry->state == ENTRY_UNKNOWN || entry->generation != db->sources.generation)
		code = locate_path(db, entry, error);
	if (code > 0)
		code = locate_row(db, entry, NULL, error);
	if (code >= 0 && entry->source == SOURCE_NONE)
		code = why_without_row(db, error);
	if (code < 0)
		return code;
	set_state(db, entry, entry->source == SOURCE_NONE ? ENTRY_ABSENT : ENTRY_FRESH,
	          "a catalogued archive");
	return 0;
}

int refresh(struct entrydb *db, struct error *error)
{
	struct scan_met met = {0};
	int code = 0;

	db->met = &met;
	if (db->fresh != ENTRYDB_FRESH_TRUST)
		sources_refresh(&db->sources);
	for (size_t i = 0; code == 0 && i < db->entry_count; i++) {
		struct path_entry *entry = &db->entries[i];

		if (entry->archive)
			code = refresh_archive(db, entry, error);
		else if (db->fresh == ENTRYDB_FRESH_TRUST)
			code = trust_entry(db, entry, error);
		else
			code = refresh_entry(db, entry, error);
	}
	db->met = NULL;
	scan_met_free(&met);
	holders_look_at(&db->holders, &(struct holders_view){
	                                      .entries = db->entries,
	                                      .entry_count = db->entry_count,
	                                      .by_metadata = db->rules == ENTRYDB_IM_10_1,
	                                      .generation = db->sources.generation,
	                                      .changes = db->changes,
	                              });
	return code;
}

/* @state: the caller's number. */
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
	return handle_ask(db, refresh_and_count, state, error);
}

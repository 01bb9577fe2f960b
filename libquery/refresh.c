/*
 * refresh.c - is the database right about this path entry, now?
 *
 *     stat of the path entry
 *       equal to the row's, row settled, nothing watched changed   -> the rows
 *       otherwise: read the directory, compare every distribution
 *         all as in the rows, in the same order                     -> the rows
 *         otherwise                                                 -> the scan,
 *                                  with the rows that are still right in it
 *
 * The level "trust" takes the rows as they are, "exact" always goes the long way.
 * What a scan has read is kept and believed by the same rules as a row.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "distname.h"
#include "handle.h"
#include "layout.h"
#include "scan.h"

/* --- which row --- */

/* An egg counts EGG-INFO, and "x.egg/" is none: the row must have been made for such a spelling. */
static bool row_suits(const struct path_entry *entry, const struct coverage *coverage)
{
	struct slice spelled = slice_of(entry->spelled);

	if (entry->row.kind != ROOT_DIRECTORY && slice_ends(spelled, SLICE("/")))
		return false;
	return distname_is_egg_base(spelled) == distname_is_egg_base(slice_of(coverage->root_path));
}

/* Look the entry up in one database; true if it has a row. */
static bool find_row(struct entrydb *db, struct path_entry *entry, const struct coverage *coverage,
                     uid_t owner)
{
	size_t source = handle_source(db, coverage->database, owner);
	struct reader *reader = source == SOURCE_NONE ? NULL : source_reader(&db->sources[source]);

	if (!reader || reader_root(reader, slice_of(coverage->root_path), &entry->row, NULL) <= 0)
		return false;
	entry->row.path = (struct slice){0};
	if (!row_suits(entry, coverage))
		return false;
	if (entry->row.watched && reader_distributions(reader, &entry->row, false, NULL) < 0)
		return false;
	entry->source = source;
	return true;
}

/* In a database that was named: by the path as it is, or relative to the file's base. */
static bool find_in_given(struct entrydb *db, struct path_entry *entry, const char *path)
{
	size_t source = handle_source(db, db->database, (uid_t)-1);
	struct slice base = source == SOURCE_NONE ? SLICE("") : slice_of(db->sources[source].base);
	struct coverage coverage = {db->database, (char *)path};

	if (find_row(db, entry, &coverage, (uid_t)-1))
		return true;
	if (!slice_starts(slice_of(path), base) || path[base.len] != '/')
		return false;
	coverage.root_path = (char *)path + base.len + 1;
	return find_row(db, entry, &coverage, (uid_t)-1);
}

static void forget_row(struct path_entry *entry)
{
	root_record_free(&entry->row);
	entry->source = SOURCE_NONE;
}

/* Without a stat, what there is is taken. */
static bool is_up_to_date(const struct path_entry *entry, const struct stat *status)
{
	return !status || stamp_equal(entry->row.stamp, stamp_of(status));
}

/*
 * The prefix's row, unless it is out of date and the user's own is not: where root has
 * indexed an environment, its owner's updates go elsewhere.
 */
static bool find_in_layouts(struct entrydb *db, struct path_entry *entry, const char *path,
                            const struct stat *status)
{
	CLEANUP(coverage_free) struct coverage prefix = {0};
	CLEANUP(coverage_free) struct coverage user = {0};
	uid_t owner = status ? status->st_uid : geteuid();
	bool in_prefix = layout_of_prefix(path, db->root, &prefix) > 0 &&
	                 find_row(db, entry, &prefix, owner);
	bool in_user;

	if ((in_prefix && is_up_to_date(entry, status)) || db->root ||
	    layout_of_user(path, &user) <= 0)
		return in_prefix;
	if (in_prefix)
		forget_row(entry);
	in_user = find_row(db, entry, &user, owner);
	if (!in_prefix || (in_user && is_up_to_date(entry, status)))
		return in_user;
	forget_row(entry);
	return find_row(db, entry, &prefix, owner);
}

static bool find_anywhere(struct entrydb *db, struct path_entry *entry, const char *path,
                          const struct stat *status)
{
	return db->database ? find_in_given(db, entry, path)
	                    : find_in_layouts(db, entry, path, status);
}

/*
 * The row of the entry, by its spelling, else by where symbolic links lead. @status
 * is NULL where nobody looks. What is no link anywhere is resolved in vain, which is
 * cheap.
 */
static void locate(struct entrydb *db, struct path_entry *entry, const struct stat *status)
{
	const char *inside = entry->path + (db->root ? strlen(db->root) : 0);
	CLEANUP(cleanup_free) char *resolved = NULL;

	forget_row(entry);
	entry->compared_stands = false;
	if (!find_anywhere(db, entry, inside, status)) {
		forget_row(entry);
		resolved = db->root ? NULL : realpath(entry->path, NULL);
		if (!resolved || strcmp(resolved, entry->path) == 0 ||
		    !find_anywhere(db, entry, resolved, status))
			forget_row(entry);
	}
	entry->generation = db->generation;
}

/* --- where the entry is --- */

/* Relative entries follow the current directory. False: there is nothing to look at. */
static bool find_path(struct entrydb *db, struct path_entry *entry)
{
	CLEANUP(cleanup_free) char *absolute = NULL;
	char *path = NULL;

	if (entry->path && !entry->relative)
		return true;
	absolute = layout_absolute(entry->spelled);
	if (absolute && db->root && asprintf(&path, "%s%s", db->root, absolute) < 0)
		path = NULL;
	if (!db->root)
		path = take(absolute);
	if (entry->path && path && strcmp(entry->path, path) == 0) {
		free(path);
		return true;
	}
	free(entry->path);
	entry->path = path;
	forget_row(entry);
	entry_forget_scan(entry);
	entry->state = ENTRY_UNKNOWN;
	return path != NULL;
}

/* A trailing slash on a file makes it nothing at all, as for any system call. */
static bool stat_entry(const struct path_entry *entry, struct stat *status)
{
	struct slice spelled = slice_of(entry->spelled);

	if (stat(entry->path, status) != 0)
		return false;
	return S_ISDIR(status->st_mode) || !slice_ends(spelled, SLICE("/"));
}

/* --- the rows --- */

/* Are the few distributions that are watched (see scan.h) as they were? */
static bool watched_unchanged(struct path_entry *entry)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct tree *tree = NULL;
	bool same = true;

	if (entry->row.watched == 0)
		return true;
	fd = open(entry->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || tree_open_directory(take_fd(&fd), (struct stamp){0}, &tree, NULL) < 0)
		return false;
	for (size_t i = 0; same && i < entry->row.distribution_count; i++) {
		const struct distribution_record *row = &entry->row.distributions[i];
		struct distribution_record now = {0};
		int64_t newest = 0;

		if (!row->watched)
			continue;
		tree->operations->stamps(tree, row->directory, &now, &newest);
		same = now.directory_stamp == row->directory_stamp &&
		       now.files_stamp == row->files_stamp;
	}
	tree_close(tree);
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
static bool row_holds(struct path_entry *entry, struct stamp stamp)
{
	bool same = entry->row.settled && stamp_equal(entry->row.stamp, stamp);
	bool compared = entry->compared_stands && stamp_equal(entry->compared, stamp);

	return entry->source != SOURCE_NONE && (same || compared) && watched_unchanged(entry);
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
	}
	name_map_free(&by_directory);
	return failed ? error_nomem(error) : 0;
}

/* Is the scan, distribution by distribution and in order, what the rows say? */
static bool same_as_rows(const struct root_record *scanned, const struct root_record *known)
{
	if (scanned->distribution_count != known->distribution_count)
		return false;
	for (size_t i = 0; i < scanned->distribution_count; i++)
		if (!scanned->distributions[i].reused ||
		    scanned->distributions[i].id != known->distributions[i].id)
			return false;
	return true;
}

/* Of two distributions of a name, the one that stock meets first is in the map. */
static int index_names(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	struct root_record *scanned = &entry->scanned;
	int passes = db->rules == ENTRYDB_IM_10_1 ? 2 : 1;
	bool failed = false;

	for (int pass = 0; pass < passes; pass++)
		for (size_t i = 0; !failed && i < scanned->distribution_count; i++) {
			const struct distribution_record *row = &scanned->distributions[i];

			if (slice_is_null(row->normalized_name) ||
			    (passes == 2 && row->has_metadata != (pass == 0)))
				continue;
			name_map_put(&entry->by_name, row->normalized_name, (uint32_t)i, &failed);
		}
	return failed ? error_nomem(error) : 0;
}

/* The distributions of the row, to compare with; false where there are none to be had. */
static bool read_known(struct reader *reader, const struct path_entry *entry, bool entry_points,
                       struct root_record *known)
{
	if (!reader || entry->row.kind != ROOT_DIRECTORY)
		return false;
	known->id = entry->row.id;
	known->distribution_count = entry->row.distribution_count;
	return reader_distributions(reader, known, entry_points, NULL) == 0;
}

/*
 * Read the entry again. With a row for a directory, compare with its
 * distributions; if all of them are as they were, the rows will do. A database
 * that fails meanwhile is done without.
 */
static int rescan(struct entrydb *db, struct path_entry *entry, const char *reason,
                  struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	struct reader *reader =
	        entry->source == SOURCE_NONE ? NULL : source_reader(&db->sources[entry->source]);
	struct scan_options options = {
	        .egg_base = slice_of(entry->spelled),
	        .in_place = !layout_is_known(entry->path),
	        .depth = db->rules == ENTRYDB_IM_10_1 ? SCAN_HAS_METADATA : 0,
	};
	int code;

	entry_forget_scan(entry);
	if (read_known(reader, entry, false, &known)) {
		options.known = &known;
		options.depth |= SCAN_STAMPS | SCAN_HAS_METADATA;
	}
	code = scan_path(entry->path, &options, &entry->scanned, error);
	if (code < 0)
		return code;
	if (options.known && same_as_rows(&entry->scanned, &known)) {
		entry->compared = entry->scanned.stamp;
		entry->compared_stands = entry->scanned.settled;
		set_state(db, entry, ENTRY_CHECKED,
		          "every distribution was compared with the database");
		return 0;
	}
	if (options.known && !read_known(reader, entry, true, &entry->reused)) {
		entry_forget_scan(entry);
		options.known = NULL;
		code = scan_path(entry->path, &options, &entry->scanned, error);
		if (code < 0)
			return code;
	}
	code = adopt_rows(entry, error);
	if (code == 0)
		code = index_names(db, entry, error);
	if (code == 0)
		set_state(db, entry, ENTRY_SCANNED, reason);
	else
		entry_forget_scan(entry);
	return code;
}

/* --- the decision --- */

static bool scan_still_holds(const struct path_entry *entry, struct stamp stamp)
{
	return entry->state == ENTRY_SCANNED && entry->scanned.settled &&
	       entry->scanned.watched == 0 && stamp_equal(entry->scanned.stamp, stamp);
}

static const char *why_not_fresh(const struct path_entry *entry, struct stamp stamp)
{
	if (entry->source == SOURCE_NONE)
		return "no database describes it; 'entrydb update' would make it fast";
	if (!stamp_equal(entry->row.stamp, stamp))
		return "it has changed since the database was updated";
	if (!entry->row.settled)
		return "it had just changed when the database was updated";
	return "a distribution in it, editable or just installed, has changed";
}

static int refresh_entry(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	struct stat status;
	struct stamp stamp;

	if (!find_path(db, entry) || !stat_entry(entry, &status)) {
		set_state(db, entry, ENTRY_ABSENT, "nothing is there");
		return 0;
	}
	if (entry->state == ENTRY_UNKNOWN || entry->state == ENTRY_ABSENT ||
	    entry->generation != db->generation)
		locate(db, entry, &status);
	stamp = stamp_of(&status);
	if (db->fresh != ENTRYDB_FRESH_EXACT) {
		if (row_holds(entry, stamp)) {
			set_state(db, entry, ENTRY_FRESH,
			          "the directory is as the database has it");
			return 0;
		}
		if (scan_still_holds(entry, stamp))
			return 0;
	} else if (entry->source != SOURCE_NONE && entry->row.kind == ROOT_ZIP &&
	           entry->row.settled && stamp_equal(entry->row.stamp, stamp)) {
		set_state(db, entry, ENTRY_CHECKED, "the file is as the database has it");
		return 0;
	}
	return rescan(db, entry, why_not_fresh(entry, stamp), error);
}

/* Without any stat, once the row is found; what has no row is scanned once. */
static int trust_entry(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	if (entry->state != ENTRY_UNKNOWN && !entry->relative)
		return 0;
	if (find_path(db, entry))
		locate(db, entry, NULL);
	if (entry->source == SOURCE_NONE)
		return refresh_entry(db, entry, error);
	set_state(db, entry, ENTRY_FRESH, "the database is trusted (level trust)");
	return 0;
}

/* A catalogued archive is what was said of it; nobody asks the disk. */
static int refresh_archive(struct entrydb *db, struct path_entry *entry)
{
	if (entry->state == ENTRY_UNKNOWN && find_path(db, entry))
		locate(db, entry, NULL);
	set_state(db, entry, entry->source == SOURCE_NONE ? ENTRY_ABSENT : ENTRY_FRESH,
	          "a catalogued archive");
	return 0;
}

/* A new file may have been published, or one may have appeared. */
static void refresh_sources(struct entrydb *db)
{
	for (size_t i = 0; i < db->source_count; i++) {
		struct source *source = &db->sources[i];

		if (source->reader ? reader_is_current(source->reader)
		                   : access(source->file, F_OK) != 0)
			continue;
		source_open(db, source);
	}
}

int refresh(struct entrydb *db, struct error *error)
{
	int code = 0;

	if (db->fresh != ENTRYDB_FRESH_TRUST)
		refresh_sources(db);
	for (size_t i = 0; code == 0 && i < db->entry_count; i++) {
		struct path_entry *entry = &db->entries[i];

		if (entry->archive)
			code = refresh_archive(db, entry);
		else if (db->fresh == ENTRYDB_FRESH_TRUST)
			code = trust_entry(db, entry, error);
		else
			code = refresh_entry(db, entry, error);
	}
	return code;
}

int entrydb_refresh(entrydb *db, unsigned long long *state, entrydb_error *error)
{
	struct error own = {0};
	int code;

	pthread_mutex_lock(&db->lock);
	code = refresh(db, &own);
	if (code == 0)
		*state = (unsigned long long)db->generation << 32 | db->changes;
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

/*
 * locate.c - finds a path entry on the disk, and the database that describes it.
 */
#include "libquery/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/layout.h"

/* --- the row --- */

/*
 * For Python, "x.egg" is an egg with EGG-INFO, but "x.egg/" is not: the row must be for the same
 * spelling.
 */
static bool row_suits(const struct path_entry *entry, const struct coverage *coverage)
{
	struct slice spelled = slice_of(entry->spelled);

	if (entry->row.kind == ROOT_ARCHIVE) /* or a package index, whose URL ends so */
		return true;
	if (entry->row.kind != ROOT_DIRECTORY && slice_ends(spelled, SLICE("/")))
		return false;
	return distname_is_egg_base(spelled) == distname_is_egg_base(slice_of(coverage->root_path));
}

static void forget_row(struct path_entry *entry)
{
	root_record_free(&entry->row);
	entry->source = SOURCE_NONE;
}

/* Look up the entry in one database: 1 if it has a suitable row, 0 if not, or an error. */
static int find_row(struct entrydb *db, struct path_entry *entry, const struct coverage *coverage,
                    uid_t owner, struct error *error)
{
	size_t source = sources_find(&db->sources, coverage->database, owner);
	struct reader *reader;
	int code;

	forget_row(entry);
	if (source == SOURCE_NONE)
		return error_nomem(error);
	reader = source_reader(&db->sources.items[source]);
	if (!reader)
		return 0;
	code = reader_root(reader, slice_of(coverage->root_path), &entry->row, error);
	entry->row.path = (struct slice){0};
	if (code > 0 && !row_suits(entry, coverage))
		code = 0;
	if (code > 0 && entry->row.watched) {
		code = reader_distributions(reader, &entry->row, false, error);
		code = code < 0 ? code : 1;
	}
	if (code > 0)
		entry->source = source;
	else
		forget_row(entry);
	return sources_check(&db->sources, source, code, error);
}

char *locate_base(const struct entrydb *db)
{
	size_t outside = db->sysroot ? strlen(db->sysroot) : 0;
	bool is_inside = outside && strncmp(db->database, db->sysroot, outside) == 0 &&
	                 db->database[outside] == '/';

	return layout_base(db->database + (is_inside ? outside : 0));
}

/* In the given database: by the path itself, or relative to the database's base. */
static int find_in_given(struct entrydb *db, struct path_entry *entry, const char *path,
                         struct error *error)
{
	CLEANUP(cleanup_free) char *base = locate_base(db);
	size_t length = base ? strlen(base) : 0;
	struct coverage coverage = {db->database, (char *)path};
	int found = base ? find_row(db, entry, &coverage, (uid_t)-1, error) : error_nomem(error);

	if (found != 0 || strncmp(path, base, length) != 0 || path[length] != '/')
		return found;
	coverage.root_path = (char *)path + length + 1;
	return find_row(db, entry, &coverage, (uid_t)-1, error);
}

/* At level trust, any row is accepted. */
static bool is_up_to_date(const struct path_entry *entry, const struct stat *status)
{
	return !status || stamp_equal(entry->row.stamp, stamp_of(status));
}

/*
 * The prefix's row, unless it is out of date and the user's is not: the owner of an environment
 * that root has indexed updates the user's database.
 */
static int find_by_path(struct entrydb *db, struct path_entry *entry, const char *path,
                        const struct stat *status, struct error *error)
{
	CLEANUP(coverage_free) struct coverage prefix = {0};
	CLEANUP(coverage_free) struct coverage user = {0};
	uid_t owner = status ? status->st_uid : geteuid();
	int in_prefix = 0, in_user = 0;

	if (db->database)
		return find_in_given(db, entry, path, error);
	if ((in_prefix = layout_of_prefix(path, db->sysroot, &prefix)) < 0)
		return error_nomem(error);
	if (in_prefix > 0)
		in_prefix = find_row(db, entry, &prefix, owner, error);
	if (in_prefix < 0 || (in_prefix && is_up_to_date(entry, status)) || db->sysroot)
		return in_prefix;
	if ((in_user = layout_of_user(path, &user)) < 0)
		return error_nomem(error);
	if (in_user)
		in_user = find_row(db, entry, &user, owner, error);
	if (in_user < 0 || !in_prefix || (in_user && is_up_to_date(entry, status)))
		return in_user;
	return find_row(db, entry, &prefix, owner, error);
}

/* By the real path, if it differs, and if what it leads to can be read. */
static int find_resolved(struct entrydb *db, struct path_entry *entry, const struct stat *status,
                         struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, entry->path, FILE_OWN_NAME);
	CLEANUP(cleanup_free) char *resolved = fd < 0 ? NULL : file_real_path(fd);

	if (!resolved && errno != EACCES)
		resolved = safe_real_path(entry->path, NULL);
	if (!resolved && errno_is_failure(errno))
		return error_errno(error, errno, "%s", entry->path);
	if (!resolved || strcmp(resolved, entry->path) == 0)
		return 0;
	return find_by_path(db, entry, resolved, status, error);
}

int locate_row(struct entrydb *db, struct path_entry *entry, const struct stat *status,
               struct error *error)
{
	const char *inside = entry->path + (db->sysroot ? strlen(db->sysroot) : 0);
	int code;

	entry_forget_read(entry);
	code = find_by_path(db, entry, inside, status, error);
	if (code == 0 && !db->sysroot)
		code = find_resolved(db, entry, status, error);
	if (code < 0)
		return code;
	entry->generation = db->sources.generation;
	entry->state = ENTRY_UNKNOWN;
	entry->is_proven = entry->source != SOURCE_NONE && entry->row.settled;
	entry->proven = entry->row.stamp;
	return 0;
}

/* --- the path --- */

int locate_path(struct entrydb *db, struct path_entry *entry, struct error *error)
{
	CLEANUP(cleanup_free) char *absolute = NULL;
	CLEANUP(cleanup_free) char *path = NULL;

	if (entry->path && !entry->relative)
		return 1;
	absolute = layout_absolute(entry->spelled);
	if (!absolute && errno_is_failure(errno))
		return error_errno(error, errno, "%s", entry->spelled);
	if (absolute)
		path = db->sysroot ? text_format("%s%s", db->sysroot, absolute) : take(absolute);
	if (absolute && !path)
		return error_nomem(error);
	if (entry->path && path && strcmp(entry->path, path) == 0)
		return 1;
	free(entry->path);
	entry->path = take(path);
	entry->way = TRUST_WAY_UNKNOWN;
	forget_row(entry);
	entry_forget_read(entry);
	entry->state = ENTRY_UNKNOWN;
	return entry->path != NULL;
}

/* --- existence of a database --- */

static bool is_there(struct entrydb *db, const char *file)
{
	size_t source = sources_find(&db->sources, file, TRUST_NO_OTHER);

	return source == SOURCE_NONE || db->sources.items[source].reader ||
	       db->sources.items[source].why.code != ERROR_NOTFOUND;
}

int locate_database(struct entrydb *db, const char *path, struct error *error)
{
	CLEANUP(coverage_free) struct coverage prefix = {0};
	CLEANUP(coverage_free) struct coverage user = {0};
	int code;

	if (db->database)
		return is_there(db, db->database);
	code = layout_of_prefix(path, db->sysroot, &prefix);
	if (code > 0 && is_there(db, prefix.database))
		return 1;
	if (code >= 0 && !db->sysroot)
		code = layout_of_user(path, &user);
	if (code < 0)
		return error_nomem(error);
	return user.database && is_there(db, user.database);
}

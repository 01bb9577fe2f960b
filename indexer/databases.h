/*
 * databases.h - determines the databases, and the roots in each, that a command works on.
 */
#ifndef INDEXER_DATABASES_H
#define INDEXER_DATABASES_H

#include <sys/types.h>

#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/reader.h"
#include "db/record.h"
#include "indexer/command.h"
#include "libquery/sites.h"

/* A root to work on. */
struct database_root {
	char *path;         /* on this machine, including the sysroot */
	const char *inside; /* the part of path after the sysroot */
	char *root_path;    /* as stored in the database */
};

struct database {
	char *file;
	struct database_root *roots;
	size_t root_count, root_room;
	struct name_map by_root_path; /* of roots */
	const char *sysroot;          /* NULL, or a prefix of the file's path; borrowed */
	bool may_replace;             /* the file's name is reserved for us: not from --db */
	uid_t uid;                    /* the owner of its territory, see safe_path.h */
	char *real;                   /* the path of the file without links, as far as it exists */
};

struct databases {
	struct database *items;
	size_t count, room;
	struct name_map by_file;
	size_t left_alone; /* path entries without a writable database; reported */
};

void databases_free(struct databases *databases);

/*
 * Group the roots named by the command's arguments by database. An argument is a site directory, a
 * zip or egg, or a prefix. Without arguments: this machine's site directories, or, for reading, the
 * roots in the file of --db except archives. @to_write: if the prefix belongs to another user or
 * cannot be written, the user's own database is used instead; for root, only if the place is
 * world-writable; see databases_check_owner().
 */
int databases_of_arguments(const struct options *options, bool to_write, struct databases *out,
                           struct error *error);

/* Add a database file without roots; @sysroot: NULL, or a prefix of its path, borrowed. */
int databases_add_file(const char *file, const char *sysroot, bool may_replace,
                       struct databases *out, struct error *error);

/* Add the database of one absolute path. */
int databases_add_path(const struct options *options, bool to_write, const char *path,
                       struct databases *out, struct error *error);

/*
 * Root works only in root's territory: another user can replace anything in their own at any
 * moment. ERROR_PERMISSION for root if @uid is another user: the message tells how to run @command
 * (NULL: the update of @place) as that user. Check this before opening anything there.
 */
int databases_check_owner(const char *place, uid_t uid, const char *command, struct error *error);

/* The same for a database; @command NULL: its update. @error may be NULL. */
int database_check_owner(const struct database *database, const char *command, struct error *error);

/*
 * The same for a root of root's own database, without which the rest is updated: another user's
 * directory on the path to it may lead anywhere.
 */
int database_check_root(const char *path, const char *sysroot, struct error *error);

/*
 * The permissions for publishing @database: readable by everyone who can read all its roots, also
 * those in @reader (NULL: none), and could read the published file before. 0 or a failure.
 */
int database_mode(const struct options *options, const struct database *database,
                  struct reader *reader, mode_t *mode, struct error *error);

/* The users who can read what is published with @mode. */
static inline struct readers database_readers(const struct database *database, mode_t mode)
{
	return (struct readers){mode & 0044 ? mode & 0444 : 0, database->real};
}

/*
 * Restrict *mode, of a file published at the real path @beside, to its users who can also read the
 * file at @path.
 */
int databases_narrow(const char *path, const char *beside, mode_t *mode, struct error *error);

/*
 * The roots in a database, whether or not a command names them: an environment loses a site
 * directory when its Python is upgraded, and no command names that one again.
 *
 * A root_each for a struct sites: adds the root's path as stored, except for archives.
 */
int known_roots_add(void *sites, const struct root_record *root);

/*
 * The path of the root stored as @root_path in the database @file: *out, malloc'd; NULL if unknown:
 * with --root, an absolute path is meant inside it, but the file may lie outside.
 */
int known_root_path(const struct options *options, const char *file, const char *root_path,
                    char **out, struct error *error);

/* Does the root no longer exist? */
bool known_root_is_gone(const char *path);

#endif

/*
 * databases.h - which databases a command is about, and which roots in each.
 */
#ifndef INDEXER_DATABASES_H
#define INDEXER_DATABASES_H

#include <sys/types.h>

#include "db/base/name_map.h"
#include "db/record.h"
#include "indexer/command.h"
#include "libquery/sites.h"

/* A root that a command is to work on. */
struct database_root {
	char *path;         /* as the caller's machine has it, below the sysroot if there is one */
	const char *inside; /* the part of path below the sysroot */
	char *root_path;    /* as the database spells it */
};

struct database {
	char *file;
	struct database_root *roots;
	size_t root_count, root_room;
	struct name_map by_root_path; /* those in roots */
	const char *sysroot;          /* NULL, or what the file's path begins with; borrowed */
	bool may_replace;             /* the file's name is ours alone, not one from --db */
	uid_t uid;                    /* the owner of the place: see safe_path.h */
	gid_t gid;
	mode_t search; /* who may search the way to the file, as permissions to read */
};

struct databases {
	struct database *items;
	size_t count, room;
	size_t left_alone; /* path entries for which no database may be written; reported */
};

void databases_free(struct databases *databases);

/*
 * Sort what the command's arguments name by the databases that describe it. An argument is a site
 * directory, a zip or egg, or a prefix. Without any: this machine's site directories, or, to
 * read, what the file of --db knows, archives aside. @to_write: where the prefix is not the
 * caller's, or cannot be written, the user's own database takes its place. Root's does only where
 * everybody may write; see databases_check_owner().
 */
int databases_of_arguments(const struct options *options, bool to_write, struct databases *out,
                           struct error *error);

/* The database of that file, for whatever is not a root. */
int databases_add_file(const char *file, bool may_replace, struct databases *out,
                       struct error *error);

/* The one database of one absolute path. */
int databases_add_path(const struct options *options, bool to_write, const char *path,
                       struct databases *out, struct error *error);

/*
 * Root works where root's things are: what lies in another user's directories, that user
 * can exchange at any moment. ERROR_PERMISSION for root where @uid is another user: it says
 * whose @prefix is, and to run @command as that user. Nothing of the
 * place is opened before this is asked.
 */
int databases_check_owner(const char *prefix, uid_t uid, gid_t gid, const char *command,
                          struct error *error);

/* The same of a database; @command NULL: its update. @error may be NULL. */
int database_check_owner(const struct database *database, const char *command, struct error *error);

/*
 * The permissions of what is published for @database: everybody may read it who may read all of
 * its roots, and could read what was published before. 0 or a failure.
 */
int database_mode(const struct database *database, mode_t *mode, struct error *error);

/* Those who can read what is published with @mode, as file_open_for() wants them. */
static inline mode_t database_readers(const struct database *database, mode_t mode)
{
	return mode & 0044 ? (mode & 0444) | database->search >> 2 : 0;
}

/* Take from *mode what not everybody has who may read @database: to read what is at @path. */
int database_narrow(const struct database *database, const char *path, mode_t *mode,
                    struct error *error);

/*
 * The roots that a database knows, whether or not a command names them: an environment loses a
 * site directory when its Python is upgraded, and no command names that one again.
 *
 * A root_each, for a struct sites: add the root's path, as the database spells it; no archives.
 */
int known_roots_add(void *sites, const struct root_record *root);

/*
 * Where the root lies that the database @file calls @root_path: *@out, malloc'd. NULL where that
 * cannot be known: with --root, an absolute path is meant below it, but the file may lie outside.
 */
int known_root_path(const struct options *options, const char *file, const char *root_path,
                    char **out, struct error *error);

/* Is nothing there? */
bool known_root_is_gone(const char *path);

#endif

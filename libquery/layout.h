/*
 * layout.h - maps path entries to prefixes, databases and policy files.
 *
 * The database is stored in the environment that it describes, and is found from the path entry
 * alone, by the known layouts of Python installations:
 *
 *     PREFIX/lib/pythonX.Y[/site-packages|/dist-packages|/lib-dynload]
 *     PREFIX/lib64/..., PREFIX/lib/pypyX.Y/..., PREFIX/lib/python3/dist-packages
 *     PREFIX/lib/pythonXY.zip, and a zip or egg directly inside one of these
 *
 *     PREFIX               database                                     paths in it
 *     /, /usr, /usr/local  /var/lib/entrydb/entry_points.db             relative to /
 *     ~/.local             $XDG_STATE_HOME/entrydb/entry_points.db      absolute
 *     any other            PREFIX/var/lib/entrydb/entry_points.db       relative to PREFIX
 *     no known layout      $XDG_STATE_HOME/entrydb/entry_points.db      absolute
 *
 * Policy files (policy_file.h) are /etc/entrydb/policy.conf, PREFIX/etc/entrydb/policy.conf and
 * $XDG_CONFIG_HOME/entrydb/policy.conf.
 */
#ifndef LIBQUERY_LAYOUT_H
#define LIBQUERY_LAYOUT_H

#include "db/base/error.h"
#include "db/base/slice.h"

/* A database that may describe a path entry. */
struct coverage {
	char *database;  /* absolute path of the file; malloc'd */
	char *root_path; /* the path entry as spelled in that file; malloc'd */
};

void coverage_free(struct coverage *coverage);

/*
 * The database of the prefix of @path, an absolute path without ".", ".." and doubled slashes, as
 * seen from inside @sysroot (NULL or "" for none). 1: found; 0: no known layout; or ERROR_NOMEM.
 */
int layout_of_prefix(const char *path, const char *sysroot, struct coverage *out);

/* The length of the prefix of @path, as above; -1: no known layout. */
long layout_prefix(const char *path);

/* The same, but 0 for the system's prefixes, and -1 for the user's own. */
long layout_environment(const char *path);

/* The policy file of the environment at @prefix ("": the system's). malloc'd. */
char *layout_policy(const char *sysroot, struct slice prefix);

/* Names for layout_user_config(): the user's policy file and audit settings. */
#define LAYOUT_USER_POLICY "/entrydb/policy.conf"
#define LAYOUT_USER_AUDIT  "/entrydb/audit.conf"

/* The path of the user's file @name; *out is NULL without a home directory. ERROR_NOMEM. */
int layout_user_config(const char *name, char **out);

/* Names for layout_user_state(): what else is beside the user's own database. */
#define LAYOUT_QUARANTINE "/entrydb/quarantine"
#define LAYOUT_CATALOGUE  "/entrydb/catalogue.db"
#define LAYOUT_IMAGES     "/entrydb/images"

/* The path of @name; *out is NULL without a home directory. ERROR_NOMEM. */
int layout_user_state(const char *name, char **out);

/*
 * The user's own database, which may describe any path. 1; 0 without a home directory; ERROR_NOMEM.
 */
int layout_of_user(const char *path, struct coverage *out);

/* The directory to which relative paths in a database's rows are relative. malloc'd. */
char *layout_base(const char *database);

/* Is @database the path of a prefix's database, or of the system's? */
bool layout_is_of_prefix(const char *database);

/* Is @path the URL of a package index, http or https? It is the path of such a root. */
bool layout_is_url(struct slice path);

/*
 * The absolute path of a root that is stored as @root_path; @base: layout_base() of its database.
 * malloc'd.
 */
char *layout_path_of_root(const char *base, struct slice root_path);

/* @path as stored in @database: relative to its base, or absolute. malloc'd. */
char *layout_root_path(const char *database, const char *path);

/* Is @component the name of a Python's directory: python3, python3.13t, pypy3.10? */
bool layout_is_python(struct slice component);

/* Does @path have a known layout? Elsewhere metadata may change in place. */
bool layout_is_known(const char *path);

/*
 * @entry as an absolute path without ".", doubled slashes and a trailing slash; a path with ".." is
 * resolved by realpath(), a URL is unchanged. malloc'd; NULL, with errno, on failure.
 */
char *layout_absolute(const char *entry);

#endif

/*
 * layout.h - which database describes a path entry.
 *
 * The database lives with the environment that it describes, and is found from
 * the path entry alone, by the layouts in which Pythons are installed:
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
 * Rules about what may be loaded (policy_text.h) stand in /etc/entrydb/policy.conf,
 * PREFIX/etc/entrydb/policy.conf and $XDG_CONFIG_HOME/entrydb/policy.conf.
 */
#ifndef LIBQUERY_LAYOUT_H
#define LIBQUERY_LAYOUT_H

#include "db/base/error.h"
#include "db/base/slice.h"

/* One place where a path entry may be described. */
struct coverage {
	char *database;  /* absolute path of the file; malloc'd */
	char *root_path; /* how that file spells the path entry; malloc'd */
};

void coverage_free(struct coverage *coverage);

/*
 * The database of the prefix of @path, an absolute path without ".", ".." and
 * doubled slashes, as it is spelled inside @sysroot (another file-system root, or
 * NULL or "" for this one). 1 found; 0: no known layout; negative: no memory.
 */
int layout_of_prefix(const char *path, const char *sysroot, struct coverage *out);

/* The length of the prefix of @path, as above; -1: no known layout. */
long layout_prefix(const char *path);

/* The same; 0 for all prefixes of the system, and -1 for the user's own. */
long layout_environment(const char *path);

/* Where the rules are of the environment at @prefix ("": the system), and of the user. malloc'd. */
char *layout_policy(const char *sysroot, struct slice prefix);

/* The user's rules, and additions to the lists of audits. */
#define LAYOUT_USER_POLICY "/entrydb/policy.conf"
#define LAYOUT_USER_AUDIT  "/entrydb/audit.conf"

/* Where that file is; *out is NULL if there is no home directory. ERROR_NOMEM. */
int layout_user_config(const char *name, char **out);

/* Where the user's shared objects that crashed are noted; *out is NULL as above. ERROR_NOMEM. */
int layout_quarantine(char **out);

/* The user's own database, which may describe any path. 0 if there is no home directory. */
int layout_of_user(const char *path, struct coverage *out);

/* Absolute paths in a database's rows begin with '/'; others are relative to this. malloc'd. */
char *layout_base(const char *database);

/* Is that where the database of a prefix is, or the system's? */
bool layout_is_of_prefix(const char *database);

/* Is it the URL of a package index, http or https? Such a root has it as its path. */
bool layout_is_url(struct slice path);

/* Where a root is that a row spells @root_path, given its database's layout_base(). malloc'd. */
char *layout_path_of_root(const char *base, struct slice root_path);

/* How the rows of @database spell @path: relative to its base, or absolute. malloc'd. */
char *layout_root_path(const char *database, const char *path);

/* Is that what the directory of a Python is called: python3, python3.13t, pypy3.10? */
bool layout_is_python(struct slice component);

/* Does @path lie in a known layout? Elsewhere metadata may change in place. */
bool layout_is_known(const char *path);

/*
 * @entry as an absolute path without ".", doubled slashes or a slash at the end;
 * ".." makes it be resolved on the disk; a URL stays as it is. malloc'd; NULL without
 * memory or current directory.
 */
char *layout_absolute(const char *entry);

#endif

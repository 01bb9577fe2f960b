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
 */
#ifndef LIBQUERY_LAYOUT_H
#define LIBQUERY_LAYOUT_H

#include "error.h"
#include "slice.h"

/* One place where a path entry may be described. */
struct coverage {
	char *database;  /* absolute path of the file; malloc'd */
	char *root_path; /* how that file spells the path entry; malloc'd */
};

void coverage_free(struct coverage *coverage);

/*
 * The database of the prefix of @path, an absolute path without ".", ".." and
 * doubled slashes, as it is spelled inside @root (another file-system root, or
 * NULL or "" for this one). 1 found; 0: no known layout; negative: no memory.
 */
int layout_of_prefix(const char *path, const char *root, struct coverage *out);

/* The user's own database, which may describe any path. 0 where there is no home. */
int layout_of_user(const char *path, struct coverage *out);

/* Absolute paths in a database's rows begin with '/'; others are relative to this. malloc'd. */
char *layout_base(const char *database);

/* How the rows of @database spell @path: relative to its base, or absolute. malloc'd. */
char *layout_root_path(const char *database, const char *path);

/* Does @path lie in a known layout? Elsewhere metadata may change in place. */
bool layout_is_known(const char *path);

/*
 * @entry as an absolute path without ".", doubled slashes or a slash at the end;
 * ".." makes it be resolved on the disk. malloc'd; NULL without memory or
 * current directory.
 */
char *layout_absolute(const char *entry);

#endif

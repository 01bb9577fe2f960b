/*
 * path.h - joins, splits and normalizes path names, without accessing the disk.
 *
 * A directory and a name make "directory/name", or the directory alone if the name is empty.
 */
#ifndef DB_BASE_PATH_H
#define DB_BASE_PATH_H

#include "db/base/arena.h"

/* The part after the last slash; the whole of a path without one. Part of @path. */
struct slice path_base(struct slice path);

/* The part before the last slash; empty for a path without one. Part of @path. */
struct slice path_directory(struct slice path);

/*
 * The directory in which the name @path is, malloc'd: the part up to the last slash, or "." without
 * one. A link at that name is not followed.
 */
char *path_parent(const char *path);

/* The size of the joined path, including its NUL. */
size_t path_room(struct slice directory, struct slice name);

/* Join into @to, which has path_room() bytes, with a NUL; returns the joined path. */
struct slice path_join(char *to, struct slice directory, struct slice name);

/* Join in @arena; null, with *failed set, if out of memory. */
struct slice path_join_in(struct arena *arena, struct slice directory, struct slice name,
                          bool *failed);

/*
 * Remove ".", doubled slashes and a trailing slash from @path, which starts with a slash, in place;
 * with @ups also ".." and the component before it, else ".." stays. Returns false if @path
 * contained "..".
 */
bool path_tidy(char *path, bool ups);

/*
 * os.path.normpath() of an absolute path, in place, without resolving links. As there, exactly two
 * leading slashes are kept.
 */
char *path_normalize(char *path);

#endif

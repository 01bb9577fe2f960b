/*
 * path.h - a file in a directory: "directory/name", or the directory alone where the
 * name is empty.
 */
#ifndef DB_BASE_PATH_H
#define DB_BASE_PATH_H

#include "db/base/arena.h"

/* What stands behind the last slash: all of a path without one. Part of @path. */
struct slice path_base(struct slice path);

/* What stands before it: nothing for a path without one. Part of @path. */
struct slice path_directory(struct slice path);

/* Bytes that the path needs, the NUL included. */
size_t path_room(struct slice directory, struct slice name);

/* Into @to, which has room for it, with a NUL at the end; the slice that it is. */
struct slice path_join(char *to, struct slice directory, struct slice name);

/* In @arena; null and *@failed set without memory, else *@failed is left alone. */
struct slice path_join_in(struct arena *arena, struct slice directory, struct slice name,
                          bool *failed);

/*
 * Remove ".", doubled slashes and a last slash from @path, which begins with one, in place. @ups:
 * ".." and what is before it, too; else that stays. False if it had ".." in it.
 */
bool path_tidy(char *path, bool ups);

/*
 * os.path.normpath() of an absolute path, in place: without ".", "..", doubled slashes and a last
 * one, by its letters alone. Two slashes at its beginning stay two.
 */
char *path_normalize(char *path);

#endif

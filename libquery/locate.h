/*
 * locate.h - where a path entry is, and the row that describes it. Private to libquery/.
 */
#ifndef LIBQUERY_LOCATE_H
#define LIBQUERY_LOCATE_H

#include <sys/stat.h>

#include "libquery/handle.h"

/*
 * Where the entry is: relative ones follow the current directory. 1: entry->path is known; 0:
 * there is nothing to look at; or a failure.
 */
int locate_path(struct entrydb *db, struct path_entry *entry, struct error *error);

/*
 * The row of the entry, by its spelling, else by where symbolic links lead. @status is NULL
 * where nobody looks. 0, with entry->source SOURCE_NONE where there is no row, or an error.
 */
int locate_row(struct entrydb *db, struct path_entry *entry, const struct stat *status,
               struct error *error);

/* Is there a database that may describe @path? 1, 0 or ERROR_NOMEM. */
int locate_database(struct entrydb *db, const char *path, struct error *error);

#endif

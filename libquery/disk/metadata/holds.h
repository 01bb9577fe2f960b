/*
 * holds.h - is a row of the database still right about its distribution? No file is opened.
 *
 *     the tree is           by its directory (questions)      by its files (updates, and
 *                                                             what changes in place)
 *       where it was        times and inode of the directory  and those of entry_points.txt
 *                           or file: one stat                 and METADATA, with their sizes
 *       carried with its    size and time of entry_points.txt; the same of both files
 *       database            of METADATA where it shows in
 *                           the answer
 *       carried, sealed     nothing, if the path entry is no younger than the database;
 *                           else sizes, and no file is younger
 *
 * A row that was not settled when it was written never holds; nor, where the tree was carried
 * (db/carried.h), one without METADATA, which may be still to come.
 */
#ifndef LIBQUERY_DISK_METADATA_HOLDS_H
#define LIBQUERY_DISK_METADATA_HOLDS_H

#include "db/carried.h"
#include "libquery/disk/tree/tree.h"

enum holds_by {
	HOLDS_BY_DIRECTORY, /* but by its files where the row says that they change in place */
	HOLDS_BUT_NAMES,    /* the same; names and versions are not asked for */
	HOLDS_BY_FILES,
};

/*
 * Does @row hold for what @tree has at row->directory? @carried: how the tree was, or NULL.
 * *newest, unless NULL, is raised to the newest time of its files, where they are looked at.
 * 1, 0 or a failure. May be called by several threads for one tree that is read for nobody
 * else (tree->readers).
 */
int row_holds(struct tree *tree, const struct carried *carried, enum holds_by by,
              const struct distribution_record *row, int64_t *newest, struct error *error);

/*
 * Digests of the times and sizes of out->directory and of the files in it that are indexed,
 * into the stamps of @out, and the outlines of these files; *newest is raised to the newest of
 * the times, nanoseconds since 1970. @known: what they were, or NULL; what cannot have come
 * since is not looked for. 0 or a failure. What is in an archive changes with the archive:
 * zeros.
 */
int row_stamps(struct tree *tree, const struct distribution_record *known,
               struct distribution_record *out, int64_t *newest, struct error *error);

/* The same as row_holds() by its files, with @now from row_stamps(). */
bool row_matches(const struct carried *carried, const struct distribution_record *row,
                 const struct distribution_record *now);

#endif

/*
 * row_check.h - decides whether an indexed distribution is still the one on disk, without opening
 * files.
 *
 *     the tree                  ROW_CHECK_DIRECTORY           ROW_CHECK_FILES (updates, and
 *                               (queries)                     distributions that change in place)
 *       was not moved           times and inode of the        also those and the sizes of
 *                               directory or file: one stat   entry_points.txt and METADATA
 *       was carried with its    size and time of              size and time of both files
 *       database                entry_points.txt, and of
 *                               METADATA if it affects the
 *                               answer
 *       was carried, sealed     nothing, if the path entry is not younger than the database;
 *                               else the sizes, and that no file is younger
 *
 * A row that was not settled when it was written is never valid; nor is one without METADATA in a
 * carried tree (db/carried.h), since METADATA may still be missing.
 */
#ifndef LIBQUERY_DISK_METADATA_ROW_CHECK_H
#define LIBQUERY_DISK_METADATA_ROW_CHECK_H

#include "db/carried.h"
#include "libquery/disk/tree/tree.h"

enum row_check {
	ROW_CHECK_DIRECTORY, /* but by its files if the row is watched */
	ROW_CHECK_NO_NAMES,  /* the same; names and versions are not needed */
	ROW_CHECK_FILES,
};

/*
 * Is @row still valid for row->directory in @tree? @carried: how the tree was carried, or NULL.
 * *newest, unless NULL, is raised to the newest time of its files, if they are checked. 1, 0 or a
 * failure. Several threads may use one tree, if tree->readers is 0.
 */
int row_is_valid(struct tree *tree, const struct carried *carried, enum row_check by,
                 const struct distribution_record *row, int64_t *newest, struct error *error);

/*
 * Compute the stamps of out->directory and its indexed files, digests of their times and sizes, and
 * the outlines of the files; *newest is raised to the newest time, nanoseconds since 1970. @known:
 * the recorded row, or NULL; files that cannot have appeared since are not checked. 0 or a failure.
 * Zeros in an archive, which changes as a whole.
 */
int row_stamps(struct tree *tree, const struct distribution_record *known,
               struct distribution_record *out, int64_t *newest, struct error *error);

/* As row_is_valid() with ROW_CHECK_FILES, with @now from row_stamps(). */
bool row_matches(const struct carried *carried, const struct distribution_record *row,
                 const struct distribution_record *now);

#endif

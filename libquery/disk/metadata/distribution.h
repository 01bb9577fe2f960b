/*
 * distribution.h - read one distribution of a tree: its names, its entry points, or
 * why importlib.metadata would raise on it.
 */
#ifndef LIBQUERY_DISK_METADATA_DISTRIBUTION_H
#define LIBQUERY_DISK_METADATA_DISTRIBUTION_H

#include "db/base/error.h"
#include "db/record.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/tree.h"

#define ENTRY_POINTS_TXT_MAX ((size_t)16 << 20) /* bytes */
#define METADATA_MAX         ((size_t)16 << 20) /* bytes */
#define POINTS_MAX           ((size_t)1 << 18)  /* entry points of one distribution */
#define POINTS_BYTES_MAX     ((size_t)64 << 20) /* bytes of these, each with its group */

/* What is wanted besides the normalized name and the entry points. */
enum distribution_part {
	DISTRIBUTION_HEADERS = 2,      /* name and version, by METADATA */
	DISTRIBUTION_HAS_METADATA = 4, /* whether there is METADATA or PKG-INFO */
};

/*
 * Fill @distribution, whose directory is set, from @tree; memory comes from @arena. Its
 * entry points are not read if distribution->unread says so.
 * What is wrong with it goes into distribution->error. 0 or a failure (error.h), after
 * which @distribution says nothing.
 */
int distribution_read(struct tree *tree, struct arena *arena, unsigned what,
                      struct distribution_record *distribution, struct error *error);

/*
 * The headers of the distribution @child: 1 read, 0 there are none, or negative. @strict: its
 * identity depends on them, so that whatever importlib.metadata would raise on is an error;
 * otherwise the beginning of the file will do.
 */
int distribution_parse_headers(struct tree *tree, struct arena *arena, struct slice child,
                               bool strict, struct metadata *out, struct error *error);

/*
 * Read name and version, where distribution_read() was not asked to: 1 read, 0 there
 * is no metadata, or none that may or can be read: they are null; or a failure.
 */
int distribution_read_headers(struct tree *tree, struct arena *arena,
                              struct distribution_record *distribution, struct error *error);

/* Read the entry points that distribution_read() has left unread, by the same rules. */
int distribution_read_rest(struct tree *tree, struct arena *arena,
                           struct distribution_record *distribution, struct error *error);

#endif

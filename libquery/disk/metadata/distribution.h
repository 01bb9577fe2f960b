/*
 * distribution.h - reads one distribution: its names, its entry points, or why importlib.metadata
 * would raise an exception on it.
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
#define POINTS_REPEATED_MAX  16 /* bytes of what their entry points repeat, for each of the file */
#define POINTS_REPEATED_MIN  ((size_t)16 << 10) /* the same for any size */

/* What to read besides the normalized name and the entry points. */
enum distribution_part {
	DISTRIBUTION_HEADERS = 2,      /* name and version from METADATA */
	DISTRIBUTION_HAS_METADATA = 4, /* whether there is METADATA or PKG-INFO */
};

/*
 * Read @distribution, whose directory is set, from @tree into @arena. Entry points are not read if
 * distribution->unread is set. Problems of the distribution are stored in distribution->error. 0 or
 * a transient failure (error.h), after which @distribution is undefined.
 */
int distribution_read(struct tree *tree, struct arena *arena, unsigned what,
                      struct distribution_record *distribution, struct error *error);

/*
 * Read the headers of the distribution @child: 1 read, 0 none, or negative. @strict: its identity
 * depends on them, so everything on which importlib.metadata would raise is an error; otherwise the
 * start of the file suffices.
 */
int distribution_parse_headers(struct tree *tree, struct arena *arena, struct slice child,
                               bool strict, struct metadata *out, struct error *error);

/*
 * Read name and version, if distribution_read() did not: 1 read; 0 if there is no readable
 * metadata, and they are null; or a failure.
 */
int distribution_read_headers(struct tree *tree, struct arena *arena,
                              struct distribution_record *distribution, struct error *error);

/* Read the entry points that distribution_read() left unread. */
int distribution_read_rest(struct tree *tree, struct arena *arena,
                           struct distribution_record *distribution, struct error *error);

#endif

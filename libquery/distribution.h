/*
 * distribution.h - read one distribution of a tree: its names, its entry points, or
 * why stock would raise on it.
 */
#ifndef LIBQUERY_DISTRIBUTION_H
#define LIBQUERY_DISTRIBUTION_H

#include "error.h"
#include "record.h"
#include "tree.h"

#define ENTRY_POINTS_TXT_MAX ((size_t)16 << 20) /* bytes */
#define METADATA_MAX         ((size_t)16 << 20) /* bytes */

/* What is wanted besides the normalized name and the entry points. */
enum distribution_part {
	DISTRIBUTION_HEADERS = 1,      /* name and version, by METADATA */
	DISTRIBUTION_HAS_METADATA = 2, /* whether there is METADATA or PKG-INFO */
};

/*
 * Fill @distribution, whose directory is set, from @tree; memory comes from @arena.
 * What is broken is told in distribution->error. False when there is no memory.
 */
bool distribution_read(struct tree *tree, struct arena *arena, unsigned what,
                       struct distribution_record *distribution);

/*
 * Read name and version, where distribution_read() was not asked to: 1 read, 0 there
 * is no metadata. Metadata that cannot be read leaves them null, too.
 */
int distribution_read_headers(struct tree *tree, struct arena *arena,
                              struct distribution_record *distribution, struct error *error);

#endif

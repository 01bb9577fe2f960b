/*
 * placed.h - the distributions of an archive, as they will be once it is installed.
 */
#ifndef INDEXER_VERBS_PLACED_H
#define INDEXER_VERBS_PLACED_H

#include "db/record.h"
#include "indexer/archive/package.h"

/*
 * Read them into @root as if their files were in the site directory that @site_fd is
 * open at (-1: it is not there yet), where modules that they lead to may be already.
 * ERROR_INVALID for an archive that cannot be installed as it is.
 */
int placed_scan(struct package *package, int site_fd, const struct plugin_kinds *kinds,
                struct root_record *root, struct error *error);

/* A row that no scan of a directory makes: of what was recorded before it is installed. */
static inline bool placed_is_pending(const struct distribution_record *row)
{
	return row->files_stamp == 0;
}

#endif

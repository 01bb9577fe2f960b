/*
 * needed.h - is there something to update?
 *
 * Asked of the published file, without its lock: most updates by hooks, which are run after each
 * transaction, whatever it was about, end here. What cannot be read needs an update, which says
 * why.
 */
#ifndef INDEXER_UPDATE_NEEDED_H
#define INDEXER_UPDATE_NEEDED_H

#include <sys/stat.h>

#include "db/record.h"
#include "indexer/databases.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/plugin_kinds.h"

/*
 * At the level "roots" the times of the site directories decide, as for a query; else each
 * distribution is compared with its row, and roots that are gone are looked for.
 *
 * @lenient: leave aside that an update would now believe more of what it sees, since it is no
 * longer new. Where nothing can be written that is no loss.
 */
bool update_is_needed(const struct options *options, const struct database *database, bool lenient);

/* Do the times of the site directory, @status, prove its row, plugins of those @kinds included? */
bool root_times_hold(const struct root_record *row, const struct plugin_kinds *kinds,
                     const struct stat *status);

/*
 * How a root is scanned of which a database is to have all, or has it: with what its entry points
 * lead to, and its start-up code. @linkage and @kinds may be NULL.
 */
struct scan_options root_scan(const struct database_root *root, mode_t readers,
                              struct linkage *linkage, const struct plugin_kinds *kinds);

#endif

/*
 * needed.h - decides whether a database needs an update.
 *
 * Reads the published file without its lock: most updates by hooks, which run after every
 * transaction, end here. If it cannot be read, an update is needed, which reports why.
 */
#ifndef INDEXER_UPDATE_NEEDED_H
#define INDEXER_UPDATE_NEEDED_H

#include <sys/stat.h>

#include "db/base/file.h"
#include "db/record.h"
#include "indexer/databases.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/plugin_kinds.h"

/*
 * At level "roots" the times of the site directories decide, as for a query; otherwise each
 * distribution is compared with its row, and missing roots are detected.
 *
 * @lenient: ignore that an update would settle recent rows. Used where the database cannot be
 * written.
 */
bool update_is_needed(const struct options *options, const struct database *database, bool lenient);

/*
 * Do the times in @status prove the row of the site directory, including plugins of those @kinds?
 */
bool root_times_hold(const struct root_record *row, const struct plugin_kinds *kinds,
                     const struct stat *status);

/*
 * The options for scanning a root completely: with targets and start-up code. @linkage and @kinds
 * may be NULL.
 */
struct scan_options root_scan(const struct database_root *root, struct readers readers,
                              struct linkage *linkage, const struct plugin_kinds *kinds);

#endif

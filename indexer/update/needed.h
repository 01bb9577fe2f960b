/*
 * needed.h - is there something to update?
 *
 * Asked of the published file, without its lock: most updates by hooks, which are run after each
 * transaction, whatever it was about, end here. What cannot be read needs an update, which says
 * why.
 */
#ifndef INDEXER_UPDATE_NEEDED_H
#define INDEXER_UPDATE_NEEDED_H

#include "indexer/databases.h"

/*
 * At the level "roots" the times of the site directories decide, as for a query; else each
 * distribution is compared with its row, and roots that are gone are looked for.
 *
 * @lenient: leave aside that an update would now believe more of what it sees, since it is no
 * longer new. Where nothing can be written that is no loss.
 */
bool update_is_needed(const struct options *options, const struct database *database, bool lenient);

#endif

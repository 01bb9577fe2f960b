/*
 * in_step.h - does a database say what is on the disk, or is there something to update?
 *
 * Asked of the published file, without its lock: most updates end here.
 */
#ifndef INDEXER_UPDATE_IN_STEP_H
#define INDEXER_UPDATE_IN_STEP_H

#include "indexer/command.h"
#include "indexer/databases.h"

/* By the times of the site directories alone, as a query at level "roots" would believe them. */
bool database_is_fresh(const struct options *options, const struct database *database);

/*
 * What a hook asks, which is run after each transaction, whatever it was about: is
 * each distribution as its row says, and no other root gone?
 *
 * @nearly: leave aside that an update would now believe more of what it sees, since
 * it is no longer new. Where nothing can be written that is no loss.
 */
bool database_is_in_step(const struct options *options, const struct database *database,
                         bool nearly);

#endif

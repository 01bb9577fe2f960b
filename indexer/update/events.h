/*
 * events.h - the audit trail: an event for each difference between what the database had of
 * a root and what is there now.
 *
 *     index                     the root, seen for the first time: it has no past
 *     install, remove           a distribution, with all its entry points
 *     upgrade, downgrade,       a distribution that stays, by its versions; and, one by one,
 *     change                      entry-point, entry-point-gone, entry-point-changed
 *     startup, startup-gone     a line of start-up code
 */
#ifndef INDEXER_UPDATE_EVENTS_H
#define INDEXER_UPDATE_EVENTS_H

#include "db/record.h"
#include "db/writer.h"

struct events {
	struct writer *writer;
	struct slice root; /* its path */
	struct error *error;
};

int events_first_sight(struct events *events, const struct root_record *root);
/*
 * A distribution that has come (@old is NULL), gone (@now is NULL), or changed. @old: without its
 * entry points; its rows must still be in the database.
 */
int events_distribution(struct events *events, const struct distribution_record *old,
                        const struct distribution_record *now);

/* Lines of start-up code that have come and gone. */
int events_startups(struct events *events, const struct root_record *old,
                    const struct root_record *now);

#endif

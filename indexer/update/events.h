/*
 * events.h - writes the audit trail: an event for each difference between the rows of a root and
 * the disk.
 *
 *     index                     the root was indexed for the first time
 *     install, remove           a distribution, with all its entry points
 *     upgrade, downgrade,       a distribution that stays, by its versions; followed, one by
 *     change                    one, by entry-point, entry-point-gone, entry-point-changed
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

/* A root that was not known before; nothing for one without distributions. */
int events_first_sight(struct events *events, const struct root_record *root);
/*
 * A distribution that was installed (@old is NULL), removed (@now is NULL), or changed. @old:
 * without its entry points; its rows must still be in the database.
 */
int events_distribution(struct events *events, const struct distribution_record *old,
                        const struct distribution_record *now);

/* New and removed lines of start-up code. */
int events_startups(struct events *events, const struct root_record *old,
                    const struct root_record *now);

#endif

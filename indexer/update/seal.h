/*
 * seal.h - a database that is made to be carried: in an image, an archive, a store.
 *
 * What is in it follows from what the files say alone: no times, inodes or events, nothing
 * in the order of a directory. So the same tree gives the same bytes, wherever and whenever
 * it is indexed. How readers use it: db/carried.h.
 */
#ifndef INDEXER_UPDATE_SEAL_H
#define INDEXER_UPDATE_SEAL_H

#include <time.h>

#include "db/record.h"
#include "indexer/databases.h"

/* When to say that it was scanned: so far ahead that nothing was young then. */
extern const struct timespec seal_time;

/* Take out of @root, as it was scanned, all that is of this place and this moment. */
void seal_root(struct root_record *root);

/* Put the roots of each database into an order that no directory has given. */
void seal_order(struct databases *databases);

#endif

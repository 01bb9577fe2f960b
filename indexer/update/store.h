/*
 * store.h - put what was read into the database, and write down what changed.
 */
#ifndef INDEXER_UPDATE_STORE_H
#define INDEXER_UPDATE_STORE_H

#include "db/base/error.h"
#include "db/record.h"
#include "db/writer.h"

/* What a store has done, for a summary. */
struct store_counts {
	size_t added, changed, removed, broken;
};

/*
 * Make the database's rows for @root equal to @root, whose path is set. Rows of
 * distributions marked reused stay as they are; the others are written, those of
 * @known (what the database had; NULL: nothing) that are gone are dropped. Each
 * difference is an event; a root seen for the first time is one event. Nothing is
 * written if nothing differs. @counts is added to.
 */
int store_root(struct writer *writer, struct root_record *root, const struct root_record *known,
               struct store_counts *counts, struct error *error);

#endif

/*
 * store.h - writes a scanned root to the database and its changes to the audit trail.
 */
#ifndef INDEXER_UPDATE_STORE_H
#define INDEXER_UPDATE_STORE_H

#include "db/base/error.h"
#include "db/record.h"
#include "db/writer.h"

/* The counts for a summary. */
struct store_counts {
	size_t added, changed, removed, broken;
};

/*
 * Make the rows of @root, whose path is set, equal to @root. Rows of distributions marked reused
 * are kept; others are written; those in @known (the stored rows; NULL: none) that no longer exist
 * are dropped. Each difference is an event; a new root is one event. Nothing is written if nothing
 * differs. Adds to @counts.
 */
int store_root(struct writer *writer, struct root_record *root, const struct root_record *known,
               struct store_counts *counts, struct error *error);

#endif

/*
 * recognize.h - a distribution of a tree that was carried (db/carried.h): is it the one
 * that was indexed? No file is opened.
 */
#ifndef LIBQUERY_DISK_METADATA_RECOGNIZE_H
#define LIBQUERY_DISK_METADATA_RECOGNIZE_H

#include "db/carried.h"
#include "libquery/disk/tree/tree.h"

/* Of which distributions does an answer depend on METADATA, besides those it is named by? */
enum recognize_metadata {
	RECOGNIZE_OF_SPEAKERS, /* that have entry points: it tells their names and versions */
	RECOGNIZE_OF_NONE,     /* nobody asks for names and versions */
	RECOGNIZE_OF_ALL,      /* what has none stands elsewhere in the order */
};

/*
 * Is what @tree has by the name of @known what that row says, as far as a question has to
 * know? One stat, or two; none where names suffice. 1, 0 or a failure.
 */
int recognize(struct tree *tree, const struct carried *carried, enum recognize_metadata metadata,
              const struct distribution_record *known, struct error *error);

/* The same of what tree_stamps() has told of it, @now. */
bool recognize_stamped(const struct carried *carried, const struct distribution_record *known,
                       const struct distribution_record *now);

#endif

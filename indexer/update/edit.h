/*
 * edit.h - the one way in which the program changes a database.
 *
 *     lock, copy, tell of a rebuild -> work -> publish, as readable as what it describes
 *
 * The caller learns the outcome from the returned code, the error and struct edit_result.
 */
#ifndef INDEXER_UPDATE_EDIT_H
#define INDEXER_UPDATE_EDIT_H

#include "db/writer.h"
#include "indexer/command.h"
#include "indexer/databases.h"
#include "indexer/update/store.h"

#define EDIT_NOTHING 1 /* no failure, but nothing to publish */

/* What the work has done, for a summary. Each verb uses what it needs of it. */
struct edit_result {
	size_t roots, distributions, entry_points; /* looked at */
	struct store_counts stored;
	size_t unchanged;     /* archives that the database has as they are */
	size_t needing_build; /* source distributions that do not say what they will install */
	size_t forgotten;     /* roots */
	size_t failed;        /* what was reported, and left as it was: roots, archives */
	size_t unsettled;     /* roots whose rows were kept, and may be wrong */
};

struct edit {
	const struct options *options;
	const struct database *database;
	struct writer *writer;
	mode_t mode;                /* of what will be published */
	struct edit_result *result; /* added to */
};

/*
 * Change the database by way of @edit->writer. 0: publish; EDIT_NOTHING: leave what
 * is published. Work that is interrupted() stops with ERROR_IO, which edit_database() reports.
 */
typedef int edit_work(struct edit *edit, void *payload, struct error *error);

/*
 * 0: done, and published. EDIT_NOTHING: by the work's own answer, or because another
 * hook that is waiting for the lock will do the same work. A rebuilt database is
 * published even if there was nothing else to do. ERROR_PERMISSION, before anything is
 * opened: see database_check_owner().
 */
int edit_database(const struct options *options, const struct database *database, edit_work *work,
                  void *payload, struct edit_result *result, struct error *error);

#endif

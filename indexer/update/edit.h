/*
 * edit.h - the only way in which the program changes a database.
 *
 *     lock, copy, report a rebuild -> work -> publish, with the permissions of the roots
 *
 * The caller gets the outcome from the returned code, the error and struct edit_result.
 */
#ifndef INDEXER_UPDATE_EDIT_H
#define INDEXER_UPDATE_EDIT_H

#include "db/writer.h"
#include "indexer/command.h"
#include "indexer/databases.h"
#include "indexer/update/store.h"

#define EDIT_NOTHING 1 /* success, but nothing to publish */

/* The counts for a summary; each verb uses some of them. */
struct edit_result {
	size_t roots, distributions, entry_points; /* read */
	struct store_counts stored;
	size_t unchanged;     /* archives already in the database */
	size_t needing_build; /* source distributions whose entry points need a build */
	size_t forgotten;     /* roots */
	size_t failed;        /* roots and archives that failed; reported, rows kept */
	size_t unsettled;     /* roots whose kept rows may be wrong */
};

struct edit {
	const struct options *options;
	const struct database *database;
	struct writer *writer;
	mode_t mode;                /* of the published file */
	struct edit_result *result; /* added to */
};

/*
 * Change the database through @edit->writer. 0: publish; EDIT_NOTHING: leave the published file,
 * unless reader_must_narrow(). Work that is interrupted() stops with ERROR_IO, which
 * edit_database() reports.
 */
typedef int edit_work(struct edit *edit, void *payload, struct error *error);

/*
 * 0: published. EDIT_NOTHING: returned by the work, or another waiting hook will do the same work.
 * A rebuilt database is published even if there was nothing else to do. ERROR_PERMISSION, before
 * anything is opened: see database_check_owner().
 */
int edit_database(const struct options *options, const struct database *database, edit_work *work,
                  void *payload, struct edit_result *result, struct error *error);

#endif

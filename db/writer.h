/*
 * writer.h - one new version of the database, from the lock to the publication.
 *
 * A writer holds the lock, works on a private copy within one transaction, and
 * either commits, which publishes the copy (publish.h), or is closed, which
 * leaves no trace. Not for use by several threads.
 *
 * The database is derived data. If the published file is damaged or of another
 * version, the writer sets it aside, begins an empty one, and carries over those
 * events that can still be read; writer_was_rebuilt() then says why.
 */
#ifndef DB_WRITER_H
#define DB_WRITER_H

#include <sys/types.h>
#include <time.h>

#include "error.h"
#include "record.h"

struct writer;

struct writer_options {
	const char *file;    /* the path of the published database */
	const char *command; /* for the events: who asks */
	int lock_timeout;    /* milliseconds */
	uint64_t work;       /* these two as in struct publication_wait */
	bool (*stopped)(void);
	bool may_replace; /* the name is ours alone: garbage there is a damaged database */
};

/*
 * Take the lock and open the copy. ERROR_BUSY when another writer holds it too long;
 * 1, without a writer, when another one that waits for it will do the same work.
 */
int writer_open(const struct writer_options *options, struct writer **out, struct error *error);

/* Publish with @mode (as for chmod), if anything was changed; @writer can then only be closed. */
int writer_commit(struct writer *writer, mode_t mode, struct error *error);

/* Unlock; without a commit, nothing has happened. NULL is accepted. */
void writer_close(struct writer *writer);

/* Why the database was begun anew, or NULL if it was not. */
const char *writer_was_rebuilt(const struct writer *writer);

/*
 * The time when the writer was opened, by the clock of the file system that holds
 * the database; with @again, the time now, by the same clock.
 */
struct timespec writer_time(struct writer *writer, bool again);

/* The root as the database has it, with its distributions: 1 found, 0 not. No entry points. */
int writer_find_root(struct writer *writer, struct slice path, struct root_record *out,
                     struct error *error);

/* Call @each for every root; a non-zero answer ends the walk and is returned. */
int writer_roots(struct writer *writer, root_each *each, void *payload, struct error *error);

/* Write the root's own row; gives @root an id if it has none. */
int writer_put_root(struct writer *writer, struct root_record *root, struct error *error);

/* Write a distribution and all below it under @root's id; gives it an id if it has none. */
int writer_put_distribution(struct writer *writer, const struct root_record *root,
                            struct distribution_record *distribution, struct error *error);

/* Only position and settled have changed. */
int writer_move_distribution(struct writer *writer, const struct distribution_record *distribution,
                             struct error *error);

int writer_drop_distribution(struct writer *writer, int64_t id, struct error *error);
int writer_drop_root(struct writer *writer, int64_t id, struct error *error);

/* Add to the audit trail; time, command and user are filled in here. */
int writer_log(struct writer *writer, const struct event_record *event, struct error *error);

#endif

/*
 * writer.h - one new version of the database, from the lock to the publication.
 *
 * A writer holds the lock, works on a private copy within one transaction, and
 * either commits, which publishes the copy (publish.h), or is closed, which
 * leaves no trace. Not for use by several threads.
 *
 * The database is derived data. If the published file is damaged, of an older version,
 * or not to be believed (identity.h, trust.h), the writer sets it aside, begins an
 * empty one, and carries over those events that can still be read, unless others may
 * have written them; writer_was_rebuilt() then says why. That of a newer version is left
 * alone: opening fails with ERROR_FORMAT.
 */
#ifndef DB_WRITER_H
#define DB_WRITER_H

#include <sys/types.h>
#include <time.h>

#include "db/base/error.h"
#include "db/publish.h"
#include "db/reader.h"

struct writer;

struct writer_options {
	const char *file;             /* the path of the published database */
	const char *command;          /* for the events: who asks */
	struct publication_wait wait; /* whose stopped() is asked while working, too */
	bool may_replace; /* the name is ours alone: garbage there is a damaged database */
	bool sealed;      /* begin an empty one, in which nothing says when or where */
};

/*
 * Take the lock and open the copy. ERROR_BUSY when another writer holds it too long;
 * 1, without a writer, when another one that waits for it will do the same work.
 */
int writer_open(const struct writer_options *options, struct writer **out, struct error *error);

/* Publish with @mode (as for chmod), if anything was changed; @writer can then only be closed. */
int writer_commit(struct writer *writer, mode_t mode, struct error *error);

/* Was the published file marked stale (publish.h), and is it still? */
bool writer_is_marked(const struct writer *writer);

/*
 * The published file was marked stale (publish.h), and every root in it has now been
 * compared with the disk: take the mark off, from what is published if nothing will
 * be, else from what will be.
 */
int writer_unmark(struct writer *writer, struct error *error);

/* Unlock; without a commit, nothing has happened. NULL is accepted. */
void writer_close(struct writer *writer);

static inline void cleanup_writer(struct writer **writer) /* for CLEANUP() */
{
	writer_close(*writer);
}

/* Why the database was begun anew, or NULL if it was not. */
const char *writer_was_rebuilt(const struct writer *writer);

/*
 * The time when the writer was opened, by the clock of the file system that holds the database;
 * with @again, the time now, by the same clock. Zeros where that file system is not device @dev,
 * whose clock may differ.
 */
struct timespec writer_time_on(struct writer *writer, dev_t dev, bool again);

/*
 * The same, past @time, nanoseconds since 1970: what changed within the current tick could
 * change again with the same time stamp, and so the next tick is waited for. If @time is later
 * than a tick from now, or that clock stands still, it is the time now, after at most 20 ms.
 */
struct timespec writer_time_past(struct writer *writer, dev_t dev, int64_t time);

/* To read what is in the copy, and whether it was carried before it was copied. */
struct reader *writer_reader(struct writer *writer);

/*
 * The root as the database has it, with its distributions and its start-up code: 1 found,
 * 0 not. No entry points.
 */
int writer_find_root(struct writer *writer, struct slice path, struct root_record *out,
                     struct error *error);

/*
 * Write the root's own row; gives @root an id if it has none. What it counts must be what
 * is in the database when it is committed: else the next writer takes it for damage.
 */
int writer_put_root(struct writer *writer, struct root_record *root, struct error *error);

/* Write a distribution and all below it under @root's id; gives it an id if it has none. */
int writer_put_distribution(struct writer *writer, const struct root_record *root,
                            struct distribution_record *distribution, struct error *error);

/* Only its place has changed, or what is known of its files but not what stands in them. */
int writer_anchor_distribution(struct writer *writer,
                               const struct distribution_record *distribution, struct error *error);

/* Write @root's start-up code in the place of what the root had. */
int writer_put_startups(struct writer *writer, const struct root_record *root, struct error *error);

int writer_drop_distribution(struct writer *writer, int64_t id, struct error *error);
int writer_drop_root(struct writer *writer, int64_t id, struct error *error);

/* Add to the audit trail, unless it is sealed; time, command and user are filled in here. */
int writer_log(struct writer *writer, const struct event_record *event, struct error *error);

#endif

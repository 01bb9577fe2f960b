/*
 * writer.h - creates a new version of a database: locks it, changes a copy, publishes it.
 *
 * A writer holds the lock and works on a private copy in one transaction; it either commits, which
 * publishes the copy (publish.h), or is closed without leaving a trace. For one thread.
 *
 * The database is derived data. If the published file is damaged, of an older version, or not
 * trusted (identity.h, trust.h), the writer sets it aside, starts an empty one, and copies the
 * readable events of the old one, unless other users may have written them; writer_was_rebuilt()
 * then says why. A newer version is left alone: opening fails with ERROR_FORMAT.
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
	const char *command;          /* the command, for the events */
	struct publication_wait wait; /* its stopped() is also called while working */
	bool may_replace; /* the name is reserved for us: any other file is a damaged database */
	bool sealed;      /* start an empty one without times and inodes, for images */
};

/*
 * Take the lock and open a copy. ERROR_BUSY if another writer holds the lock too long; 1, without a
 * writer, if another waiting writer will do the same work.
 */
int writer_open(const struct writer_options *options, struct writer **out, struct error *error);

/*
 * Publish with permissions @mode, if anything was changed or reader_must_narrow(); afterwards
 * @writer can only be closed.
 */
int writer_commit(struct writer *writer, mode_t mode, struct error *error);

/* Is the published file still marked stale (publish.h)? */
bool writer_is_marked(const struct writer *writer);

/*
 * Remove the stale mark (publish.h), since every root was compared with the disk: from the
 * published file, or, if it will be replaced, from the new one.
 */
int writer_unmark(struct writer *writer, struct error *error);

/* Unlock; without a commit, discard all changes. NULL is accepted. */
void writer_close(struct writer *writer);

static inline void cleanup_writer(struct writer **writer) /* for CLEANUP() */
{
	writer_close(*writer);
}

/* Why the database was rebuilt, or NULL if it was not. */
const char *writer_was_rebuilt(const struct writer *writer);

/*
 * The time when the writer was opened, or with @again the current time, by the clock of the
 * database's file system. Zeros if that file system is not device @dev, whose clock may differ. A
 * second after 1970, before every change, if it does not keep the times of directories.
 */
struct timespec writer_time_on(struct writer *writer, dev_t dev, bool again);

/*
 * The current time by the same clock, after waiting until it exceeds @time (nanoseconds since
 * 1970): a file changed within the current tick could change again with the same time stamp. Waits
 * at most 20 ms, and not at all if @time is more than a tick ahead.
 */
struct timespec writer_time_past(struct writer *writer, dev_t dev, int64_t time);

/* A reader of the copy, including whether the database was carried before it was copied. */
struct reader *writer_reader(struct writer *writer);

/*
 * The stored root with its distributions and start-up code, but without entry points: 1 found, 0
 * not.
 */
int writer_find_root(struct writer *writer, struct slice path, struct root_record *out,
                     struct error *error);

/*
 * Write the root's own row; sets the id of @root if it is 0. Its counts must match the rows at
 * commit: otherwise the next writer considers the file damaged.
 */
int writer_put_root(struct writer *writer, struct root_record *root, struct error *error);

/* Write a distribution and everything below it under @root's id; sets its id if it is 0. */
int writer_put_distribution(struct writer *writer, const struct root_record *root,
                            struct distribution_record *distribution, struct error *error);

/* Update only the position and the stamps of a distribution whose content is unchanged. */
int writer_anchor_distribution(struct writer *writer,
                               const struct distribution_record *distribution, struct error *error);

/* Replace the start-up code of @root. */
int writer_put_startups(struct writer *writer, const struct root_record *root, struct error *error);

int writer_drop_distribution(struct writer *writer, int64_t id, struct error *error);
int writer_drop_root(struct writer *writer, int64_t id, struct error *error);

/* Add to the audit trail, unless sealed; sets time, command and user. */
int writer_log(struct writer *writer, const struct event_record *event, struct error *error);

#endif

/*
 * publish.h - how a new database takes the place of the old one.
 *
 *     entry_points.db        what readers open; only ever replaced by rename
 *     entry_points.db.lock   held (flock) by the one writer; never removed
 *     entry_points.db.new    the copy that the writer changes
 *
 *     lock -> remove a dead writer's .new -> copy -> (change) -> fsync
 *          -> rename -> fsync the directory -> unlock
 *
 * Readers therefore write nothing, lock nothing and wait for nobody, and a
 * writer killed at any point leaves the old file, or the new one, whole.
 *
 * Writers that would do the same work need not all wait. Whoever finds the lock
 * busy takes a turn: a lock on one byte of the lock file, the byte that stands for
 * the work. Whoever finds that byte taken leaves:
 *
 *     first      holds the lock, and works
 *     second     lock busy, byte free: takes the byte, and waits
 *     third      lock busy, byte taken: leaves
 *     second     gets the lock, lets go of the byte, and only then looks at the disk
 *
 * Nothing is missed: at the moment when the third found the byte taken, which is
 * after the change that brought it, the second had not begun to look, and so will
 * see that change. A fourth that comes when the second has begun finds the byte
 * free, and waits. Only if the second is killed while it waits, or gives up because
 * the lock is not released in time, is the change left to the next writer.
 */
#ifndef DB_PUBLISH_H
#define DB_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "error.h"

#define PUBLISH_LOCK_TIMEOUT 30000 /* milliseconds; how long a writer waits for another */

struct publication {
	char *path;       /* of the database */
	char *new_path;   /* of the copy */
	int directory_fd; /* of the directory that holds both */
	int lock_fd;
	struct timespec began; /* by the clock of this very file system */
};

#define PUBLICATION_INIT ((struct publication){.directory_fd = -1, .lock_fd = -1})

/*
 * Make the directory of @path where it is missing, take the lock, and make an
 * empty new file. Waits at most @timeout milliseconds: then ERROR_BUSY.
 */
int publication_begin(struct publication *publication, const char *path, int timeout,
                      struct error *error);

struct publication_wait {
	int timeout;           /* milliseconds */
	uint64_t work;         /* stands for what the work looks at; 0: never that of another */
	bool (*stopped)(void); /* asked while waiting, after which it is ERROR_BUSY; or NULL */
};

/*
 * The same, for work that others may be waiting to do, too. 1, and nothing is begun:
 * another writer that has not begun yet will do it.
 */
int publication_begin_once(struct publication *publication, const char *path,
                           const struct publication_wait *wait, struct error *error);

/* Fill the new file with what is published now; ERROR_NOTFOUND if nothing is. */
int publication_copy(struct publication *publication, struct error *error);

/* Empty the new file again, when what was copied turned out to be of no use. */
int publication_restart(struct publication *publication, struct error *error);

/* Set publication->began to now, by the clock of the file system. */
void publication_touch(struct publication *publication);

/*
 * Give the published file a second name, with @suffix, so that it is not lost
 * when the new one takes its place. Nothing published is no error.
 */
int publication_set_aside(struct publication *publication, const char *suffix, struct error *error);

/* Put the new file, which its writer has closed, in place of the old one. @mode: as for chmod. */
int publication_finish(struct publication *publication, mode_t mode, struct error *error);

/* Remove what was not published, and unlock. For use with CLEANUP. */
void publication_end(struct publication *publication);

#endif

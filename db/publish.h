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
 */
#ifndef DB_PUBLISH_H
#define DB_PUBLISH_H

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

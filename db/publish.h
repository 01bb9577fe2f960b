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
 * Nobody's rights are lent: the directory is one of the writer's own territory
 * (safe_path.h), it and the new file are reached by their first descriptors and never
 * again by name, and what is copied is a file that may be believed (trust.h). A file in the
 * way of these names is removed, but for a lock file that is somebody else's: that, or a
 * directory, is an error.
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
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "db/base/error.h"

#define PUBLISH_LOCK_TIMEOUT 30000 /* milliseconds; how long a writer waits for another */

/*
 * A database that could not be updated when it had to be is marked, by its time of
 * modification, since that needs no lock and no room on the disk: to the second this,
 * and no fraction. (As four letters it reads "EPDI", as the application_id does.)
 */
#define PUBLISH_STALE_MARK 1162888265 /* seconds since 1970: in November 2006 */

struct publication {
	char *path;            /* of the database */
	const char *name;      /* the end of that: all else is relative to the directory */
	int directory_fd;      /* of the directory that holds all */
	int lock_fd;           /* of NAME.lock */
	int new_fd;            /* of NAME.new: for all that is done with it */
	int published_fd;      /* of what was copied */
	struct stat published; /* of that, when it was copied */
	bool is_marked;        /* the new file is to have it */
	struct timespec began; /* by the clock of this very file system */
};

#define PUBLICATION_INIT                                                                           \
	((struct publication){.directory_fd = -1, .lock_fd = -1, .new_fd = -1, .published_fd = -1})

struct publication_wait {
	int timeout;           /* milliseconds */
	uint64_t work;         /* stands for what the work looks at; 0: never that of another */
	bool (*stopped)(void); /* asked while waiting, after which it is ERROR_BUSY; or NULL */
	const char *sysroot;   /* NULL, or what the path begins with: no link leads out of it */
};

/*
 * Make the directory of @path where it is missing, take the lock, and make an
 * empty new file. Waits at most wait->timeout: then ERROR_BUSY. Where
 * the directory is not in the territory of the effective user: ERROR_PERMISSION. 1, and nothing
 * is begun: another writer that has not begun yet will do the same work.
 */
int publication_begin(struct publication *publication, const char *path,
                      const struct publication_wait *wait, struct error *error);

/*
 * Fill the new file with what is published now: ERROR_NOTFOUND if nothing is, which
 * only the file system itself can say, and ERROR_FORMAT for what is not to be believed:
 * no regular file, or one that others own or may write.
 */
int publication_copy(struct publication *publication, struct error *error);

/* Empty the new file again, when what was copied turned out to be of no use. */
int publication_restart(struct publication *publication, struct error *error);

/* Set publication->began to now, by the clock of the file system. */
void publication_touch(struct publication *publication);

/*
 * Give the published file a second name, with @suffix, so that it is not lost
 * when the new one takes its place. Nothing published is not an error.
 */
int publication_set_aside(struct publication *publication, const char *suffix, struct error *error);

/*
 * Put the new file, whose writer has done with it, in place of the old one. @mode: as
 * for chmod.
 */
int publication_finish(struct publication *publication, mode_t mode, struct error *error);

/* Remove what was not published, and unlock. For use with CLEANUP. */
void publication_end(struct publication *publication);

/*
 * Mark the published file as one that its readers must compare with the disk, since a
 * writer could not do so: it gave up waiting for the lock, say, or the disk is full.
 * The next publication keeps the mark, unless is_marked is set to false. @sysroot as
 * above. ERROR_NOTFOUND where nothing is published: then nothing is stale.
 */
int publish_mark_stale(const char *path, const char *sysroot, struct error *error);

/* Take the mark off the published file, when it has been found right as it is. */
int publication_unmark(struct publication *publication, struct error *error);

/* Does a published file with this status have the mark? */
static inline bool publish_is_marked(const struct stat *status)
{
	return status->st_mtim.tv_sec == PUBLISH_STALE_MARK && status->st_mtim.tv_nsec == 0;
}

#endif

/*
 * publish.h - replaces the published database atomically.
 *
 *     entry_points.db        what readers open; only ever replaced by rename
 *     entry_points.db.lock   held (flock) by the one writer; never removed
 *     entry_points.db.new    the copy that the writer changes
 *
 *     lock -> remove a dead writer's .new -> copy -> (change) -> fsync
 *          -> rename -> fsync the directory -> unlock
 *
 * Readers therefore write nothing, lock nothing and never wait; a writer killed at any point leaves
 * either the old file or the new one complete.
 *
 * Security: the directory must be in the writer's own territory (safe_path.h), the directory and
 * the new file are reached only by the descriptors first opened, and only a trusted file (trust.h)
 * is copied. Files in the way of these names are removed; a lock file of another user, or a
 * directory, is an error.
 *
 * Several writers that would do the same work need not all wait. A writer that finds the lock busy
 * tries to lock one byte of the lock file, chosen by the work. If that byte is taken, it leaves:
 *
 *     first      holds the lock, works
 *     second     lock busy, byte free: locks the byte, waits
 *     third      lock busy, byte taken: leaves
 *     second     gets the lock, unlocks the byte, and only then reads the disk
 *
 * No change is missed: when the third found the byte taken, the second had not begun to read the
 * disk and will see the change for which the third came. A fourth that comes after the second has
 * begun finds the byte free, and waits. Only if the second is killed while waiting, or times out,
 * is the change left to the next writer.
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
 * A database that could not be updated when necessary is marked stale by this modification time
 * with no fraction, since setting a time needs neither the lock nor disk space. (As four letters
 * the number reads "EPDI", like the application_id.)
 */
#define PUBLISH_STALE_MARK 1162888265 /* seconds since 1970: in November 2006 */

struct publication {
	char *path;            /* of the database */
	const char *name;      /* its last component, relative to directory_fd */
	int directory_fd;      /* the directory of all these files */
	int lock_fd;           /* NAME.lock */
	int new_fd;            /* NAME.new */
	int published_fd;      /* the file that was copied */
	struct stat published; /* its status when it was copied */
	bool is_marked;        /* mark the new file stale */
	struct timespec began; /* by the clock of the file system */
	bool dates_changes;    /* do its directories show by their times when they change? */
};

#define PUBLICATION_INIT                                                                           \
	((struct publication){.directory_fd = -1, .lock_fd = -1, .new_fd = -1, .published_fd = -1})

struct publication_wait {
	int timeout;           /* milliseconds */
	uint64_t work;         /* identifies the work; 0: never the same as another's */
	bool (*stopped)(void); /* called while waiting; true: ERROR_BUSY; or NULL */
	const char *sysroot;   /* NULL, or a prefix of the path that links cannot leave */
};

/*
 * Create the directory of @path if missing, take the lock, and create an empty new file. Returns 1,
 * with nothing begun, if another waiting writer will do the same work. ERROR_BUSY after waiting
 * wait->timeout; ERROR_PERMISSION if the directory is not in the territory of the effective user.
 */
int publication_begin(struct publication *publication, const char *path,
                      const struct publication_wait *wait, struct error *error);

/*
 * Copy the published file into the new file. ERROR_NOTFOUND only if the file system reports that it
 * does not exist; ERROR_FORMAT if it is not trusted: not a regular file, or one that other users
 * own or can write.
 */
int publication_copy(struct publication *publication, struct error *error);

/* Empty the new file again, if the copy turned out to be useless. */
int publication_restart(struct publication *publication, struct error *error);

/* Set publication->began to now, by the clock of the file system. */
void publication_touch(struct publication *publication);

/*
 * Link the published file to a second name, with @suffix, so that it survives its replacement. It
 * is not an error if nothing is published.
 */
int publication_set_aside(struct publication *publication, const char *suffix, struct error *error);

/* Rename the finished new file over the old one. @mode: its permissions. */
int publication_finish(struct publication *publication, mode_t mode, struct error *error);

/* Remove an unpublished new file and unlock. For use with CLEANUP. */
void publication_end(struct publication *publication);

/*
 * Mark the published file stale: its readers must compare it with the disk. For a writer that could
 * not update it, since it timed out waiting for the lock or the disk is full. The next publication
 * keeps the mark unless is_marked is set to false. @sysroot: as above. ERROR_NOTFOUND if nothing is
 * published.
 */
int publish_mark_stale(const char *path, const char *sysroot, struct error *error);

/* Remove the mark from the published file, which was verified to be up to date. */
int publication_unmark(struct publication *publication, struct error *error);

/* Is a published file with this status marked stale? Some file systems know only even seconds. */
static inline bool publish_is_marked(const struct stat *status)
{
	return (status->st_mtim.tv_sec | 1) == PUBLISH_STALE_MARK && status->st_mtim.tv_nsec == 0;
}

#endif

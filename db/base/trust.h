/*
 * trust.h - decides which files are trusted, for all that is read, written or loaded.
 *
 * A file or directory is trusted if it belongs to root, the effective user or an owner that the
 * caller names, and other users cannot write it. A process with more rights than its user (set-uid,
 * set-gid, capabilities) trusts only root, and no environment variable.
 */
#ifndef DB_BASE_TRUST_H
#define DB_BASE_TRUST_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"

#define TRUST_NO_OTHER ((uid_t)-1) /* only root and the effective user */

enum trust {
	TRUST_BELIEVED,
	TRUST_FOREIGN,  /* it belongs to another user */
	TRUST_WRITABLE, /* users other than its owner can write it */
};

/* Can others make a path lead elsewhere? See file_status_again(). */
enum trust_way { TRUST_WAY_UNKNOWN, TRUST_WAY_OWN, TRUST_WAY_OTHERS };

#define FILE_FD_PATH_ROOM (sizeof("/proc/self/fd/") + 3 * sizeof(int))

/* Write to @path a path by which the file behind @fd can be opened or inspected again. */
static inline void file_fd_path(char path[FILE_FD_PATH_ROOM], int fd)
{
	snprintf(path, FILE_FD_PATH_ROOM, "/proc/self/fd/%d", fd);
}

/*
 * Does the process have more rights than its user, or did it when it was started? Also true after a
 * set-uid program has dropped its effective user but can regain it, and for a daemon that has
 * become an ordinary user with capabilities.
 */
bool trust_is_privileged(void);

/* getenv(); NULL in a privileged process. */
const char *trust_environment(const char *name);

/*
 * Is @uid root, the effective user, or @other? In a user namespace, the overflow uid, which stands
 * for all unmapped users, is none of them.
 */
bool trust_owner(uid_t uid, uid_t other);

/*
 * Can users other than its owner write the file? Group write permission counts, unless the group is
 * the owner's private group (the same number, in a user namespace also outside of it) and there is
 * no access control list; with a list, the group bits are the upper limit of all its entries,
 * except with one of NFSv4, whose entries count themselves. In a sticky directory others can create
 * files but not replace those of other users: this does not count as writable. @fd: open on the
 * file; O_PATH suffices.
 */
bool trust_is_writable(int fd, const struct stat *status);

/*
 * The mode, with group and other permissions reduced to those that every user has: the group bits,
 * or an entry of an access control list, may deny to some what others are allowed. @fd: as above.
 */
mode_t trust_everybody(int fd, const struct stat *status);

/*
 * Can some users search the directory, but not list it, by its mode or a list? An NFSv4 list that
 * lets others search it is taken for one. @fd: as above.
 */
bool trust_hides_names(int fd, const struct stat *status);

/* Check the owner, then the permissions. */
enum trust trust_of(int fd, const struct stat *status, uid_t other);

/* Is the file @fd, named @path, trusted? 0, or ERROR_PERMISSION with advice in the message. */
int trust_believe(const char *path, int fd, const struct stat *status, uid_t other,
                  struct error *error);

/* The same, but ERROR_FORMAT if it is not a regular file. */
int trust_check(const char *path, int fd, const struct stat *status, uid_t other,
                struct error *error);

#endif

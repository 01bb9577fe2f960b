/*
 * trust.h - whom to believe, decided in one place for all that is read, written or loaded.
 *
 * A file, or a directory, is believed if it belongs to root, to the effective user, or to whom
 * the caller names besides, and if nobody else can write it. A process with more rights than its
 * user (set-uid, set-gid, file capabilities) believes root alone, and no environment variable.
 */
#ifndef DB_BASE_TRUST_H
#define DB_BASE_TRUST_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"

#define TRUST_NO_OTHER ((uid_t)-1) /* besides root and the effective user: nobody */
#define TRUST_ANYBODY  ((uid_t)-2) /* whoever owns it: the caller will ask trust_owner() */

enum trust {
	TRUST_BELIEVED,
	TRUST_FOREIGN,  /* it belongs to somebody else */
	TRUST_WRITABLE, /* others than its owner may write it */
};

#define FILE_FD_PATH_ROOM (sizeof("/proc/self/fd/") + 3 * sizeof(int))

/* A path by which what @fd stands for can be opened, or asked about, again: written to @path. */
static inline void file_fd_path(char path[FILE_FD_PATH_ROOM], int fd)
{
	snprintf(path, FILE_FD_PATH_ROOM, "/proc/self/fd/%d", fd);
}

/*
 * Has the process, or had it when it was started, rights that its user has not? Also
 * after a set-uid program has put its effective user back, as long as it can take root again.
 */
bool trust_is_privileged(void);

/* getenv(); NULL in a privileged process. */
const char *trust_environment(const char *name);

/*
 * Is @uid root, the effective user, or @other? In a user namespace, the uid that the kernel shows
 * for all users that are not mapped there is nobody's.
 */
bool trust_owner(uid_t uid, uid_t other);

/*
 * May others than its owner write it? The group may, unless it is the owner's own (its number is
 * the owner's) and there is no access control list; with one, the group's bits are the most that
 * any entry of it grants. In a sticky directory others may create files, but not replace those
 * that are not theirs: that does not count as writing. @fd: open on it, O_PATH will do.
 */
bool trust_is_writable(int fd, const struct stat *status);

/*
 * The mode, with those permissions alone for group and others that everybody has: the group's bits,
 * or an entry of an access control list, may take from some what others have. @fd: as above.
 */
mode_t trust_everybody(int fd, const struct stat *status);

/* Both, the owner first. */
enum trust trust_of(int fd, const struct stat *status, uid_t other);

/* The same of what @path leads to, which @status is of. */
enum trust trust_of_path(const char *path, const struct stat *status, uid_t other);

/* May what is open as @fd, called @path, be believed? 0, or ERROR_PERMISSION, and what to do. */
int trust_believe(const char *path, int fd, const struct stat *status, uid_t other,
                  struct error *error);

/* The same of a file: ERROR_FORMAT for what is no regular one. */
int trust_check(const char *path, int fd, const struct stat *status, uid_t other,
                struct error *error);

#endif

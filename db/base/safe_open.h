/*
 * safe_open.h - opens files in directories that others may be able to change.
 */
#ifndef DB_BASE_SAFE_OPEN_H
#define DB_BASE_SAFE_OPEN_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * @fd, or, if it is 0, 1 or 2, to which messages may be written, a duplicate above 2 in its place.
 * Takes ownership of @fd.
 */
int safe_fd(int fd);

/*
 * openat() that follows no link, is close-on-exec, is retried after a signal, and never returns 0,
 * 1 or 2. @mode: of a file that is created.
 */
int safe_openat(int directory, const char *name, int flags, mode_t mode);

/*
 * The same for a file in a directory whose owner may have been able to make devices, as in an
 * image: ENXIO for one, since opening it can have effects.
 */
int safe_open_file(int directory, const char *name, int flags, mode_t mode);

/* Do the two describe the same file? */
static inline bool safe_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/*
 * Is the open file or directory one of procfs, such as /proc/PID/cmdline or map_files? Reading it
 * waits for the memory of the process, which its owner can keep locked. (They have no size; so only
 * what is empty costs a request.)
 */
bool safe_is_of_process(int fd, const struct stat *status);

/* Opening one can have effects, such as rewinding a tape. */
static inline bool safe_is_device(const struct stat *status)
{
	return S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode);
}

#endif

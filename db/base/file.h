/*
 * file.h - reading files of others, and writing whole.
 *
 * None of these is ended by a signal: an interrupted call is made again. What a path leads
 * to may be anything, a FIFO or a device for instance: nobody waits for it to be opened.
 * On failure errno says why, and error.h what that means.
 */
#ifndef DB_BASE_FILE_H
#define DB_BASE_FILE_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"
#include "db/base/slice.h"

/*
 * What is opened or looked at by these functions below the sysroot of a process is resolved as if
 * that were "/": no link leads out of it. The library has none; the program defines this function
 * for its option --root.
 */
struct file_sysroot {
	int fd;
	const char *given, *real; /* its absolute path, and the same without links */
};

const struct file_sysroot *file_sysroot(void);

/*
 * openat() for reading, with @flags besides; -1 on failure. Root follows links of other users only
 * as safe_look_open() says.
 */
int file_open(int directory, const char *name, int flags);

/* The same, but ELOOP where a link is on the way, or where that cannot be told. */
int file_open_without_links(int directory, const char *name, int flags);

/*
 * The gate for what is published: open a file or directory to read it for @readers, the permissions
 * of those who may read what is published, and search the way to it. EACCES where not all of them
 * may read it, or search each directory that leads to it (from @directory on; from "/" where a link
 * does); or where others could have led the caller there. Those who may not search the way to what
 * is published do not count. 0: nothing is published, as file_open().
 */
int file_open_for(mode_t readers, int directory, const char *name);

/* fstatat(), links followed. 1: *@status is of what is there; 0: nothing is; or a failure. */
int file_status(int directory, const char *path, struct stat *status, struct error *error);

/* Up to @size bytes from where @fd stands; fewer only at the end of the file, -1 on failure. */
ssize_t file_read(int fd, void *to, size_t size);

/* All of the @size bytes, to where @fd stands: 0, or -1 on failure. */
int file_write(int fd, const void *bytes, size_t size);

/*
 * The path of what @fd stands for, without links, malloc'd; NULL where it cannot be told,
 * as without /proc. No file system but that is asked: realpath() looks at each component.
 */
char *file_real_path(int fd);

/* A directory, to be listed; NULL on failure. */
DIR *file_open_directory(int directory, const char *name);

/* The next name in it, which stays until the next call: 1; 0 at the end; -1 on failure. */
int file_next(DIR *directory, const char **name);

/* --- small files, read and written whole; what is read may be anything, and without end --- */

/*
 * The first @limit bytes of the regular file at @path, with a NUL behind them:
 * *@text is malloc'd and the caller's. 1: read; 0: there is no such file to be
 * read, or it is none; or a failure (error.h).
 */
int small_file_read(const char *path, size_t limit, char **text, size_t *len, struct error *error);

/* The same of @fd, which was opened as @path; where it is -1, errno says why. */
int small_file_read_fd(int fd, const char *path, size_t limit, char **text, size_t *len,
                       struct error *error);

/*
 * The same of a file that is believed (safe_believe()); @owner: who may have written it besides
 * root and the effective user. Also ERROR_FORMAT where it is no regular file, ERROR_PERMISSION
 * where it may not be read, or others could have written or exchanged it.
 */
int small_file_read_trusted(const char *path, size_t limit, uid_t owner, char **text, size_t *len,
                            struct error *error);

/*
 * Write @text under another name, and put it in the place of the file @name in @directory, whatever
 * that was. @mode: of the file, whatever the umask. 0, or -1 and errno.
 */
int small_file_write(int directory, const char *name, struct slice text, mode_t mode);

#endif

/*
 * file.h - opens files of untrusted owners safely, and reads and writes small files whole.
 *
 * System calls are retried after a signal (EINTR). A path may lead to anything, a FIFO or a device
 * for instance: opening never blocks. On failure errno is set; error.h says what it means.
 */
#ifndef DB_BASE_FILE_H
#define DB_BASE_FILE_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"
#include "db/base/slice.h"
#include "db/base/trust.h"

/*
 * Paths below the sysroot of the thread are resolved as if the sysroot were "/": no symbolic link
 * leads out of it.
 */
struct file_sysroot {
	int fd;                   /* -1: it does not exist */
	const char *given, *real; /* its absolute path; the same with links resolved, malloc'd */
};

const struct file_sysroot *file_sysroot(void); /* NULL: "/" */
void file_set_sysroot(const struct file_sysroot *sysroot);

/* The rest of @path, absolute, below the sysroot; NULL if it lies elsewhere. */
const char *file_in_sysroot(const char *path);

/* @path must stay valid. -1 and errno if it cannot be opened; *out can be used nevertheless. */
int file_sysroot_open(const char *path, struct file_sysroot *out);
void file_sysroot_close(struct file_sysroot *sysroot);

/*
 * openat() for reading, with additional @flags; -1 on failure. If the process is root, symbolic
 * links of other users are followed only as safe_look_open() allows (with O_PATH, all but those to
 * /proc/PID/root and the like, whose file systems may never answer), and devices are not opened:
 * that can have effects, such as rewinding a tape; nor is procfs: see safe_is_of_process(). Users
 * cannot create devices, but a path in a user's file, such as a .pth file, can name one.
 * FILE_OWN_NAME: @name does not come from the contents of a file, so these checks, one more request
 * on a network, are omitted.
 */
enum { FILE_OWN_NAME = O_NOCTTY };
int file_open(int directory, const char *name, int flags);

/* Those who can read a published file. */
struct readers {
	mode_t mode;        /* its read permissions; 0: nothing is published */
	const char *beside; /* its real path: its readers can search the way to it; or NULL */
};

#define READERS_NONE ((struct readers){0, NULL})

/*
 * The gate for published data: open a file or directory to read it on behalf of @readers. EACCES if
 * some of them cannot read it, or cannot search a directory on the way (from @directory on; if
 * there is a link, from "/" on, without those above the published file, too), whether or not it
 * exists; or if others can have redirected the caller there. If nothing is published: as
 * file_open().
 */
int file_open_for(struct readers readers, int directory, const char *name);

/*
 * fstatat() that follows links. 1: *status is set; 0: nothing exists there; or a transient failure.
 * Links are followed as by file_open() with O_PATH.
 */
int file_status(int directory, const char *path, struct stat *status, struct error *error);

/*
 * The same for a path that is looked at again and again: in one request, unless others can make it
 * lead elsewhere. *way: kept by the caller for this path.
 */
int file_status_again(const char *path, enum trust_way *way, struct stat *status,
                      struct error *error);

/* Can the directory be listed, and searched? Else errno says why. */
bool file_can_list(const char *path);

/* Read up to @size bytes, fewer only at the end of the file; -1 on failure. */
ssize_t file_read(int fd, void *to, size_t size);

/* Write all @size bytes: 0, or -1 on failure. */
int file_write(int fd, const void *bytes, size_t size);

/*
 * The real path of @fd, malloc'd; NULL if unknown, as without /proc. Unlike realpath(), it accesses
 * no file system but /proc.
 */
char *file_real_path(int fd);

/* Open a directory for file_next(); NULL on failure. */
DIR *file_open_directory(int directory, const char *name);

/* The same on behalf of @readers, who must be able to list it; see file_open_for(). */
DIR *file_open_directory_for(struct readers readers, int directory, const char *name);

/* The next entry: 1, with its name in *name until the next call; 0 at the end; -1 on failure. */
int file_next(DIR *directory, const char **name);

/* --- small files, read and written whole; what is read may be of any type and size --- */

/*
 * Read the first @limit bytes of the regular file at @path; *text is malloc'd, with a NUL appended.
 * 1: read; 0: it does not exist, cannot be opened by this user, or is no regular file; or a
 * transient failure (error.h).
 */
int small_file_read(const char *path, size_t limit, char **text, size_t *len, struct error *error);

/* The same for @fd, opened from @path; if it is -1, errno says why. */
int small_file_read_fd(int fd, const char *path, size_t limit, char **text, size_t *len,
                       struct error *error);

/*
 * The same for a file that must be trusted (safe_believe()): written by root, the effective user or
 * @owner only. Also ERROR_FORMAT if it is not a regular file, ERROR_PERMISSION if it cannot be read
 * or others can write or replace it.
 */
int small_file_read_trusted(const char *path, size_t limit, uid_t owner, char **text, size_t *len,
                            struct error *error);

/*
 * Replace the file @name in @directory atomically by one with content @text and permissions @mode,
 * regardless of the umask. 0, or -1 and errno.
 */
int small_file_write(int directory, const char *name, struct slice text, mode_t mode);

#endif

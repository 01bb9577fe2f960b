/*
 * small_file.h - small text files, read and written whole.
 *
 * What is read may be somebody else's, and anything: a FIFO, a device, or without end. None of
 * these is waited for.
 */
#ifndef DB_BASE_SMALL_FILE_H
#define DB_BASE_SMALL_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "db/base/error.h"
#include "db/base/slice.h"

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
 * The same of a file that is believed (trust.h); @owner: who may have written it besides root and
 * the effective user. Also ERROR_FORMAT where it is no regular file, ERROR_PERMISSION where it may
 * not be read, or others could have written it.
 */
int small_file_read_trusted(const char *path, size_t limit, uid_t owner, char **text, size_t *len,
                            struct error *error);

/*
 * Write @text under another name, and put it in the place of the file @name in @directory, whatever
 * that was. @mode: of the file, whatever the umask. 0, or -1 and errno.
 */
int small_file_write(int directory, const char *name, struct slice text, mode_t mode);

#endif

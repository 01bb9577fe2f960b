/*
 * small_file.h - a small text file of somebody else's, read whole.
 *
 * It may be anything: a FIFO, a device, or without end. None of these is waited for.
 */
#ifndef DB_BASE_SMALL_FILE_H
#define DB_BASE_SMALL_FILE_H

#include <stddef.h>

#include "db/base/error.h"

/*
 * The first @limit bytes of the regular file at @path, with a NUL behind them:
 * *@text is malloc'd and the caller's. 1: read; 0: there is no such file to be
 * read, or it is none; or a failure (error.h).
 */
int small_file_read(const char *path, size_t limit, char **text, size_t *len, struct error *error);

#endif

/*
 * fd_path.h - a name for what is open.
 */
#ifndef DB_BASE_FD_PATH_H
#define DB_BASE_FD_PATH_H

#include <stdio.h>

#define FILE_FD_PATH_ROOM (sizeof("/proc/self/fd/") + 3 * sizeof(int))

/* A path by which what @fd stands for can be opened, or asked about, again: written to @path. */
static inline void file_fd_path(char path[FILE_FD_PATH_ROOM], int fd)
{
	snprintf(path, FILE_FD_PATH_ROOM, "/proc/self/fd/%d", fd);
}

#endif

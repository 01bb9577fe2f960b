/*
 * cleanup.h - automatic release of resources at the end of a scope.
 *
 * A variable declared with CLEANUP(fn) is released by fn when its scope ends, on every path. take()
 * transfers ownership of its value and leaves NULL (take_fd(): -1) behind, so that the release does
 * nothing.
 */
#ifndef DB_BASE_CLEANUP_H
#define DB_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define take(variable)                                                                             \
	__extension__({                                                                            \
		__typeof__(variable) taken_ = (variable);                                          \
		(variable) = NULL;                                                                 \
		taken_;                                                                            \
	})

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_closedir(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

#endif

/*
 * zip_starts.h - where the members of a zip start in the file.
 *
 * The packed bytes of a member end before the next one starts, so each read asks for
 * that. For a few reads a walk through the directory is the cheapest answer; many
 * would take time with the square of the members, so that then the starts are sorted,
 * once.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_STARTS_H
#define LIBQUERY_DISK_ZIP_ZIP_STARTS_H

#include <pthread.h>

#include "libquery/disk/zip/zip_directory.h"

/*
 * Reads may come from several threads: the lock guards the making, and what is made
 * does not change until zip_starts_free().
 */
struct zip_starts {
	pthread_mutex_t lock;
	unsigned reads;   /* counted up to the one for which they are sorted */
	uint64_t *sorted; /* NULL: not made, or no memory */
	size_t count;
};

void zip_starts_init(struct zip_starts *starts);
void zip_starts_free(struct zip_starts *starts);

/* Where the first member behind @offset starts, or else @directory. */
uint64_t zip_starts_next(struct zip_starts *starts, const struct zip_directory *directory,
                         uint64_t offset);

#endif

/*
 * manager.h - which package manager has run this process.
 */
#ifndef INDEXER_MANAGER_H
#define INDEXER_MANAGER_H

#include <stddef.h>

/*
 * The command line of the topmost package manager that this process descends from:
 * its words, each with a NUL behind it, @len bytes in all. malloc'd, or NULL.
 */
char *manager_find(size_t *len);

#endif

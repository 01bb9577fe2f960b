/*
 * tree_open.h - a path entry, opened as what it is.
 */
#ifndef LIBQUERY_DISK_TREE_TREE_OPEN_H
#define LIBQUERY_DISK_TREE_TREE_OPEN_H

#include "libquery/disk/tree/tree.h"

/*
 * Open the directory or zip at @path, as Python would. An error that is not a failure
 * (error.h): there Python finds nothing (no such file, not readable, no directory nor zip).
 */
int tree_open(const char *path, struct tree **out, struct error *error);

/* The directory that is open as @fd, which the tree takes over. */
int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error);

#endif

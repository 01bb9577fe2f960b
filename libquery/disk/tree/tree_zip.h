/*
 * tree_zip.h - distributions in a zip, egg or wheel on the path.
 */
#ifndef LIBQUERY_DISK_TREE_TREE_ZIP_H
#define LIBQUERY_DISK_TREE_TREE_ZIP_H

#include "libquery/disk/tree/tree.h"

/* The zip that is open as @fd, which the tree takes over; @path for messages. */
int tree_open_zip(int fd, const char *path, struct stamp stamp, struct tree **out,
                  struct error *error);

#endif

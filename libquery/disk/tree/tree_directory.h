/*
 * tree_directory.h - distributions in a directory.
 */
#ifndef LIBQUERY_DISK_TREE_TREE_DIRECTORY_H
#define LIBQUERY_DISK_TREE_TREE_DIRECTORY_H

#include "libquery/disk/tree/tree.h"

/* A directory that is open as @fd, which the tree takes over. */
int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error);

#endif

/*
 * archive.h - trees over a zip, egg or wheel, or over the collected metadata files of another
 * archive.
 */
#ifndef LIBQUERY_DISK_TREE_ARCHIVE_H
#define LIBQUERY_DISK_TREE_ARCHIVE_H

#include "libquery/disk/tree/tree.h"
#include "libquery/disk/zip/zip_directory.h"

/*
 * The largest shared object that is unpacked in memory; larger ones go to an unnamed temporary
 * file, if there is space.
 */
#define ARCHIVE_OBJECT_MEMORY ((size_t)64 << 20)
#define ARCHIVE_OBJECT_MAX    ((uint64_t)2 << 30) /* bytes of an object that is unpacked */

/* Open the zip @fd, which the tree then owns; @path for messages. */
int tree_open_zip(int fd, const char *path, struct stamp stamp, struct tree **out,
                  struct error *error);

/* The same of a zip whose bytes come from @source. */
int tree_open_source(const struct zip_source *source, const char *path, struct tree **out,
                     struct error *error);

/* A file in an archive: its path without "./"; its content, null if it was not kept. */
struct tree_file {
	struct slice path, bytes;
};

/*
 * Open files in memory, which must outlive the tree, as if the archive were unpacked. Its children
 * are metadata directories at any depth, named by their path in the archive.
 */
int tree_open_memory(const struct tree_file *files, size_t count, struct tree **out,
                     struct error *error);

#endif

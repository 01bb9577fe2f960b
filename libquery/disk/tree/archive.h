/*
 * archive.h - distributions in a zip, egg or wheel, or in an archive whose metadata files a
 * reader of archives has collected.
 */
#ifndef LIBQUERY_DISK_TREE_ARCHIVE_H
#define LIBQUERY_DISK_TREE_ARCHIVE_H

#include "libquery/disk/tree/tree.h"
#include "libquery/disk/zip/zip_directory.h"

/*
 * The most bytes of a shared object that are unpacked in memory; larger ones go to a file
 * without a name, if there is room for it.
 */
#define ARCHIVE_OBJECT_MEMORY ((size_t)64 << 20)
#define ARCHIVE_OBJECT_MAX    ((uint64_t)2 << 30) /* bytes of an object that is unpacked */

/* The zip that is open as @fd, which the tree takes over; @path for messages. */
int tree_open_zip(int fd, const char *path, struct stamp stamp, struct tree **out,
                  struct error *error);

/* The same of a zip whose bytes come from @source. */
int tree_open_source(const struct zip_source *source, const char *path, struct tree **out,
                     struct error *error);

/* A file of an archive: its path without "./"; its bytes, null where they were not kept. */
struct tree_file {
	struct slice path, bytes;
};

/*
 * Files in memory, as if the archive were unpacked; they must stay. A child is a metadata
 * directory at any depth, named by its whole path in the archive.
 */
int tree_open_memory(const struct tree_file *files, size_t count, struct tree **out,
                     struct error *error);

#endif

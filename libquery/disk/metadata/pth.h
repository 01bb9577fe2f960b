/*
 * pth.h - reads the path entries that the .pth files of a site directory add.
 *
 * Python's module site reads them at start: each line that is not blank, a comment or code is a
 * path, which may be relative to the site directory. Lines of code are skipped; nothing is run.
 */
#ifndef LIBQUERY_DISK_METADATA_PTH_H
#define LIBQUERY_DISK_METADATA_PTH_H

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/slice.h"

#define PTH_FILE_MAX ((size_t)1 << 20) /* bytes of a .pth file that are read */

/* Callback for a line, numbered from 1, without its end; non-zero ends the reading. */
typedef int pth_line(void *payload, size_t number, struct slice line);

/*
 * Call @each for the lines of a .pth file's @text; returns its result, or 0. Lines end at "\n" and
 * "\r", or, with @everywhere, as in str.splitlines().
 */
int pth_read(struct slice text, bool everywhere, pth_line *each, void *payload);

/* Callback for each path, which may not exist; non-zero ends the walk. */
typedef int pth_each(void *payload, const char *path);

/*
 * Call @each for the paths in all .pth files of @directory, in site's order: files by name, lines
 * in order. Paths are made absolute, relative to @site (the directory's absolute name on sys.path),
 * and normalized without resolving links, as in os.path.abspath(). Files that are not regular, or
 * not readable, also for @readers, are skipped. Returns ERROR_IO or ERROR_NOMEM, 0, or the result
 * of @each.
 */
int pth_walk(const char *directory, const char *site, struct readers readers, pth_each *each,
             void *payload, struct error *error);

#endif

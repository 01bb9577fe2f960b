/*
 * pth.h - the path entries that the .pth files of a site directory add.
 *
 * Python's module site reads them at start: each line that is neither blank, a
 * comment nor code names a path, which may be relative to the site directory.
 * Lines of code are passed over: nothing is run.
 */
#ifndef LIBQUERY_DISK_METADATA_PTH_H
#define LIBQUERY_DISK_METADATA_PTH_H

#include "db/base/error.h"
#include "db/base/slice.h"

#define PTH_FILE_MAX ((size_t)1 << 20) /* bytes of a .pth file that are looked at */

/* Called for a line, numbered from 1, without what ends it; non-zero ends the reading. */
typedef int pth_line(void *payload, size_t number, struct slice line);

/*
 * Call @each for the lines of a .pth file's @text; what it returned, or 0. They end at "\n"
 * and "\r", or, with @everywhere, wherever str.splitlines() ends them.
 */
int pth_read(struct slice text, bool everywhere, pth_line *each, void *payload);

/* Called for each path, which need not exist; non-zero ends the walk. */
typedef int pth_each(void *payload, const char *path);

/*
 * Call @each for the paths of all .pth files in the directory @directory, in the order in
 * which site adds them: files by name, lines as they stand. A path is made
 * absolute, below @site (what the directory is called on sys.path, and itself
 * absolute), and freed of "." and ".." by its letters alone, as os.path.abspath()
 * does. What cannot be read for lack of permission, or is not a regular file, adds
 * nothing. ERROR_IO, ERROR_NOMEM: it could not be found out; else 0, or what @each
 * returned.
 */
int pth_walk(const char *directory, const char *site, pth_each *each, void *payload,
             struct error *error);

#endif

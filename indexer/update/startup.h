/*
 * startup.h - reads the code in a site directory that Python runs at each start.
 *
 *     *.pth        lines that start with "import", run by exec()
 *     *.start      lines of the form module:callable, called (PEP 829, Python 3.15)
 *     sitecustomize, usercustomize      modules of these names, imported
 *
 * Nothing is run: lines are read as in Python's module site. It is not decided here which
 * interpreter runs which of them: from 3.15 on, NAME.start replaces the import lines of NAME.pth.
 */
#ifndef INDEXER_UPDATE_STARTUP_H
#define INDEXER_UPDATE_STARTUP_H

#include "libquery/disk/metadata/scan.h"

#define STARTUP_FILE_MAX ((size_t)1 << 20) /* bytes of a file that is read */
#define STARTUP_CODE_MAX ((size_t)1 << 16) /* bytes of a line that are stored */

/* Would import use the file @name for sitecustomize or usercustomize? */
bool startup_is_module(struct slice name);

/*
 * For a scan: sorted by file and line, with texts in the root's arena. Files that may not be
 * published to tree->readers are left out. ERROR_LIMIT: unreasonably many.
 */
extern const struct scan_startup startup_scan;

#endif

/*
 * startup.h - the code of a site directory that Python runs at each start, unasked.
 *
 *     *.pth        lines that begin with "import", run by exec()
 *     *.start      lines of the form module:callable, called (PEP 829, Python 3.15)
 *     sitecustomize, usercustomize      modules of these names, imported
 *
 * Nothing is run: the lines are read as Python's module site would read them. Which
 * interpreter runs which of them is not decided here: from 3.15 on, NAME.start takes the
 * place of the import lines of NAME.pth.
 */
#ifndef INDEXER_UPDATE_STARTUP_H
#define INDEXER_UPDATE_STARTUP_H

#include "libquery/disk/metadata/scan.h"

#define STARTUP_FILE_MAX ((size_t)1 << 20) /* bytes of a file that is read */
#define STARTUP_CODE_MAX ((size_t)1 << 16) /* bytes of a line that are kept */

/* Is it what import would take for sitecustomize or usercustomize? */
bool startup_is_module(struct slice name);

/*
 * For a scan: ordered by file and line, with texts in the root's arena. What may not be
 * published to tree->readers is left out. ERROR_LIMIT: there is more than anybody would write.
 */
extern const struct scan_startup startup_scan;

#endif

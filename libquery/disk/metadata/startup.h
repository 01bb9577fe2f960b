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
#ifndef LIBQUERY_DISK_METADATA_STARTUP_H
#define LIBQUERY_DISK_METADATA_STARTUP_H

#include "libquery/disk/tree/tree.h"

#define STARTUP_FILE_MAX ((size_t)1 << 20) /* bytes of a file that is read */
#define STARTUP_CODE_MAX ((size_t)1 << 16) /* bytes of a line that are kept */

/* The children of a site directory that may hold such code, as they are met. */
struct startup_files {
	struct slice *names; /* in the arena of the caller */
	size_t count, room;
};

/* May a child of this name hold start-up code? */
bool startup_is_file(struct slice name);

/* Is it what import would take for sitecustomize or usercustomize? */
bool startup_is_module(struct slice name);

/* Remember it; the bytes of @name must stay. False without memory. */
bool startup_add(struct startup_files *files, struct slice name);

void startup_files_free(struct startup_files *files);

/*
 * Read @files of @tree into @out's start-up code, ordered by file and line; texts in its
 * arena. What may not be published to tree->readers is left out. An error is a failure
 * (error.h), or ERROR_LIMIT where there is more than anybody would write.
 */
int startup_read(struct tree *tree, struct startup_files *files, struct root_record *out,
                 struct error *error);

#endif

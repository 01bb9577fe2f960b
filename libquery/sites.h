/*
 * sites.h - finds site directories without running Python.
 */
#ifndef LIBQUERY_SITES_H
#define LIBQUERY_SITES_H

#include <stdbool.h>
#include <stddef.h>

#include "db/base/error.h"
#include "db/base/name_map.h"
#include "db/base/slice.h"

#define PYVENV_CFG_MAX ((size_t)64 << 10) /* bytes of pyvenv.cfg that are read */

/* A list of paths, without duplicates, in order. */
struct sites {
	char **paths;
	size_t count, room;
	struct name_map seen; /* the same paths */
};

void sites_free(struct sites *sites);

/* Add a copy of @path, unless present; false if out of memory. */
bool sites_add(struct sites *sites, const char *path);

/*
 * The default path: $ENTRYDB_PATH if set; else the site directory of $VIRTUAL_ENV (and the
 * system's, if its pyvenv.cfg says so); else that of $CONDA_PREFIX; else those of the user and of
 * the system. Each site directory is followed by the directories in its .pth files. @version, such
 * as "3.12", or NULL for the environment's own; @sysroot: an alternative file-system root, or NULL.
 * 0; ERROR_NOMEM; or an error such as ERROR_IO if it cannot be determined.
 */
int sites_default(struct sites *sites, const char *version, const char *sysroot,
                  struct error *error);

/* Every existing directory in PREFIX with a layout of layout.h. The same errors. */
int sites_of_prefix(struct sites *sites, const char *prefix, const char *sysroot,
                    struct error *error);

/*
 * All site directories of this machine (or of @sysroot): the system's prefixes, the user's site,
 * the active environments, the Pythons on $PATH and those of pyenv.
 */
int sites_of_machine(struct sites *sites, const char *sysroot, struct error *error);

/*
 * Take the next value of @key from the text of pyvenv.cfg; null after the last. Of several, CPython
 * uses the first "home", and the last of other keys.
 */
struct slice pyvenv_take(struct slice *text, struct slice key);

#endif

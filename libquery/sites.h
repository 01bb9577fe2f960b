/*
 * sites.h - the site directories of this machine, found without running a Python.
 */
#ifndef LIBQUERY_SITES_H
#define LIBQUERY_SITES_H

#include <stdbool.h>
#include <stddef.h>

#include "db/base/error.h"
#include "db/base/name_map.h"

/* A list of paths, without duplicates, in order. */
struct sites {
	char **paths;
	size_t count, room;
	struct name_map seen; /* those in paths */
};

void sites_free(struct sites *sites);

/* Add a copy of @path unless it is there; false without memory. */
bool sites_add(struct sites *sites, const char *path);

/*
 * What sys.path would hold by default, as far as packages are concerned:
 * $ENTRYDB_PATH where it is set; else the site directory of $VIRTUAL_ENV (and the
 * system's, if its pyvenv.cfg says so); else that of $CONDA_PREFIX; else the
 * user's site directory and the system's. Each site directory is followed at once by
 * what its .pth files name. @version, such as "3.12", or NULL for the
 * environment's own; @sysroot, another file-system root, or NULL. 0, or
 * ERROR_IO and the like, ERROR_NOMEM: it could not be found out.
 */
int sites_default(struct sites *sites, const char *version, const char *sysroot,
                  struct error *error);

/* Every directory in PREFIX that layout.h knows and that exists. The same errors. */
int sites_of_prefix(struct sites *sites, const char *prefix, const char *sysroot,
                    struct error *error);

/*
 * Everything of this machine (or of @sysroot): the system's prefixes, the user's site,
 * the active environments, the Pythons on $PATH and those of pyenv.
 */
int sites_of_machine(struct sites *sites, const char *sysroot, struct error *error);

#endif

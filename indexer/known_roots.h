/*
 * known_roots.h - the roots that a database knows, whether or not a command names them.
 *
 * An environment loses a site directory when its Python is upgraded: no command names that one
 * again, so each update looks for all that its database knows.
 */
#ifndef INDEXER_KNOWN_ROOTS_H
#define INDEXER_KNOWN_ROOTS_H

#include "db/record.h"
#include "indexer/command.h"
#include "libquery/sites.h"

/* A root_each, for a struct sites: add the root's path, as the database spells it; no archives. */
int known_roots_add(void *sites, const struct root_record *root);

/* All of those in the published @file. */
int known_roots_of_file(const char *file, struct sites *out, struct error *error);

/*
 * Where the root lies that the database @file calls @root_path: *@out, malloc'd. NULL where that
 * cannot be known: with --root, an absolute path is meant below it, but the file may lie outside.
 */
int known_root_path(const struct options *options, const char *file, const char *root_path,
                    char **out, struct error *error);

/* Is nothing there? */
bool known_root_is_gone(const char *path);

#endif

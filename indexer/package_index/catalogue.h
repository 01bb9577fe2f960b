/*
 * catalogue.h - entrydb add --index.
 */
#ifndef INDEXER_PACKAGE_INDEX_CATALOGUE_H
#define INDEXER_PACKAGE_INDEX_CATALOGUE_H

#include "indexer/command.h"

/* A command_function. */
int catalogue_add(const struct options *options, struct error *error);

/* The database of --db, or the user's catalogue, malloc'd. ERROR_NOTFOUND, ERROR_NOMEM. */
int catalogue_file(const struct options *options, char **out, struct error *error);

#endif

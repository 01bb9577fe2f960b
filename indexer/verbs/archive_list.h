/*
 * archive_list.h - the archives that the arguments of "add" lead to.
 */
#ifndef INDEXER_VERBS_ARCHIVE_LIST_H
#define INDEXER_VERBS_ARCHIVE_LIST_H

#include "indexer/command.h"
#include "libquery/sites.h"

/* Reports what cannot be searched, and clears @why; the search goes on. */
typedef void archive_list_problem(void *payload, const char *path, struct error *why);

/*
 * Add archives to @out, as the user spells them, each once. An argument is an archive, whatever
 * its name, or a directory that is searched for those whose name says so, in the order of names.
 * Fails for want of memory alone.
 */
int archive_list_find(const struct options *options, struct sites *out,
                      archive_list_problem *problem, void *payload, struct error *error);

#endif

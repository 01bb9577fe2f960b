/*
 * causes.h - why Python would fail to load an entry point, found without running anything.
 */
#ifndef INDEXER_VERBS_CAUSES_H
#define INDEXER_VERBS_CAUSES_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/*
 * Why @entry_point would fail to load: a sentence without a full stop, malloc'd; NULL where
 * nothing is found, which does not guarantee that it loads. Its @target is what entrydb_resolve()
 * says, or NULL. Each error is a failure (error.h).
 */
int causes_find(const char *sysroot, const entrydb_entry_point *entry_point,
                const entrydb_target *target, char **out, struct error *error);

#endif

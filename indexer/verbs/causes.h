/*
 * causes.h - predicts why Python would fail to load an entry point, without running anything.
 */
#ifndef INDEXER_VERBS_CAUSES_H
#define INDEXER_VERBS_CAUSES_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/*
 * Why @entry_point would fail to load: a sentence without a full stop, malloc'd; NULL if no cause
 * is found, which does not guarantee that it loads. @target: from entrydb_resolve(), or NULL. Each
 * error is transient (error.h).
 */
int causes_find(const char *sysroot, const entrydb_entry_point *entry_point,
                const entrydb_target *target, char **out, struct error *error);

#endif

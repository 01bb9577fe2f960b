/*
 * causes.h - why Python would fail to load an entry point, found without running anything.
 *
 * What a program reports is often not what is wrong: of a device that torch cannot load it
 * names the plugin, not the library that is missing for the plugin's extension.
 */
#ifndef INDEXER_VERBS_CAUSES_H
#define INDEXER_VERBS_CAUSES_H

#include "db/base/error.h"
#include "libquery/entrydb.h"
#include "libquery/sites.h"

/*
 * Add to @out, as sentences without a full stop, why @entry_point would fail to load; its @target
 * is what entrydb_resolve() says, or NULL. @sysroot: NULL, or what its paths begin with. That
 * nothing is found does not guarantee that it loads. Each error is a failure (error.h); @out may
 * have some of them then, too.
 */
int causes_find(const char *sysroot, const entrydb_entry_point *entry_point,
                const entrydb_target *target, struct sites *out, struct error *error);

#endif

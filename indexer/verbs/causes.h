/*
 * causes.h - why Python would fail to load an entry point, found without running anything.
 *
 * What a program reports is often not what is wrong: of a device that torch cannot load it
 * names the plugin, not the library that the plugin's extension lacks.
 */
#ifndef INDEXER_VERBS_CAUSES_H
#define INDEXER_VERBS_CAUSES_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/* Sentences without a full stop. Zeros at first. */
struct causes {
	char **items;
	size_t count, room;
};

void causes_free(struct causes *causes);

/* All of them in *@out, malloc'd, with "; " between; NULL where there are none. ERROR_NOMEM. */
int causes_join(const struct causes *causes, char **out, struct error *error);

/*
 * Find what stands against loading @entry_point, whose @target is what entrydb_resolve()
 * says, or NULL. @sysroot: NULL, or what its paths begin with. That nothing is found is no
 * proof that it loads. Each error is a failure (error.h); @out may have some of them then,
 * too.
 */
int causes_find(const char *sysroot, const entrydb_entry_point *entry_point,
                const entrydb_target *target, struct causes *out, struct error *error);

#endif

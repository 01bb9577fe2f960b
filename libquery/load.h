/*
 * load.h - finding and loading what an entry point leads to, from inside; and the checks before
 * that, for callers that have others load it. Private to libquery/ and the program.
 */
#ifndef LIBQUERY_LOAD_H
#define LIBQUERY_LOAD_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/* As entrydb_resolve() and entrydb_load_with(). */
int target_find(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **out,
                struct error *error);
int load_symbol(entrydb *db, const entrydb_entry_point *entry_point,
                const entrydb_load_options *options, void **symbol, struct error *error);

/*
 * Would entrydb_load() open what @entry_point leads to, here and for this user? Everything
 * is asked but the dynamic linker, and the absolute path is *@object, malloc'd. A manifest
 * that names an object for other programs is a load by them. The codes of entrydb_load().
 */
int load_check(entrydb *db, const entrydb_entry_point *entry_point, char **object,
               struct error *error);

#endif

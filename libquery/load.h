/*
 * load.h - finding and loading what an entry point leads to, from inside; and the checks before
 * that, for callers that have others load it. Private to libquery/ and the program.
 */
#ifndef LIBQUERY_LOAD_H
#define LIBQUERY_LOAD_H

#include "libquery/entrydb.h"
#include "libquery/native/loader.h"

/* As entrydb_resolve(). */
int target_find(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **out,
                struct error *error);

/*
 * Would entrydb_load() open what @entry_point leads to, here and for this user? Everything
 * is asked but the dynamic linker, and the absolute path is *@object, malloc'd. A manifest
 * that names an object for other programs is a load by them. The codes of entrydb_load().
 */
int load_check(entrydb *db, const entrydb_entry_point *entry_point, char **object,
               struct error *error);

/*
 * Whoever can write a library that the dynamic linker loads with an object decides what runs: may
 * those be loaded that @object needs, and finds by its own RPATH or RUNPATH, and those that they
 * need? The system's own are not asked about. 0, or an error of loader_check().
 */
int needed_check(const struct loadable *object, struct error *error);

/*
 * Which build of a shared object it is, wherever the file lies: what crashed stays in quarantine at
 * any path, and another build of it is free. "build-id-HEX", or "sha256-HEX" of one that has no
 * build-id; malloc'd.
 */
int object_id(const char *object, char **id, struct error *error);

#endif

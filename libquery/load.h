/*
 * load.h - resolves an entry point and checks whether it may be loaded. Private to libquery/ and
 * the program.
 */
#ifndef LIBQUERY_LOAD_H
#define LIBQUERY_LOAD_H

#include "libquery/entrydb.h"
#include "libquery/native/loader.h"

/* As entrydb_resolve(). */
int target_find(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **out,
                struct error *error);

/*
 * Would entrydb_load() load @entry_point, here or in the handle's sysroot, and for this user? Makes
 * all its checks except dlopen(); *object is the absolute path, malloc'd. Used for manifests, by
 * which other programs load the object; @lasting: see struct loadable. The codes of entrydb_load().
 */
int load_check(entrydb *db, const entrydb_entry_point *entry_point, bool lasting, char **object,
               struct error *error);

/*
 * Users who can write a library that is loaded as a dependency control what runs: check all
 * libraries that @object finds by its own RPATH or RUNPATH, recursively. The system's own libraries
 * are not checked. 0, or an error of loader_check().
 */
int needed_check(const struct loadable *object, struct error *error);

/*
 * Identify the build of a shared object, regardless of its path: a quarantined build stays so at
 * any path, and another build is free. *id is "build-id-HEX", or "sha256-HEX" for an object without
 * a build-id; malloc'd.
 */
int object_id(const char *object, char **id, struct error *error);

#endif

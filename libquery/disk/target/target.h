/*
 * target.h - resolves the value of an entry point to a file.
 *
 * For a value a.b.c:attr it finds the file that Python's import would use for the module a.b.c,
 * and, if that is a shared object, whether a host without Python can use it. This needs no
 * additional metadata, and no code of the package runs: shared objects are read, never loaded.
 */
#ifndef LIBQUERY_DISK_TARGET_TARGET_H
#define LIBQUERY_DISK_TARGET_TARGET_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/record.h"
#include "libquery/disk/target/import_path.h"
#include "libquery/disk/target/object.h"

/* The objects of a distribution that export the symbol of a host's plugins. */
struct target_bundle {
	bool is_known;
	size_t count;
	bool not_examined;           /* another object could not be read */
	struct target_record target; /* of the last of them */
};

/*
 * The location of one distribution's modules and objects, and a cache shared by its entry points.
 */
struct target_site {
	struct import_site modules;
	struct object_site objects;
	bool editable;
	/* Initialise with zeros: */
	struct slice last_module;        /* resolved last; best called in order of modules */
	struct import_file last;         /* its result for import */
	struct import_file last_library; /* and for a host, if asked_library */
	bool asked_library;
	struct target_bundle bundle;
};

/*
 * Resolve the entry point @wanted by its group, module and attr. *out is written on success; its
 * slices point into @wanted, the site or @arena. The object of a Python target is its .py, or the
 * directory of a package without __init__. An unresolved entry point is a result, not an error:
 * each error is transient (error.h). For a Python module listed in RECORD, it makes no system call
 * and allocates nothing.
 */
int target_resolve(struct target_site *site, const struct entry_point_record *wanted,
                   struct arena *arena, struct target_record *out, struct error *error);

#endif

/*
 * target.h - from the value of an entry point to the file it means.
 *
 * For a value a.b.c:attr this answers which file Python's import would take for
 * the module a.b.c, and, where that is a shared object, whether a host without
 * Python can use it. No metadata beyond today's is needed, and no code of the
 * package runs: shared objects are read, never loaded.
 */
#ifndef LIBQUERY_DISK_TARGET_TARGET_H
#define LIBQUERY_DISK_TARGET_TARGET_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/record.h"
#include "libquery/disk/target/import_path.h"
#include "libquery/disk/target/object.h"

/* Which of a distribution's objects export the symbol by which a host knows its plugins. */
struct target_bundle {
	bool is_known;
	size_t count;
	bool not_examined;           /* some other might, and could not be read */
	struct target_record target; /* what the last of them is */
};

/* Where the modules and objects of one distribution are, and what its entry points share. */
struct target_site {
	struct import_site modules;
	struct object_site objects;
	bool editable;
	/* Zeros at first: */
	struct slice last_module; /* that was asked for, */
	struct import_file last;  /* and what would be taken for it: best ordered by module, */
	struct import_file last_library; /* also by a host, if that has been asked, too */
	bool asked_library;
	struct target_bundle bundle;
};

/*
 * Resolve the entry point @wanted: its group, module and attr. *@out is written on success; its
 * slices point into those of @wanted or of the site, or into @arena. The object of a Python
 * target is its .py, or the directory of a package without one. What cannot be resolved is an
 * answer, not an error: each error is a failure (error.h). For a Python module that RECORD
 * lists, it makes no system call and allocates nothing.
 */
int target_resolve(struct target_site *site, const struct entry_point_record *wanted,
                   struct arena *arena, struct target_record *out, struct error *error);

#endif

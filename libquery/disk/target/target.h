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

/* The module asked for last, and what would be taken for it. */
struct found_module {
	struct slice module;
	struct import_file found;
};

/*
 * What is kept from one entry point of a distribution to the next; zeros at first. It
 * serves best where they come ordered by module.
 */
struct target_memo {
	struct found_module by_import, by_host;
	struct target_bundle bundle;
};

struct target_query {
	struct slice group, module, attr;
	struct import_site site;    /* where the distribution's modules are */
	struct object_site objects; /* and its objects; fd is that of site */
	bool editable;
	struct target_memo *memo; /* may be NULL */
};

/*
 * Resolve one entry point. *@out is written on success; its slices point into those of
 * the query or into @arena. The object of a Python target is its .py, or the directory of
 * a package without one. What cannot be resolved is an answer, not
 * an error: each error is a failure (error.h). For a Python module that RECORD
 * lists, it makes no system call and allocates nothing.
 */
int target_resolve(const struct target_query *query, struct arena *arena, struct target_record *out,
                   struct error *error);

#endif

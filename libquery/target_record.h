/*
 * target_record.h - the targets of a distribution's entry points, as records.
 */
#ifndef LIBQUERY_TARGET_RECORD_H
#define LIBQUERY_TARGET_RECORD_H

#include "error.h"
#include "record.h"
#include "tree.h"

#define RECORD_MAX ((size_t)64 << 20) /* bytes of a RECORD */

/*
 * Resolve every entry point of @distribution in @tree. What leads to a Python
 * module at hand keeps a NULL target. Also takes the hash of entry_points.txt out of
 * RECORD. Memory comes from @arena. @site_objects: the names of the shared objects
 * right in the tree, a newline after each, where they are known; else null. The
 * only error is ERROR_NOMEM.
 */
int target_records(struct tree *tree, struct slice site_objects,
                   struct distribution_record *distribution, struct arena *arena,
                   struct error *error);

#endif

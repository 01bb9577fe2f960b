/*
 * target_output.h - what is known of the shared object that an entry point leads to, as cells
 * of a row and as lines.
 */
#ifndef INDEXER_TARGET_OUTPUT_H
#define INDEXER_TARGET_OUTPUT_H

#include "indexer/output.h"
#include "libquery/entrydb.h"

/* The columns of target_put(). */
#define TARGET_COLUMNS                                                                             \
	KEY("size"), KEY("machine"), KEY("build_id"), KEY("sha256"), KEY("glibc"), KEY("glibcxx"), \
	        KEY("missing"), KEY("undefined"), KEY("python_by")

void target_put(struct output *output, const entrydb_target *target);

/* Lines about what matters to people: what it needs, and what is missing. */
void target_print(const entrydb_target *target);

/* NULL where @target is. */
const char *target_kind(const entrydb_target *target);
const char *target_state(const entrydb_target *target);
const char *target_object(const entrydb_target *target);

#endif

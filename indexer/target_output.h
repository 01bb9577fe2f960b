/*
 * target_output.h - what is known of the shared object that an entry point leads to, as cells
 * of a row and as lines.
 */
#ifndef INDEXER_TARGET_OUTPUT_H
#define INDEXER_TARGET_OUTPUT_H

#include "indexer/output.h"
#include "indexer/verb.h"

/* The columns of target_put(). */
#define TARGET_COLUMNS                                                                             \
	KEY("size"), KEY("machine"), KEY("build_id"), KEY("sha256"), KEY("glibc"), KEY("glibcxx"), \
	        KEY("missing"), KEY("undefined"), KEY("python_by")

void target_put(struct output *output, const entrydb_target *target);

/* Put a row; @target may be NULL. */
typedef void entry_point_put(struct output *output, const entrydb_entry_point *entry_point,
                             const entrydb_target *target);

/* Put all that was selected by @put, with their targets or without, and end the output. */
int target_put_all(struct output *output, const struct selection *found, bool with_targets,
                   entry_point_put *put, struct error *error);

/* Lines about what matters to people: what it needs, and what is missing. */
void target_print(const entrydb_target *target);

/* NULL where @target is. */
const char *target_kind(const entrydb_target *target);
const char *target_state(const entrydb_target *target);
const char *target_object(const entrydb_target *target);

#endif

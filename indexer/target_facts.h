/*
 * target_facts.h - what is known of a shared object, as text and as JSON.
 */
#ifndef INDEXER_TARGET_FACTS_H
#define INDEXER_TARGET_FACTS_H

#include "db/json.h"
#include "libquery/entrydb.h"

/* The keys of target_facts_put(), to stand beside each other in a list of keys. */
#define TARGET_FACTS_KEYS                                                                          \
	"size", "machine", "build_id", "sha256", "glibc", "glibcxx", "missing", "undefined",       \
	        "python_by"
#define TARGET_FACTS_COUNT 9

/* Put their values into the next object; the first of them is key number @first. */
void target_facts_put(struct json *json, size_t first, const entrydb_target *target);

/* Lines of what is remarkable: what it asks for, and what is lacking. */
void target_facts_print(const entrydb_target *target);

#endif

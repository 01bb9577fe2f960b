/*
 * entry_output.h - what is known of an entry point and of the shared object that it leads to, as
 * cells of a row and as lines.
 */
#ifndef INDEXER_ENTRY_OUTPUT_H
#define INDEXER_ENTRY_OUTPUT_H

#include "indexer/output.h"
#include "indexer/verb.h"

/* What entry_put() puts into a column: its member cell. */
enum {
	CELL_PROVIDER = 1, /* see provider_of() */
	CELL_KIND,
	CELL_STATE,
	CELL_SIZE,
	CELL_MACHINE,
	CELL_FIELD = 16,  /* and above: an entrydb_field */
	CELL_TARGET = 48, /* and above: an entrydb_target_field */
};

#define FIELD(field)  (CELL_FIELD + (int)ENTRYDB_FIELD_##field)
#define TARGET(field) (CELL_TARGET + (int)ENTRYDB_TARGET_##field)

/* A column of JSON, and the last ones of a row, about the shared object. */
#define ENTRY_KEY(key, cell)                                                                       \
	{                                                                                          \
		(key), NULL, STYLE_PLAIN, (cell)                                                   \
	}
#define TARGET_COLUMNS                                                                             \
	ENTRY_KEY("size", CELL_SIZE), ENTRY_KEY("machine", CELL_MACHINE),                          \
	        ENTRY_KEY("build_id", TARGET(BUILD_ID)), ENTRY_KEY("sha256", TARGET(SHA256)),      \
	        ENTRY_KEY("glibc", TARGET(GLIBC)), ENTRY_KEY("glibcxx", TARGET(GLIBCXX)),          \
	        ENTRY_KEY("missing", TARGET(MISSING)), ENTRY_KEY("undefined", TARGET(UNDEFINED)),  \
	        ENTRY_KEY("python_by", TARGET(PYTHON_BY))

/*
 * Put the cells up to the next column that has no member cell, or to the end of the row. @target
 * may be NULL.
 */
void entry_put(struct output *output, const entrydb_entry_point *entry_point,
               const entrydb_target *target);

/* Put all that was selected, with their targets or without, and end the output. */
int entry_put_all(struct output *output, const struct selection *found, bool with_targets,
                  struct error *error);

/* Lines about what matters to people: what the object needs, and what is missing. */
void target_print(const entrydb_target *target);

#endif

/*
 * verb.h - a handle of the library's, opened as the options of a verb ask, and what is selected.
 */
#ifndef INDEXER_VERB_H
#define INDEXER_VERB_H

#include "indexer/command.h"
#include "libquery/disk/target/site_kinds.h"
#include "libquery/sites.h"

/* The path entries that are searched where the options name none. */
int default_sites(const struct options *options, struct sites *out, struct error *error);

/* A handle as the options ask: on --path, else on --db alone, else on the default path. */
int open_handle(const struct options *options, entrydb **out, struct error *error);

/* What was selected, of a handle. Zeros at first. */
struct selection {
	entrydb *db;
	entrydb_set *set;
};

/* Open such a handle and select on it; released also after an error. */
int select_by(const struct options *options, const char *group, const char *name,
              struct selection *out, struct error *error);
void selection_free(struct selection *selection);

/* The text of an entry point's field; null where it has none. */
struct slice field_of(const entrydb_entry_point *entry_point, enum entrydb_field field);

/* The distribution that provides it: its name, else its metadata directory. */
const char *provider_of(const entrydb_entry_point *entry_point);

/*
 * What the entry point leads to, which the caller frees; NULL where that cannot be known,
 * which is not an error. Each error is a failure (error.h).
 */
int find_target(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **target,
                struct error *error);

/* May policy have it loaded? The caller frees *@verdict. */
int find_verdict(entrydb *db, const entrydb_entry_point *entry_point, entrydb_verdict **verdict,
                 struct error *error);

/* Print the problems of a set, one line each: once a run, of the widest set. */
void report_problems(const entrydb_set *set);

/*
 * The kinds of plugins to look for; the caller frees *@out. A site's file that is wrong is
 * reported and left out.
 */
int load_kinds(const struct options *options, struct plugin_kinds **out, struct error *error);

#endif

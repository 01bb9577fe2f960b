/*
 * select.h - a selection under way, which select.c fills with entry points and plugins.c with
 * plugins. Private to libquery/.
 */
#ifndef LIBQUERY_SELECT_H
#define LIBQUERY_SELECT_H

#include "libquery/handle.h"
#include "libquery/result.h"

struct selection {
	struct entrydb *db;
	struct slice group, name; /* null: any */
	bool explain;             /* with those that are shadowed */
	bool plugins;             /* not entry points, but plugins: then group is the kind */
	struct entrydb_set *set;  /* the answer */
	/* The texts of the distribution told last, shared by its entry points. */
	uint64_t told;
	struct slice path, file, distribution, version, shadowed_by;
	/* The path entry whose files were read last, and its tree, NULL where it cannot be opened.
	 */
	const struct path_entry *opened_for;
	struct tree *opened;
};

/* A distribution that may be in the answer; all slices are borrowed. */
struct candidate {
	size_t entry; /* the index of its path entry */
	uint64_t place;
	struct slice normalized_name; /* null: it has none, and nothing shadows it */
	bool uncontested;             /* no other distribution of the same database has its name */
	struct slice directory, name, version;
	const struct winner *winner; /* of its name, as selection_admits() found it, or NULL */
};

struct candidate candidate_of(const struct entrydb *db, size_t entry,
                              const struct distribution_record *distribution);

/* Begin with path entries that are up to date; end it whatever the outcome. */
int selection_begin(struct selection *selection, struct error *error);
int selection_end(struct selection *selection, int code, struct error *error);

/* Does the answer want the entry points of this one? 1, 0, or an error. */
int selection_admits(struct selection *selection, struct candidate *candidate, struct error *error);

/*
 * Put one of them, its @ordinal-th, into the answer, which keeps copies. @row, of @source: its
 * row's identifier, or 0. NULL without memory.
 */
struct entrydb_entry_point *selection_add(struct selection *selection,
                                          const struct candidate *candidate, uint32_t ordinal,
                                          const struct entry_point_record *record);

/* Add what the databases say. */
int selection_add_rows(struct selection *selection, struct error *error);

/* Does a database vouch for the plugins of that path entry? The handle's kinds are loaded. */
bool plugins_in_database(const struct entrydb *db, const struct path_entry *entry);

#endif

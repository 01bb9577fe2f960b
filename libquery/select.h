/*
 * select.h - an answer under way, which select.c fills with entry points, plugins.c with plugins
 * and distributions.c with distributions. Private to libquery/.
 */
#ifndef LIBQUERY_SELECT_H
#define LIBQUERY_SELECT_H

#include "libquery/handle.h"

enum select_what {
	SELECT_ALL,
	SELECT_EXPLAINED, /* with those that are shadowed */
	SELECT_ALLOWED,   /* what rules (policy.h) forbid is left out */
	SELECT_RANKED,    /* the same, and higher priorities come first */
};

struct selection;

/* Fills selection->set from path entries that are up to date. */
typedef int selection_fill(struct selection *selection, struct error *error);

struct selection {
	struct entrydb *db;
	selection_fill *fill;
	struct slice group, name; /* null: any */
	enum select_what what;
	bool plugins;            /* not entry points, but plugins: then group is the kind */
	struct entrydb_set *set; /* the answer */
	/* The texts of the distribution told last, shared by its entry points. */
	uint64_t told;
	size_t told_of; /* its path entry */
	struct slice path, file, distribution, version, shadowed_by;
	/* The path entry whose files were read last, and its tree, NULL where it cannot be opened.
	 */
	const struct path_entry *opened_for;
	struct tree *opened;
};

/* A distribution that may be in the answer. */
struct candidate {
	size_t entry; /* the index of its path entry */
	uint64_t place;
	bool uncontested; /* no other distribution of the same database has its name */
	const struct distribution_record *of; /* with no normalized name, nothing shadows it */
	const struct winner *winner; /* who shadows it, as selection_admits() found out, or NULL */
};

struct candidate candidate_of(const struct entrydb *db, size_t entry,
                              const struct distribution_record *distribution);

/* Ask under the handle's lock; *out is the answer that selection->fill() has filled. */
int selection_ask(struct selection *selection, struct entrydb_set **out, struct error *error);

/* Does the question ask for what is called so? */
static inline bool selection_wants(const struct selection *selection, struct slice group,
                                   struct slice name)
{
	return (slice_is_null(selection->group) || slice_equal(selection->group, group)) &&
	       (slice_is_null(selection->name) || slice_equal(selection->name, name));
}

/* Does the answer want the entry points of this one? 1, 0, or an error. */
int selection_admits(struct selection *selection, struct candidate *candidate, struct error *error);

/* Copy the texts of a distribution into the answer, unless they were told last. */
void selection_tell(struct selection *selection, const struct candidate *candidate);

/* Add its @ordinal-th entry point. NULL without memory. */
struct entrydb_entry_point *selection_add(struct selection *selection,
                                          const struct candidate *candidate, uint32_t ordinal,
                                          const struct entry_point_record *record);

/* Add what the databases say. */
int selection_add_rows(struct selection *selection, struct error *error);

/*
 * The rows of path entry @index that hold, into *out, which the caller frees whatever the outcome;
 * @listed: with entry points, and little else (reader_listed()).
 */
int selection_rows(struct selection *selection, size_t index, bool listed, struct root_record *out,
                   struct error *error);

/* The tree of @entry, opened once for all that is asked of it in a row; NULL: see @error. */
struct tree *selection_open(struct selection *selection, const struct path_entry *entry,
                            struct error *error);

/*
 * Read what was left out of what was read of @entry: entry points, where another distribution
 * seemed to shadow them, and, with @headers, name and version.
 */
int selection_read(struct selection *selection, struct path_entry *entry,
                   struct distribution_record *distribution, bool headers, struct error *error);

/* Does a database vouch for the plugins of that path entry? The handle's kinds are loaded. */
bool plugins_in_database(const struct entrydb *db, const struct path_entry *entry);

/* As entrydb_select() and its like. */
int select_entry_points(struct entrydb *db, const char *group, const char *name,
                        enum select_what what, struct entrydb_set **out, struct error *error);

/* --- which distribution shadows which, and which path entry has which row --- */

/*
 * Of distributions with the same normalized name Python believes the first it meets, on the
 * caller's path and by the caller's rules. What was found out stays with the handle until one
 * of its path entries, or databases, is another.
 */

/* Before each answer, with path entries that are up to date. 0 or ERROR_NOMEM. */
int shadowing_begin(struct entrydb *db, struct error *error);
void shadowing_free(struct shadowing *shadowing);

/* The index of the first path entry that has that root of that source, or db->entry_count. */
size_t shadowing_entry_of(const struct entrydb *db, size_t source, int64_t root);

/*
 * *@out: who has that name first; valid until the next call. @uncontested: the row says that no
 * other row of its file has it; then *out may be NULL, and it is that row. 0 or an error.
 */
int shadowing_winner(struct entrydb *db, struct slice name, bool uncontested,
                     const struct winner **out, struct error *error);

#endif

/*
 * select.h - an answer under construction, filled with entry points (select.c), plugins (plugins.c)
 * or distributions (distributions.c); and shadowing. Private to libquery/.
 */
#ifndef LIBQUERY_SELECT_H
#define LIBQUERY_SELECT_H

#include "libquery/handle.h"

enum select_what {
	SELECT_ALL,
	SELECT_EXPLAINED, /* including shadowed ones */
	SELECT_ALLOWED,   /* without those that policy forbids */
	SELECT_RANKED,    /* the same, higher priorities first */
};

struct selection;

/* Fills selection->set; path entries are up to date. */
typedef int selection_fill(struct selection *selection, struct error *error);

struct selection {
	struct entrydb *db;
	selection_fill *fill;
	struct slice group, name; /* null: any */
	enum select_what what;
	bool plugins;            /* native plugins; group is the kind */
	struct entrydb_set *set; /* the answer */
	/* The texts of the last distribution, shared by its entry points. */
	uint64_t last_place;
	size_t last_entry; /* its path entry */
	struct slice path, file, distribution, version, shadowed_by;
	/* The last path entry opened, and its tree, NULL if it cannot be opened. */
	const struct path_entry *opened_for;
	struct tree *opened;
};

/* A distribution that may be in the answer. */
struct candidate {
	size_t entry; /* the index of its path entry */
	uint64_t place;
	bool uncontested; /* no other distribution in the same database has its name */
	const struct distribution_record *of; /* without a normalized name it is never shadowed */
	const struct winner *winner; /* the one that shadows it, set by selection_admits(), or
	                                NULL */
};

struct candidate candidate_of(const struct entrydb *db, size_t entry,
                              const struct distribution_record *distribution);

/* Run the query under the handle's lock; *out is the set filled by selection->fill(). */
int selection_run(struct selection *selection, struct entrydb_set **out, struct error *error);

/* Do group and name match the query? */
static inline bool selection_wants(const struct selection *selection, struct slice group,
                                   struct slice name)
{
	return (slice_is_null(selection->group) || slice_equal(selection->group, group)) &&
	       (slice_is_null(selection->name) || slice_equal(selection->name, name));
}

/* Does the candidate belong in the answer? 1, 0, or an error. */
int selection_admits(struct selection *selection, struct candidate *candidate, struct error *error);

/* Copy the texts of a distribution into the answer, unless it was the last one. */
void selection_set_distribution(struct selection *selection, const struct candidate *candidate);

/* Add its entry point number @ordinal. NULL if out of memory. */
struct entrydb_entry_point *selection_add(struct selection *selection,
                                          const struct candidate *candidate, uint32_t ordinal,
                                          const struct entry_point_record *record);

/* Add entry points from the databases. */
int selection_add_rows(struct selection *selection, struct error *error);

/*
 * Load the valid rows of path entry @index into *out, which the caller frees even after an error;
 * with @listed including entry points, but few columns (reader_listed()).
 */
int selection_rows(struct selection *selection, size_t index, bool listed, struct root_record *out,
                   struct error *error);

/* The tree of @entry, which stays open until another one is opened; NULL with @error. */
struct tree *selection_open(struct selection *selection, const struct path_entry *entry,
                            struct error *error);

/*
 * Complete a scanned distribution: read its entry points, if it had seemed to be shadowed, and,
 * with @headers, name and version.
 */
int selection_read(struct selection *selection, struct path_entry *entry,
                   struct distribution_record *distribution, bool headers, struct error *error);

/* Are the plugins in the database of that path entry valid? The handle's kinds must be loaded. */
bool plugins_in_database(const struct entrydb *db, const struct path_entry *entry);

/* As entrydb_select() and its variants. */
int select_entry_points(struct entrydb *db, const char *group, const char *name,
                        enum select_what what, struct entrydb_set **out, struct error *error);

/* --- shadowing --- */

/*
 * Of distributions with the same normalized name, Python uses the first on the path. The result is
 * cached in the handle until a path entry or a database changes.
 */

/* Call before each answer, with path entries up to date. 0 or ERROR_NOMEM. */
int shadowing_begin(struct entrydb *db, struct error *error);
void shadowing_free(struct shadowing *shadowing);

/* The index of the first path entry for this root of this source, or db->entry_count. */
size_t shadowing_entry_of(const struct entrydb *db, size_t source, int64_t root);

/*
 * Find the first distribution with that name; *out is valid until the next call. @uncontested: the
 * row's mark that no other row of its file has the name; then *out may be NULL, which means that
 * row. 0 or an error.
 */
int shadowing_winner(struct entrydb *db, struct slice name, bool uncontested,
                     const struct winner **out, struct error *error);

#endif

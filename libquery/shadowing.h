/*
 * shadowing.h - which distribution shadows which, and which path entry has which row. Private
 * to libquery/.
 *
 * Of distributions with the same normalized name Python believes the first it meets, on the
 * caller's path and by the caller's rules. What was found out stays with the handle until one
 * of its path entries, or databases, is another.
 */
#ifndef LIBQUERY_SHADOWING_H
#define LIBQUERY_SHADOWING_H

#include "libquery/handle.h"
#include "libquery/result.h"

/* Where a distribution stands in Python's enumeration; @entry: the index of its path entry. */
static inline uint64_t shadowing_place(const struct entrydb *db, size_t entry, uint32_t position,
                                       bool has_metadata)
{
	return place_of(db->rules == ENTRYDB_IM_10_1 && !has_metadata, entry, position);
}

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

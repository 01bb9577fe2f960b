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

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/name_map.h"
#include "libquery/path_entry.h"
#include "libquery/source.h"

/* What is looked through: a handle's path entries, all of them up to date. */
struct shadowing_view {
	const struct path_entry *entries;
	size_t entry_count;
	struct sources *sources;
	bool by_metadata; /* distributions without metadata come after all others */
	unsigned changes; /* grows when a path entry is answered from elsewhere */
};

/* The first distribution of a name. */
struct winner {
	uint64_t place; /* PLACE_NONE: there is none */
	size_t entry;   /* the index of its path entry */
	struct slice directory;
	bool has_asked; /* the databases, too, and not only what was read from the disk */
};

struct shadowing {
	struct shadowing_view view;
	unsigned generation; /* of the sources: the rest holds for this, and view.changes */
	bool one_source;     /* nothing but rows of one file: what is uncontested there has won */
	bool has_read;       /* what was read from the disk is among the winners */
	struct name_map by_name; /* normalized name -> index in winners */
	struct winner *winners;
	size_t winner_count, winner_room;
	struct arena arena;        /* names and directories of rows */
	struct root_holder *roots; /* by source and root */
	size_t root_count;
};

/* Look at @view from now on, whose pointers stay. 0 or ERROR_NOMEM. */
int shadowing_begin(struct shadowing *shadowing, const struct shadowing_view *view,
                    struct error *error);
void shadowing_free(struct shadowing *shadowing);

/* The index of the first path entry that has that root of that source, or view.entry_count. */
size_t shadowing_entry_of(const struct shadowing *shadowing, size_t source, int64_t root);

/* Where a distribution stands in Python's enumeration; @entry: the index of its path entry. */
uint64_t shadowing_place(const struct shadowing *shadowing, size_t entry, uint32_t position,
                         bool has_metadata);

/*
 * *@out: who has that name first; valid until the next call. @uncontested: the row says that no
 * other row of its file has it; then *out may be NULL, and it is that row. 0 or an error.
 */
int shadowing_winner(struct shadowing *shadowing, struct slice name, bool uncontested,
                     const struct winner **out, struct error *error);

#endif

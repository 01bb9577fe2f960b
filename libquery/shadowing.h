/*
 * shadowing.h - which distribution shadows which. Private to libquery/.
 *
 * Of distributions with the same normalized name Python believes the first it meets, on
 * the caller's path and by the caller's rules: so each is compared with the first holder
 * of its name, wherever that lies. Here only places and names are known; who holds a name comes
 * from the providers (offer.h).
 */
#ifndef LIBQUERY_SHADOWING_H
#define LIBQUERY_SHADOWING_H

#include "libquery/handle.h"
#include "libquery/result.h"

/* A distribution that stands somewhere on the path. */
struct claim {
	uint64_t place;
	struct slice normalized_name; /* null: it has none, and nothing shadows it */
	bool uncontested;             /* no other distribution of the same database has its name */
};

/* Who holds a name first? All who have it enter, in any order. */
struct contest {
	struct entrydb *db;
	struct slice name;
	uint64_t best;          /* the place of the first one, or PLACE_NONE */
	size_t entry;           /* the index of its path entry */
	struct slice directory; /* its metadata's; in the arena */
	struct arena arena;
	bool failed; /* no memory */
};

/* Enters all distributions that have the contested name, by contest_enter(). */
typedef int enter_function(struct contest *contest, struct error *error);

/*
 * What was judged last is kept: the entry points of a distribution come one after another.
 * Where there are many contests, so is the outcome of each: all distributions of a path may
 * have one name.
 */
struct shadowing {
	enter_function *enter_holders;
	bool one_source; /* nothing but rows of one file: what is uncontested there has won */
	uint64_t judged; /* the place of the claim, or PLACE_NONE */
	struct contest contest;
	unsigned contests;     /* held, up to those that are kept */
	struct name_map known; /* normalized name -> index in outcomes */
	struct outcome *outcomes;
	size_t outcome_count, outcome_room;
};

/* Where a distribution stands in Python's enumeration; @entry: the index of its path entry. */
uint64_t shadowing_place(const struct entrydb *db, size_t entry, uint32_t position,
                         bool has_metadata);

void shadowing_init(struct shadowing *shadowing, struct entrydb *db, enter_function *enter_holders);
void shadowing_free(struct shadowing *shadowing);

/* Is it hidden by another distribution of its name? 1, 0, or an error. */
int shadowing_hides(struct shadowing *shadowing, const struct claim *claim, struct error *error);

void contest_enter(struct contest *contest, size_t entry, uint32_t position, bool has_metadata,
                   struct slice directory);

#endif

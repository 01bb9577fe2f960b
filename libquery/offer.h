/*
 * offer.h - the seam of a selection: how entry points get into an answer. Private to
 * libquery/.
 *
 *     select.c    asks each provider, puts the answer in order
 *     providers   select_rows.c   what the databases vouch for
 *                 select_scans.c  what was read from the disk
 *     select_plugins.c  a question for plugins instead
 *     offer.c     admits what is offered, or not
 *     shadowing.c shadowed or not
 *
 * A provider offers the entry points that match the question; where it has them from is
 * its own affair. Those who use it know no provider.
 */
#ifndef LIBQUERY_OFFER_H
#define LIBQUERY_OFFER_H

#include "libquery/shadowing.h"

struct selection {
	struct entrydb *db;
	struct slice group, name; /* null: any */
	bool explain;             /* with those that are shadowed */
	bool plugins;             /* not entry points, but plugins: then group is the kind */
	struct shadowing shadowing;
	struct entrydb_set *set;
	/* The texts of the distribution told last, shared by its entry points. */
	uint64_t told;
	struct slice path, file, distribution, version, shadowed_by;
	/* The path entry whose files were read last, and its tree, NULL where it cannot be opened.
	 */
	const struct path_entry *opened_for;
	struct tree *opened;
};

/* An entry point that was admitted; all slices are borrowed. */
struct candidate {
	uint64_t place;   /* of its distribution */
	uint32_t ordinal; /* within its distribution */
	int64_t row;      /* of a database; 0: of none */
	size_t source;    /* of that database */
	const struct path_entry *entry;
	struct slice directory, distribution, version;
	const struct entry_point_record *record;
};

/* Does the answer want this one? 1, 0, or an error. */
int offer_admits(struct selection *selection, const struct claim *claim, struct error *error);

/* Put it into the answer, which keeps copies; to be asked after offer_admits() has admitted it. */
void offer_add(struct selection *selection, const struct candidate *candidate);

/* Report a distribution on which Python would raise; one that is shadowed does no harm. */
int offer_complain(struct selection *selection, const struct claim *claim,
                   const struct path_entry *entry, struct slice directory, struct slice reason,
                   struct error *error);

struct provider {
	/* Offer what matches the question. */
	int (*offer)(struct selection *selection, struct error *error);
	/* Enter the distributions that have the contested name. */
	enter_function *enter;
	/* Report those of path entry @index that cannot be read, if they are its own. */
	int (*complain)(struct selection *selection, size_t index, struct error *error);
};

extern const struct provider rows_provider, scans_provider;

/*
 * A question; @ask_providers is called with a selection for it. What asks for entry points
 * alone is linked without what looks for plugins.
 */
struct request {
	struct slice group, name;
	bool explain, plugins; /* as in struct selection */
	int (*ask_providers)(struct selection *selection, struct error *error);
	struct entrydb_set *set; /* the answer */
};

/* Ask it; as entrydb_select(). */
int offer_ask(struct entrydb *db, struct request request, struct entrydb_set **out,
              entrydb_error *error);

/* Does a database vouch for the plugins of that path entry? The handle's kinds are loaded. */
bool plugins_in_database(const struct entrydb *db, const struct path_entry *entry);

#endif

/*
 * add.h - what the two ways of adding archives share; see catalogue.c and into.c.
 */
#ifndef INDEXER_ADD_H
#define INDEXER_ADD_H

#include "command.h"
#include "databases.h"
#include "json.h"
#include "package.h"
#include "progress.h"
#include "store.h"
#include "writer.h"

struct add {
	const struct options *options;
	char **paths; /* of the archives, as the user spells them, each once */
	size_t count, room;
	struct writer *writer;
	const struct database *database; /* and its first root, for --into */
	struct progress progress;
	struct json *json; /* NULL: no --json */
	struct store_counts stored;
	size_t unchanged, failed, needing_build; /* archives, archives, distributions */
	size_t distributions, entry_points;
};

enum add_state { ADD_ADDED, ADD_UNCHANGED, ADD_FAILED };

/*
 * An archive could not be read: print "entrydb: FILE: reason", and clear @why. Returns 0,
 * or a negative code where there is no point in going on with the others.
 */
int add_failed(struct add *add, const char *path, struct error *why, struct error *error);

/*
 * What was read from the archive at @path: its broken distributions are reported, the
 * others counted.
 */
int add_report(struct add *add, const char *path, const struct root_record *root,
               enum add_state state, struct error *error);

/* Members of the archive that were left out for their paths. */
void add_note_ignored(struct add *add, const struct package *package);

/* The time for a scan of a file on device @dev, from the clock of its file system. */
struct timespec add_time(struct add *add, int64_t dev);

/* Each archive is a root of its own. */
int add_to_catalogue(struct add *add, struct error *error);

/* All are distributions of the one root of @add's database, as if installed there. */
int add_to_site(struct add *add, struct error *error);

#endif

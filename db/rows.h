/*
 * rows.h - from rows to the records of record.h, for reader and writer.
 */
#ifndef DB_ROWS_H
#define DB_ROWS_H

#include "db/record.h"
#include "db/sql.h"

/* The root of that path, without its distributions: 1 found, 0 not. */
int rows_root(struct sql *sql, struct slice path, struct root_record *out, struct error *error);

/* Call @each for every root, by id; a non-zero answer ends the walk and is returned. */
int rows_roots(struct sql *sql, root_each *each, void *payload, struct error *error);

/* What the database says of its file: 1 found, 0 nothing. */
int rows_publication(struct sql *sql, struct publication_record *out, struct error *error);

/*
 * Fill @root, whose id is set, with its distributions in order of position, into its
 * arena; @belongings: with their entry points, plugins and targets, too.
 */
int rows_distributions(struct sql *sql, struct root_record *root, bool belongings,
                       struct error *error);

/*
 * The same with no more of each distribution than its directory, name, version, error and
 * entry points, those without targets.
 */
int rows_listed(struct sql *sql, struct root_record *root, struct error *error);

/* Fill @distribution, whose id is set, with its entry points, into @arena. */
int rows_entry_points(struct sql *sql, struct distribution_record *distribution,
                      struct arena *arena, struct error *error);

/* Fill @root, whose id is set, with its start-up code, into its arena. */
int rows_startups(struct sql *sql, struct root_record *root, struct error *error);

#endif

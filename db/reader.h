/*
 * reader.h - one published database, open for reading.
 *
 * Opened immutable: it takes no lock, writes nothing, and never changes, since
 * a writer replaces the file by another (publish.h). A reader is used by one
 * thread at a time. Slices handed out stay until the next call on the reader.
 */
#ifndef DB_READER_H
#define DB_READER_H

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"
#include "db/carried.h"
#include "db/record.h"

struct reader;

/*
 * Open @file, which is not a link. @owner: besides root and the caller, whose files are
 * believed; or TRUST_NO_OTHER, or TRUST_ANYBODY (trust.h), with which the caller decides
 * by reader_status() for each thing that the file says. ERROR_NOTFOUND when there is no
 * such file, as the file system says; ERROR_PERMISSION when it is not to be believed or
 * may not be read; ERROR_FORMAT when it is damaged, of another version or has another
 * schema; ERROR_INVALID when it is another program's; ERROR_IO and ERROR_NOMEM when it
 * could not be found out.
 */
int reader_open(const char *file, uid_t owner, struct reader **out, struct error *error);
void reader_close(struct reader *reader); /* NULL is accepted */

static inline void cleanup_reader(struct reader **reader) /* for CLEANUP() */
{
	reader_close(*reader);
}

/* The file that is open, as it was when it was opened. */
struct reader_status {
	uid_t owner;
	mode_t mode;          /* the permissions */
	bool is_marked_stale; /* a writer could not update it: see publish_mark_stale() */
};

struct reader_status reader_status(const struct reader *reader);

/* Is the file at the reader's path still the one that is open? Two stats. */
bool reader_is_current(const struct reader *reader);

/* What the database says of its own file: 1 found, 0 nothing. */
int reader_publication(struct reader *reader, struct publication_record *out, struct error *error);

/* Was the file carried since? 1: *out says how; 0: nobody can tell, so it was not. */
int reader_carried(struct reader *reader, struct carried *out, struct error *error);

/* The facts of a root without its distributions: 1 found, 0 not in the database. */
int reader_root(struct reader *reader, struct slice path, struct root_record *out,
                struct error *error);

/* Call @each for every root, by id; a non-zero answer ends the walk and is returned. */
int reader_roots(struct reader *reader, root_each *each, void *payload, struct error *error);

/*
 * Fill @root, whose id is set, with its distributions in order of position, into its
 * arena; @belongings: with their entry points, plugins and targets, too.
 */
int reader_distributions(struct reader *reader, struct root_record *root, bool belongings,
                         struct error *error);

/*
 * The same with no more of each distribution than its directory, name, version, error and
 * entry points, those without targets.
 */
int reader_listed(struct reader *reader, struct root_record *root, struct error *error);

/* Fill @distribution, whose id is set, with its entry points, into @arena. */
int reader_entry_points(struct reader *reader, struct distribution_record *distribution,
                        struct arena *arena, struct error *error);

/* Fill @root, whose id is set, with its start-up code, into its arena. */
int reader_startups(struct reader *reader, struct root_record *root, struct error *error);

/*
 * Start a selection; a null slice selects any. One selection at a time. @plugins: among these:
 * group is the kind, module the object, attr the symbol.
 */
int reader_select(struct reader *reader, bool plugins, struct slice group, struct slice name,
                  struct error *error);

/* 1: @row is filled; 0: no more. */
int reader_next(struct reader *reader, struct reader_row *row, struct error *error);

/* Told of a distribution, by some of its columns; non-zero ends the walk and is returned. */
typedef int reader_each(void *payload, struct distribution_record *row);

/* Call @each for every distribution of that name, in no particular order. */
int reader_holders(struct reader *reader, struct slice normalized_name, reader_each *each,
                   void *payload, struct error *error);

/*
 * Call @each for every distribution of a root that may be called so by its directory, in no
 * particular order: some are not. A null slice: for every one.
 */
int reader_called(struct reader *reader, int64_t root, struct slice normalized_name,
                  reader_each *each, void *payload, struct error *error);

/* The same of the rows of @root, with their errors and sources. */
int reader_sources(struct reader *reader, int64_t root, struct slice normalized_name,
                   reader_each *each, void *payload, struct error *error);

/* Call @each for every broken distribution of a root. */
int reader_broken(struct reader *reader, int64_t root, reader_each *each, void *payload,
                  struct error *error);

/* The target row of an entry point: 1 found, 0 there is none, so it is a Python module. */
int reader_target(struct reader *reader, int64_t entry_point, struct target_record *out,
                  struct error *error);

/* Call @each for every event, oldest first; a non-zero answer ends the walk and is returned. */
int reader_events(struct reader *reader,
                  int (*each)(void *payload, const struct event_record *event), void *payload,
                  struct error *error);

/*
 * Write all that a fleet is sent, as JSON: for each of distributions, entry points, plugins,
 * start-up code and events an array of rows, which are arrays. Text that is no
 * UTF-8 is escaped. *@rows: how many there are.
 */
int reader_document(struct reader *reader, FILE *stream, size_t *rows, struct error *error);

#endif

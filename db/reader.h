/*
 * reader.h - reads one published database.
 *
 * It is opened as immutable: the reader takes no lock and writes nothing, and the file never
 * changes, since writers replace it (publish.h). For one thread at a time. Slices are valid until
 * the next call on the reader.
 */
#ifndef DB_READER_H
#define DB_READER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "db/base/error.h"
#include "db/carried.h"
#include "db/record.h"

struct reader;

/*
 * Open @file, which must not be a link. @owner: an owner that is trusted besides root and the
 * caller, or TRUST_NO_OTHER. ERROR_NOTFOUND only if the file system reports that it does not exist;
 * ERROR_PERMISSION if it is not trusted or cannot be read; ERROR_FORMAT if it is damaged or has
 * another version or schema; ERROR_INVALID if it is another program's; ERROR_IO and ERROR_NOMEM for
 * transient failures.
 */
int reader_open(const char *file, uid_t owner, struct reader **out, struct error *error);
void reader_close(struct reader *reader); /* NULL is accepted */

static inline void cleanup_reader(struct reader **reader) /* for CLEANUP() */
{
	reader_close(*reader);
}

/* The status of the file when it was opened. */
struct reader_status {
	uid_t owner;
	mode_t mode;          /* the permissions */
	bool is_marked_stale; /* a writer could not update it: see publish_mark_stale() */
};

struct reader_status reader_status(const struct reader *reader);

/*
 * Can other users read the published file who could not if it had @mode? In a writer's reader: the
 * file that was copied.
 */
bool reader_must_narrow(const struct reader *reader, mode_t mode);

/* Is the open file still the one at the reader's path? Two stats. */
bool reader_is_current(struct reader *reader);

/* The database's record of its publication: 1 found, 0 none. */
int reader_publication(struct reader *reader, struct publication_record *out, struct error *error);

/*
 * Was the file carried since its publication (carried.h)? 1: *out is set; 0: unknown, so treat it
 * as not carried.
 */
int reader_carried(struct reader *reader, struct carried *out, struct error *error);

/* A root without its distributions: 1 found, 0 not in the database. */
int reader_root(struct reader *reader, struct slice path, struct root_record *out,
                struct error *error);

/* The same by its id; the row of a selection (below) stays valid. */
int reader_root_of(struct reader *reader, int64_t id, struct root_record *out, struct error *error);

/* Call @each for every root in order of id; a non-zero result ends the walk and is returned. */
int reader_roots(struct reader *reader, root_each *each, void *payload, struct error *error);

/*
 * Load the distributions of @root, whose id is set, in order of position, into its arena; with
 * @belongings also their entry points, plugins and targets.
 */
int reader_distributions(struct reader *reader, struct root_record *root, bool belongings,
                         struct error *error);

/*
 * Load only directory, name, version, error and entry points of each distribution, without targets.
 */
int reader_listed(struct reader *reader, struct root_record *root, struct error *error);

/* Load the entry points of @distribution, whose id is set, into @arena. */
int reader_entry_points(struct reader *reader, struct distribution_record *distribution,
                        struct arena *arena, struct error *error);

/* Load the start-up code of @root, whose id is set, into its arena. */
int reader_startups(struct reader *reader, struct root_record *root, struct error *error);

/*
 * Start a selection; a null slice matches any. One selection at a time. With @plugins: of native
 * plugins, whose group is the kind, module the object, attr the symbol.
 */
int reader_select(struct reader *reader, bool plugins, struct slice group, struct slice name,
                  struct error *error);

/* 1: @row is set; 0: the end. */
int reader_next(struct reader *reader, struct reader_row *row, struct error *error);

/* Callback with some columns of a distribution; a non-zero result ends the walk and is returned. */
typedef int reader_each(void *payload, struct distribution_record *row);

/* Call @each for every distribution with this normalized name, in no particular order. */
int reader_named(struct reader *reader, struct slice normalized_name, reader_each *each,
                 void *payload, struct error *error);

/*
 * Call @each, in no particular order, for every distribution of a root whose directory may have
 * this name; the result includes some others. A null slice matches all.
 */
int reader_candidates(struct reader *reader, int64_t root, struct slice normalized_name,
                      reader_each *each, void *payload, struct error *error);

/*
 * Load the distributions of @root with this normalized name into @out, in order of id, with
 * errors and sources, but without versions and what is below them.
 */
int reader_project(struct reader *reader, int64_t root, struct slice normalized_name,
                   struct root_record *out, struct error *error);

/* Call @each for every broken distribution of a root. */
int reader_broken(struct reader *reader, int64_t root, reader_each *each, void *payload,
                  struct error *error);

/* The target of an entry point: 1 found; 0 none, so it is a Python module. */
int reader_target(struct reader *reader, int64_t entry_point, struct target_record *out,
                  struct error *error);

/* Call @each for every event, oldest first; a non-zero result ends the walk and is returned. */
int reader_events(struct reader *reader,
                  int (*each)(void *payload, const struct event_record *event), void *payload,
                  struct error *error);

#endif

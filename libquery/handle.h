/*
 * handle.h - the internals of a handle. Private to libquery/.
 *
 *     entrydb ── entries[]  one per path entry, in the caller's order
 *        │          │ read from a row of a source that is up to date,
 *        │          └ or from a scan of the disk, kept in memory
 *        └────── sources    one per database file
 *
 *     open.c          opens and closes handles
 *     handle.c        runs queries under the lock
 *     source.c        database files
 *     path_entry.c    path entries
 *     locate.c        finds a path entry and the row that describes it
 *     freshness.c     decides before each query whether the row is up to date
 *     select.c        collects entry points from rows and scans
 *     plugins.c       collects native plugins
 *     shadowing.c     decides which distribution shadows which
 *     distributions.c lists all distributions; finds one by name
 *     result.c        immutable results
 *     describe.c      reports the state of the path entries
 *     resolve.c       resolves an entry point to its target
 *     policy.c        decides what may be loaded; policy_file.c parses the rules
 *     load.c          loads a target
 *     registry.c      registered and installed plugins of a group by name
 *     autoload.c      loads a whole group
 *     names.c         enumerations and errors of entrydb.h
 */
#ifndef LIBQUERY_HANDLE_H
#define LIBQUERY_HANDLE_H

#include <pthread.h>
#include <sys/stat.h>

#include "db/base/file.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/entrydb.h"
#include "libquery/policy_file.h"
#include "libquery/result.h"
#include "libquery/source.h"

enum entry_state {
	ENTRY_ABSENT = ENTRYDB_PATH_ABSENT,   /* it does not exist */
	ENTRY_FRESH = ENTRYDB_PATH_FRESH,     /* the rows are valid: the stamp matches */
	ENTRY_CHECKED = ENTRYDB_PATH_CHECKED, /* the rows are valid: each was compared */
	ENTRY_SCANNED = ENTRYDB_PATH_SCANNED, /* some or all were read from the disk */
	ENTRY_UNKNOWN,                        /* not checked yet */
};

#define ROW_INVALID UINT32_MAX /* instead of a position; see row_check.h */

/* A path entry, its row in the database, and the data read from the disk. */
struct path_entry {
	char *spelled;      /* as the caller spelled it */
	char *path;         /* absolute, with the sysroot; NULL if it cannot be resolved */
	char *display;      /* the prefix of file names in results */
	bool relative;      /* resolved again at each refresh */
	bool archive;       /* a catalogued archive: never checked against the disk */
	bool ruled;         /* policy.c knows its environment, which stays the same */
	enum trust_way way; /* to it */

	size_t source;          /* the source of the row, or SOURCE_NONE */
	unsigned generation;    /* of the sources, when the row was looked up */
	struct root_record row; /* with distributions if some are watched or were compared */

	enum entry_state state;
	const char *reason;
	uint32_t *places; /* current positions by the number in the row's id; NULL: as recorded */
	size_t place_count;
	bool nameless;           /* names and versions were not compared with the rows */
	struct root_record read; /* distributions read from the disk */
	struct stamp proven;     /* while the path entry has this stamp, all this is valid, */
	bool is_proven;          /* except for watched rows */
};

/* The first distribution with a name. */
struct winner {
	uint64_t place; /* PLACE_NONE: none */
	size_t entry;   /* the index of its path entry */
	struct slice directory;
	bool has_queried; /* the databases were queried, too, not only the scans */
};

/* The cache of shadowing.c. */
struct shadowing {
	unsigned generation, changes; /* of the sources and the handle when it was filled */
	bool one_source;              /* only rows of one file: uncontested names have one holder */
	bool has_read;                /* the scans are among the winners */
	struct name_map by_name;      /* normalized name -> index in winners */
	struct winner *winners;
	size_t winner_count, winner_room;
	struct arena arena;        /* names and directories of rows */
	struct root_holder *roots; /* maps roots to path entries, sorted; NULL: not filled */
	size_t root_count;
};

struct entrydb {
	pthread_mutex_t lock;
	enum entrydb_rules rules;
	enum entrydb_fresh fresh;
	char *database;             /* of the options, or NULL */
	char *sysroot;              /* of the options, or NULL; also for "/" */
	bool is_impersonal;         /* without the user's own policy: a sysroot, even "/" */
	struct readers readers;     /* of its verdicts: see policy_publish() */
	struct file_sysroot inside; /* while it is locked, with a sysroot */
	const struct file_sysroot *outer;
	char *program; /* of the options, or NULL; for rules of one program */
	unsigned omit; /* of enum entrydb_omit */
	struct sources sources;
	struct scan_seen *seen; /* during refresh(); else NULL */
	unsigned changes;       /* counts changes of the entries' states and scans */
	struct path_entry *entries;
	size_t entry_count, entry_room;
	struct shadowing shadowing;
	struct plugin_kinds *kinds; /* NULL until first used */
	struct policy policy;
};

/* The position of a distribution in Python's order; @entry: the index of its path entry. */
static inline uint64_t shadowing_place(const struct entrydb *db, size_t entry, uint32_t position,
                                       bool has_metadata)
{
	return place_of(db->rules == ENTRYDB_IM_10_1 && !has_metadata, entry, position);
}

/* Lock the handle; meanwhile, paths of this thread are resolved below its sysroot. */
void handle_lock(struct entrydb *db);
void handle_unlock(struct entrydb *db);

/* A query; it may fail because of a database that it marks damaged. */
typedef int handle_function(struct entrydb *db, void *payload, struct error *error);

/*
 * Run a query under the handle's lock. If a database fails, it is marked damaged and the query runs
 * again without it.
 */
int handle_query(struct entrydb *db, handle_function *run, void *payload, struct error *error);

/* May names of distributions be omitted: by the options, and without rules as of the last check? */
bool handle_omits_names(const struct entrydb *db);

/* Initialise an entry from the caller's spelling, in @sysroot (or NULL). */
int entry_init(struct path_entry *entry, const char *spelled, const char *sysroot,
               struct error *error);
void entry_free(struct path_entry *entry);

/* Drop the data read from the disk. */
void entry_forget_read(struct path_entry *entry);

/* Does the entry have valid rows? entry->read may hold more. */
static inline bool entry_has_rows(const struct path_entry *entry)
{
	return entry->state == ENTRY_FRESH || entry->state == ENTRY_CHECKED || entry->places;
}

/* Is row @id valid? If so, *position, the recorded one, is replaced by the current one. */
bool entry_row_is_valid(const struct path_entry *entry, int64_t id, uint32_t *position);

/* Allocate places for the rows of entry->row, all invalid; false if out of memory. */
bool entry_make_places(struct path_entry *entry);

/* Mark row @id as valid, at @position. */
void entry_place_row(struct path_entry *entry, int64_t id, uint32_t position);

/* Bring every path entry up to date at the handle's level; afterwards none is ENTRY_UNKNOWN. */
int refresh(struct entrydb *db, struct error *error);

/*
 * Set entry->path; relative entries follow the current directory. 1: it is set; 0: it cannot be
 * resolved; or a failure.
 */
int locate_path(struct entrydb *db, struct path_entry *entry, struct error *error);

/*
 * Look up the row of the entry, by its spelling, else by its real path. @status: NULL at level
 * trust. Returns 0, with entry->source SOURCE_NONE if there is no row, or an error.
 */
int locate_row(struct entrydb *db, struct path_entry *entry, const struct stat *status,
               struct error *error);

/*
 * The directory to which the paths in the given database are relative, as seen from the sysroot:
 * malloc'd; NULL if out of memory.
 */
char *locate_base(const struct entrydb *db);

/* Does a database exist that may describe @path? 1, 0 or ERROR_NOMEM. */
int locate_database(struct entrydb *db, const char *path, struct error *error);

#endif

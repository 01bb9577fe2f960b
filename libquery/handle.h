/*
 * handle.h - what stands behind an entrydb handle. Private to libquery/.
 *
 *     entrydb ── entries[]  one per path entry, in the caller's order
 *        │          │ either a row of a source that vouches for it,
 *        │          └ or a scan of the disk, kept in memory
 *        └────── sources    one per database file
 *
 *     open.c          opens and closes
 *     handle.c        asks under its lock
 *     source.c        database files
 *     path_entry.c    path entries
 *     locate.c        where an entry is, and which row describes it
 *     freshness.c     decides, before each answer, which of the two an entry is to be
 *                     answered from
 *     select.c        collects the answer, from rows and from what was read
 *     plugins.c       the same for plugins
 *     shadowing.c     which distribution hides which
 *     distributions.c all there is, unjudged; one distribution by its name
 *     result.c        holds the answers
 *     describe.c      where the answers come from
 *     resolve.c       from an entry point to its target
 *     policy.c        the rules about what may be loaded, policy_file.c their text
 *     load.c          and into the process, if policy allows
 *     registry.c      names of a group, registered here or installed
 *     autoload.c      all of a group
 *     names.c         the enumerations and errors of entrydb.h
 */
#ifndef LIBQUERY_HANDLE_H
#define LIBQUERY_HANDLE_H

#include <pthread.h>
#include <sys/stat.h>

#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/entrydb.h"
#include "libquery/policy_file.h"
#include "libquery/result.h"
#include "libquery/source.h"

enum entry_state {
	ENTRY_ABSENT = ENTRYDB_PATH_ABSENT,   /* nothing is there */
	ENTRY_FRESH = ENTRYDB_PATH_FRESH,     /* the rows are right: their stamp is the entry's */
	ENTRY_CHECKED = ENTRYDB_PATH_CHECKED, /* they are: each was compared */
	ENTRY_SCANNED = ENTRYDB_PATH_SCANNED, /* distributions were read from the disk */
	ENTRY_UNKNOWN,                        /* not looked at yet */
};

#define ROW_HOLDS_NOT UINT32_MAX /* instead of a position; see holds.h */

/* What was asked for, which row describes it, and where answers about it come from. */
struct path_entry {
	char *spelled; /* as the caller did */
	char *path;    /* absolute, with the sysroot before it; NULL: it has none */
	char *display; /* what stands before a distribution's directory in its file name */
	bool relative; /* to be resolved again at each refresh */
	bool archive;  /* a catalogued archive: the row is all there is */

	size_t source;          /* whose row describes it, or SOURCE_NONE */
	unsigned generation;    /* of the sources, when the row was looked for */
	struct root_record row; /* with distributions where some are watched, or were compared */

	enum entry_state state;
	const char *reason;
	uint32_t *places; /* positions, by the number in the row's identifier; NULL: as recorded */
	size_t place_count;
	bool nameless; /* whether names and versions are those of the rows, nobody has looked */
	struct root_record read; /* what was read from the disk, in positions among the rows' */
	struct stamp proven;     /* the path entry's: while that stays, all of this is right, */
	bool is_proven;          /* but for rows that are watched */
};

/* The first distribution of a name. */
struct winner {
	uint64_t place; /* PLACE_NONE: there is none */
	size_t entry;   /* the index of its path entry */
	struct slice directory;
	bool has_asked; /* the databases, too, and not only what was read from the disk */
};

/* What shadowing.c has found out. */
struct shadowing {
	unsigned generation, changes; /* of the sources and the handle: the rest holds for these */
	bool one_source; /* nothing but rows of one file: what is uncontested there has won */
	bool has_read;   /* what was read from the disk is among the winners */
	struct name_map by_name; /* normalized name -> index in winners */
	struct winner *winners;
	size_t winner_count, winner_room;
	struct arena arena;        /* names and directories of rows */
	struct root_holder *roots; /* which path entry has which root, sorted; NULL: not known */
	size_t root_count;
};

struct entrydb {
	pthread_mutex_t lock;
	enum entrydb_rules rules;
	enum entrydb_fresh fresh;
	char *database; /* of the options, or NULL */
	char *sysroot;  /* of the options, or NULL */
	char *program;  /* of the options, or NULL: rules may be for one program only */
	unsigned omit;  /* of enum entrydb_omit */
	struct sources sources;
	struct scan_met *met; /* while path entries are brought up to date; else NULL */
	unsigned changes;     /* grows with each entry that is answered from elsewhere */
	struct path_entry *entries;
	size_t entry_count, entry_room;
	struct shadowing shadowing;
	struct plugin_kinds *kinds; /* of plugins; NULL until they are asked for */
	struct policy policy;       /* what may be loaded */
};

/* Where a distribution stands in Python's enumeration; @entry: the index of its path entry. */
static inline uint64_t shadowing_place(const struct entrydb *db, size_t entry, uint32_t position,
                                       bool has_metadata)
{
	return place_of(db->rules == ENTRYDB_IM_10_1 && !has_metadata, entry, position);
}

/* Answers one question; may fail for a database that it then gives up. */
typedef int question(struct entrydb *db, void *payload, struct error *error);

/*
 * Ask under the handle's lock. A database that fails on the way is given up, and the
 * question asked again without it.
 */
int handle_ask(struct entrydb *db, question *ask, void *payload, struct error *error);

/* Has the caller no use for distributions' names, and no rule either, as of the last look? */
bool handle_omits_names(const struct entrydb *db);

/* Make an entry of what the caller spelled, in @sysroot (or NULL). */
int entry_init(struct path_entry *entry, const char *spelled, const char *sysroot,
               struct error *error);
void entry_free(struct path_entry *entry);

/* Drop what was found on the disk. */
void entry_forget_read(struct path_entry *entry);

/* Are there answers in the entry's rows? In entry->read there may be more. */
static inline bool entry_has_rows(const struct path_entry *entry)
{
	return entry->state == ENTRY_FRESH || entry->state == ENTRY_CHECKED || entry->places;
}

/* Does row @id hold? Then *position, as it was recorded, becomes what it is now. */
bool entry_row_holds(const struct path_entry *entry, int64_t id, uint32_t *position);

/* Make places for the rows of entry->row, none of which holds; false without memory. */
bool entry_make_places(struct path_entry *entry);

/* Row @id holds, and stands at @position. */
void entry_place_row(struct path_entry *entry, int64_t id, uint32_t position);

/* Bring every path entry up to date at the handle's level; afterwards none is ENTRY_UNKNOWN. */
int refresh(struct entrydb *db, struct error *error);

/*
 * Where the entry is: relative ones follow the current directory. 1: entry->path is known; 0:
 * there is nothing to look at; or a failure.
 */
int locate_path(struct entrydb *db, struct path_entry *entry, struct error *error);

/*
 * The row of the entry, by its spelling, else by where symbolic links lead. @status is NULL
 * where nobody looks. 0, with entry->source SOURCE_NONE where there is no row, or an error.
 */
int locate_row(struct entrydb *db, struct path_entry *entry, const struct stat *status,
               struct error *error);

/*
 * What the paths in the database that was named are relative to, as those in the sysroot see it:
 * malloc'd; NULL without memory.
 */
char *locate_base(const struct entrydb *db);

/* Is there a database that may describe @path? 1, 0 or ERROR_NOMEM. */
int locate_database(struct entrydb *db, const char *path, struct error *error);

#endif

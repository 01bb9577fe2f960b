/*
 * handle.h - what stands behind an entrydb handle. Private to libquery/.
 *
 *     entrydb ── entries[]  one per path entry, in the caller's order
 *        │          │ either a row of a source that vouches for it,
 *        │          └ or a scan of the disk, kept in memory
 *        └────── sources[]  one per database file
 *
 * handle.c opens and closes; refresh.c decides, before each answer, which of the
 * two an entry is to be answered from; select.c collects and judges; result.c
 * holds the answers; resolve.c follows an entry point to its target.
 */
#ifndef LIBQUERY_HANDLE_H
#define LIBQUERY_HANDLE_H

#include <pthread.h>
#include <sys/types.h>

#include "entrydb.h"
#include "load.h"
#include "name_map.h"
#include "reader.h"
#include "record.h"

#define SOURCE_NONE SIZE_MAX

/* A database file, which may be absent, or be replaced at any time. */
struct source {
	char *file;
	char *base;            /* what relative paths in it are relative to */
	struct reader *reader; /* NULL: absent or unusable; see why */
	struct error why;
	bool damaged; /* the reader is kept only to see when the file is replaced */
	uid_t owner;  /* besides root and the caller: who may have written the file */
};

enum entry_state {
	ENTRY_UNKNOWN, /* not looked at yet */
	ENTRY_FRESH,   /* the row is right: its stamp is the directory's */
	ENTRY_CHECKED, /* the row is right: every distribution was checked */
	ENTRY_SCANNED, /* the row is not, or there is none: read from the disk */
	ENTRY_ABSENT,  /* nothing is there */
};

struct path_entry {
	char *spelled;          /* as the caller did */
	char *path;             /* absolute, with the handle's root before it; NULL: it has none */
	char *display;          /* what stands before a distribution's directory in its file name */
	bool relative;          /* to be resolved again at each refresh */
	bool archive;           /* a catalogued archive: the row is all there is */
	size_t source;          /* whose row describes it, or SOURCE_NONE */
	unsigned generation;    /* of the handle, when the row was looked for */
	struct root_record row; /* with distributions where some change in place, else without */
	struct root_record scanned; /* while state is ENTRY_SCANNED */
	struct root_record reused;  /* rows that the scan took over from the database */
	struct name_map by_name;    /* normalized name -> index in scanned, of the first holder */
	struct stamp compared;      /* the path entry's when all was found to be as in the row; */
	bool compared_stands;       /* that may be believed while the stamp stays */
	enum entry_state state;
	const char *reason;
};

struct entrydb {
	pthread_mutex_t lock;
	enum entrydb_rules rules;
	enum entrydb_fresh fresh;
	char *database; /* of the options, or NULL */
	char *root;     /* of the options, or NULL */
	struct source *sources;
	size_t source_count;
	unsigned generation; /* grows with each file that is opened, or given up, */
	unsigned changes;    /* and with each entry that is answered from elsewhere */
	struct path_entry *entries;
	size_t entry_count;
	struct loader *loader;
};

/* Move @from, which may be empty, to the caller's @to (or NULL), as @code; returns @code. */
int error_export(int code, struct error *from, entrydb_error *to);

/* The source for @file, made and opened at first mention; SOURCE_NONE without memory. */
size_t handle_source(struct entrydb *db, const char *file, uid_t owner);

/* Open a source's file again, if it is there. */
void source_open(struct entrydb *db, struct source *source);

/* Stop using a source whose file turned out to be damaged; it is opened again once replaced. */
void source_give_up(struct entrydb *db, struct source *source, struct error *why);

/* Add a path entry as the caller spelled it. */
int handle_add(struct entrydb *db, const char *spelled, struct error *error);

/* Answers one question; may fail for a database that it then gives up. */
typedef int question(struct entrydb *db, void *payload, struct error *error);

/*
 * Ask under the handle's lock. A database that fails on the way is given up, and the
 * question asked again without it.
 */
int handle_ask(struct entrydb *db, question *ask, void *payload, entrydb_error *error);

/* Bring every path entry up to date at the handle's level; afterwards none is ENTRY_UNKNOWN. */
int refresh(struct entrydb *db, struct error *error);

/* Drop what the entry knows from a scan. */
void entry_forget_scan(struct path_entry *entry);

/* The source's reader, if it can be asked. */
static inline struct reader *source_reader(const struct source *source)
{
	return source->damaged ? NULL : source->reader;
}

/* Does the entry's answer come from a source's rows? */
static inline bool entry_in_database(const struct path_entry *entry)
{
	return entry->state == ENTRY_FRESH || entry->state == ENTRY_CHECKED;
}

#endif

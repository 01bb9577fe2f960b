/*
 * path_entry.h - one path entry of a handle: what was asked for, what is known of it,
 * and where answers about it come from. Private to libquery/.
 */
#ifndef LIBQUERY_PATH_ENTRY_H
#define LIBQUERY_PATH_ENTRY_H

#include "db/base/error.h"
#include "db/record.h"

enum entry_state {
	ENTRY_UNKNOWN, /* not looked at yet */
	ENTRY_FRESH,   /* the row is right: its stamp is the directory's */
	ENTRY_CHECKED, /* the row is right: every distribution was checked */
	ENTRY_SCANNED, /* the row is not, or there is none: read from the disk */
	ENTRY_ABSENT,  /* nothing is there */
};

/* What a distribution is in a path entry that differs from its row, but not in what it says. */
struct standing {
	uint32_t position;
	bool watched;
};

struct path_entry {
	char *spelled;          /* as the caller did */
	char *path;             /* absolute, with the sysroot before it; NULL: it has none */
	char *display;          /* what stands before a distribution's directory in its file name */
	bool relative;          /* to be resolved again at each refresh */
	bool archive;           /* a catalogued archive: the row is all there is */
	size_t source;          /* whose row describes it, or SOURCE_NONE */
	unsigned generation;    /* of the sources, when the row was looked for */
	struct root_record row; /* with distributions where some change in place, else without */
	struct root_record scanned; /* while state is ENTRY_SCANNED */
	struct root_record reused;  /* rows that the scan took over from the database */
	struct stamp compared;      /* the path entry's when all was found to be as in the row; */
	bool compared_stands;       /* that may be believed while the stamp stays; */
	bool nameless; /* but whether names and versions are as in the row, nobody has looked */
	/* While the rows are right but not in their order, by the number in their identifiers; */
	struct standing *standings;
	size_t standing_count;
	uint32_t still_watched; /* and how many of them are watched then */
	enum entry_state state;
	const char *reason;
};

/* Make an entry of what the caller spelled, in @sysroot (or NULL). */
int entry_init(struct path_entry *entry, const char *spelled, const char *sysroot,
               struct error *error);
void entry_free(struct path_entry *entry);

/* Drop what the entry knows from a scan. */
void entry_forget_scan(struct path_entry *entry);

/*
 * The rows are right, but stand here as they do in @scanned, where each has its row's id.
 * False without memory.
 */
bool entry_keep_standings(struct path_entry *entry, const struct root_record *scanned);
void entry_forget_standings(struct path_entry *entry);

/* Where the row of distribution @id, recorded at @position, stands. */
uint32_t entry_position(const struct path_entry *entry, int64_t id, uint32_t position);

/* Is @row, of the entry, compared at each question? */
bool entry_watches(const struct path_entry *entry, const struct distribution_record *row);

/* Does the entry's answer come from a source's rows? */
static inline bool entry_in_database(const struct path_entry *entry)
{
	return entry->state == ENTRY_FRESH || entry->state == ENTRY_CHECKED;
}

#endif

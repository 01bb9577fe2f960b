/*
 * path_entry.h - one path entry of a handle: what was asked for, which row describes it, and
 * where answers about it come from. Private to libquery/.
 */
#ifndef LIBQUERY_PATH_ENTRY_H
#define LIBQUERY_PATH_ENTRY_H

#include "db/base/error.h"
#include "db/record.h"
#include "libquery/entrydb.h"

enum entry_state {
	ENTRY_ABSENT = ENTRYDB_PATH_ABSENT,   /* nothing is there */
	ENTRY_FRESH = ENTRYDB_PATH_FRESH,     /* the rows are right: their stamp is the entry's */
	ENTRY_CHECKED = ENTRYDB_PATH_CHECKED, /* they are: each was compared */
	ENTRY_SCANNED = ENTRYDB_PATH_SCANNED, /* distributions were read from the disk */
	ENTRY_UNKNOWN,                        /* not looked at yet */
};

#define ROW_HOLDS_NOT UINT32_MAX /* instead of a position; see holds.h */

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

#endif

/*
 * result.h - the internals of sets and entry points. Private to libquery/.
 */
#ifndef LIBQUERY_RESULT_H
#define LIBQUERY_RESULT_H

#include <stdint.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/record.h"
#include "libquery/entrydb.h"

#define FIELD_COUNT (ENTRYDB_FIELD_SHADOWED_BY + 1)

/*
 * The position of a distribution in the order of the answer, as one number. From the most
 * significant part: no metadata (for the rules that put those last), the index of the path entry,
 * the position within it.
 */
#define PLACE_NONE UINT64_MAX

static inline uint64_t place_of(bool late, size_t path_entry, uint32_t position)
{
	return (uint64_t)late << 63 | (uint64_t)path_entry << 32 | position;
}

struct entrydb_entry_point {
	struct slice text[FIELD_COUNT]; /* in the set's arena, or literals */
	uint64_t place;
	uint32_t ordinal;    /* within its distribution */
	int priority;        /* by policy, if it was applied */
	int64_t row;         /* its id in the database; 0: from a scan */
	size_t source;       /* the database, in the handle */
	unsigned generation; /* of the handle's sources */
	const void *handle;  /* compared only, never dereferenced */
	bool is_plugin;      /* a native plugin: its module is an object, its attr a symbol */
};

/* The set owns all strings. */
struct entrydb_distribution {
	const char *path, *file, *name, *version, *problem;
	const struct entrydb_set *set;
	size_t first, count; /* its entry points in the set */
};

struct entrydb_set {
	struct arena arena;
	struct entrydb_entry_point *entry_points;
	size_t count, room;
	const char **problems;
	size_t problem_count, problem_room;
	struct entrydb_distribution *distributions; /* of a survey */
	size_t distribution_count, distribution_room;
	bool failed; /* out of memory */
};

/* Append a zeroed entry point; NULL, with set->failed, if out of memory. */
struct entrydb_entry_point *set_add(struct entrydb_set *set);

/* Append a distribution, whose strings the set must own. */
void set_add_distribution(struct entrydb_set *set, const struct entrydb_distribution *added);

/* Copy @text into the set. */
struct slice set_copy(struct entrydb_set *set, struct slice text);

/* Copy @a followed by @b. */
struct slice set_join(struct entrydb_set *set, struct slice a, struct slice b);

/* Copy the fields of a record into an entry point of the set. */
void set_copy_record(struct entrydb_set *set, struct entrydb_entry_point *entry_point,
                     const struct entry_point_record *record);

/* Add the line "file: reason". */
void set_add_problem(struct entrydb_set *set, struct slice file, struct slice reason);

/* The primary sort key; the secondary one is the place. */
enum set_order { SET_BY_PLACE, SET_BY_GROUP, SET_BY_PRIORITY };

/* Sort the entry points. */
void set_sort(struct entrydb_set *set, enum set_order order);

#endif

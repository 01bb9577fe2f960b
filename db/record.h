/*
 * record.h - the model: roots, the distributions in them, their entry points.
 *
 * A scan of the disk makes these records, the writer puts them into the
 * database, the reader brings them back. The memory of a root and all below it
 * belongs to one arena; slices made by a scan end in a NUL that they do not
 * count. Null slices are facts too: a distribution without a version has none.
 */
#ifndef DB_RECORD_H
#define DB_RECORD_H

#include <stdint.h>
#include <stdlib.h>

#include "arena.h"
#include "slice.h"

/* See the identifiers in schema.sql. */
#define DISTRIBUTION_ID_SHIFT 20
#define ENTRY_POINT_ID_SHIFT  24

#define DISTRIBUTIONS_MAX (1u << DISTRIBUTION_ID_SHIFT) /* in one root */
#define ENTRY_POINTS_MAX  (1u << ENTRY_POINT_ID_SHIFT)  /* in one distribution */

/* What one stat says about a root; two are the same root, unchanged, if all are equal. */
struct stamp {
	int64_t mtime, ctime; /* nanoseconds since 1970 */
	int64_t dev;
};

static inline bool stamp_equal(struct stamp a, struct stamp b)
{
	return a.mtime == b.mtime && a.ctime == b.ctime && a.dev == b.dev;
}

enum root_kind {
	ROOT_ABSENT,    /* nothing is there, or nothing that could be read */
	ROOT_DIRECTORY, /* a directory */
	ROOT_ZIP,       /* a zip, egg or wheel, read as stock reads it on sys.path */
	ROOT_ARCHIVE,   /* a package archive, catalogued; never on sys.path */
};

/* What an entry point leads to, where it is worth a row of its own; see target.h. */
struct target_record {
	struct slice kind, state, object, symbol, build_id, sha256;
	int machine;
};

struct entry_point_record {
	struct slice group, name, value;
	struct slice module, attr, extras;  /* null where absent; extras comma-separated */
	const struct target_record *target; /* NULL: a Python module at hand, or not resolved */
};

struct distribution_record {
	int64_t id;             /* of its row; 0 while it has none */
	struct slice directory; /* the child of the root, raw */
	uint32_t position;      /* grows in the order in which stock enumerates the root */
	struct slice normalized_name;
	struct slice name, version;
	struct slice error;
	struct slice record_sha256;
	bool has_metadata, watched, settled;
	bool has_headers; /* name and version have been asked for */
	bool reused;      /* the row with this id is still right: nothing was read */
	int64_t directory_stamp, files_stamp;
	struct entry_point_record *entry_points;
	size_t entry_point_count;
};

struct root_record {
	int64_t id;
	struct slice path; /* as the database spells it */
	enum root_kind kind;
	struct stamp stamp;
	bool settled;
	uint32_t broken, watched;                  /* how many of the distributions */
	struct distribution_record *distributions; /* in stock's order */
	size_t distribution_count;
	struct arena arena;
};

/* Called for each root of a database, without its distributions; non-zero ends the walk. */
typedef int root_each(void *payload, const struct root_record *root);

static inline int distribution_by_position(const void *left, const void *right)
{
	const struct distribution_record *a = left, *b = right;

	return (a->position > b->position) - (a->position < b->position);
}

/* Put the distributions in the order of their positions. */
static inline void root_record_sort(struct root_record *root)
{
	if (root->distribution_count > 1)
		qsort(root->distributions, root->distribution_count, sizeof(*root->distributions),
		      distribution_by_position);
}

/* Release the records; the struct itself is the caller's. */
static inline void root_record_free(struct root_record *root)
{
	arena_free(&root->arena);
	*root = (struct root_record){0};
}

struct event_record {
	struct slice action, root, distribution, old_version, version, detail;
};

#endif

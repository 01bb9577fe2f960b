/*
 * holders.h - which path entry has a root of a database, and which holds a name. Private
 * to libquery/.
 *
 * A few path entries are looked through as they are asked for. A handle on a file may
 * have ten thousand: then tables are made, when they are first needed after something
 * has changed.
 */
#ifndef LIBQUERY_HOLDERS_H
#define LIBQUERY_HOLDERS_H

#include "db/base/name_map.h"
#include "libquery/path_entry.h"

/* A distribution that was read from the disk. */
struct holder {
	size_t entry;
	const struct distribution_record *distribution;
};

/* What is looked through. */
struct holders_view {
	const struct path_entry *entries;
	size_t entry_count;
	bool by_metadata;    /* distributions without metadata come after all others */
	unsigned generation; /* of the sources, */
	unsigned changes;    /* and of the path entries: what was found holds for these */
};

struct holders {
	struct holders_view view;
	struct name_map by_row;  /* struct row_key -> index of the path entry */
	struct row_key *rows;    /* the keys */
	struct name_map by_name; /* normalized name -> index in scanned, of the first holder */
	struct holder *scanned;
	size_t scanned_count, scanned_room;
	bool has_rows, has_names; /* the tables are made */
};

/* Look through @view from now on. */
void holders_look_at(struct holders *holders, const struct holders_view *view);

/* The first path entry that is answered from that root of that source, or entry_count. */
size_t holders_of_root(struct holders *holders, size_t source, int64_t root);

/*
 * The first of the distributions read from the disk that has that name; NULL: none.
 * *failed is set without memory.
 */
const struct holder *holders_of_name(struct holders *holders, struct slice name, bool *failed);

void holders_free(struct holders *holders);

#endif

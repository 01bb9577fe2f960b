/*
 * holders.c - see holders.h.
 */
#include "libquery/holders.h"

#include <stdlib.h>

#include "db/base/array.h"

#define FEW 16 /* path entries that are looked through sooner than a table is made */

struct row_key {
	uint64_t source;
	int64_t root;
};

void holders_free(struct holders *holders)
{
	name_map_free(&holders->by_row);
	name_map_free(&holders->by_name);
	free(holders->rows);
	free(holders->scanned);
	*holders = (struct holders){0};
}

void holders_look_at(struct holders *holders, const struct holders_view *view)
{
	if (holders->view.generation != view->generation || holders->view.changes != view->changes)
		holders_free(holders);
	holders->view = *view;
}

/* --- roots --- */

static bool has_row(const struct path_entry *entry, const struct row_key *key)
{
	return entry_in_database(entry) && entry->source == key->source &&
	       entry->row.id == key->root;
}

static size_t walk_to_root(const struct holders_view *view, const struct row_key *key)
{
	size_t i = 0;

	while (i < view->entry_count && !has_row(&view->entries[i], key))
		i++;
	return i;
}

static struct slice bytes_of(const struct row_key *key)
{
	return (struct slice){(const char *)key, sizeof(*key)};
}

static bool index_rows(struct holders *holders)
{
	const struct holders_view *view = &holders->view;
	bool failed = false;

	free(holders->rows);
	holders->rows = calloc(view->entry_count, sizeof(*holders->rows));
	failed = !holders->rows;
	for (size_t i = 0; !failed && i < view->entry_count; i++) {
		const struct path_entry *entry = &view->entries[i];

		if (!entry_in_database(entry))
			continue;
		holders->rows[i] = (struct row_key){entry->source, entry->row.id};
		name_map_put(&holders->by_row, bytes_of(&holders->rows[i]), (uint32_t)i, &failed);
	}
	if (failed)
		name_map_free(&holders->by_row); /* slow is better than wrong */
	holders->has_rows = !failed;
	return !failed;
}

size_t holders_of_root(struct holders *holders, size_t source, int64_t root)
{
	struct row_key key = {source, root};
	uint32_t at;

	if (holders->view.entry_count <= FEW || (!holders->has_rows && !index_rows(holders)))
		return walk_to_root(&holders->view, &key);
	at = name_map_get(&holders->by_row, bytes_of(&key));
	return at == NAME_MAP_NONE ? holders->view.entry_count : at;
}

/* --- names --- */

static bool put_name(struct holders *holders, size_t entry,
                     const struct distribution_record *distribution)
{
	bool failed = !array_grow(&holders->scanned, holders->scanned_count,
	                          sizeof(*holders->scanned), &holders->scanned_room);

	if (failed)
		return false;
	if (name_map_get(&holders->by_name, distribution->normalized_name) != NAME_MAP_NONE)
		return true;
	holders->scanned[holders->scanned_count] = (struct holder){entry, distribution};
	name_map_put(&holders->by_name, distribution->normalized_name,
	             (uint32_t)holders->scanned_count++, &failed);
	return !failed;
}

static bool put_names_of(struct holders *holders, size_t entry, const struct root_record *scanned,
                         bool by_metadata, bool has_metadata)
{
	bool done = true;

	for (size_t i = 0; done && i < scanned->distribution_count; i++) {
		const struct distribution_record *distribution = &scanned->distributions[i];

		if (slice_is_null(distribution->normalized_name) ||
		    (by_metadata && distribution->has_metadata != has_metadata))
			continue;
		done = put_name(holders, entry, distribution);
	}
	return done;
}

/* Of the distributions of a name, the one that Python meets first is in the map. */
static bool index_names(struct holders *holders)
{
	const struct holders_view *view = &holders->view;
	bool done = true;

	for (int pass = 0; pass <= view->by_metadata; pass++)
		for (size_t i = 0; done && i < view->entry_count; i++)
			done = put_names_of(holders, i, &view->entries[i].scanned,
			                    view->by_metadata, pass == 0);
	return holders->has_names = done;
}

const struct holder *holders_of_name(struct holders *holders, struct slice name, bool *failed)
{
	uint32_t at;

	if (!holders->has_names && !index_names(holders)) {
		name_map_free(&holders->by_name);
		holders->scanned_count = 0;
		*failed = true;
		return NULL;
	}
	at = name_map_get(&holders->by_name, name);
	return at == NAME_MAP_NONE ? NULL : &holders->scanned[at];
}

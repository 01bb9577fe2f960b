/*
 * shadowing.c - finds the first distribution with a name. Most names have a single holder, which
 * the row itself says; for others the databases, once for each name, and the scans are searched.
 */
#include "libquery/select.h"

#include <stdlib.h>

#include "db/base/array.h"

/* --- roots --- */

struct root_holder {
	size_t source;
	int64_t root;
	size_t entry;
};

static int by_root(const void *first, const void *second)
{
	const struct root_holder *a = first, *b = second;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return (a->root > b->root) - (a->root < b->root);
}

/* Path entries with the same root keep their order. */
static int by_root_and_entry(const void *first, const void *second)
{
	const struct root_holder *a = first, *b = second;
	int roots = by_root(a, b);

	return roots ? roots : (a->entry > b->entry) - (a->entry < b->entry);
}

static bool index_roots(struct entrydb *db)
{
	struct root_holder *roots = calloc(db->entry_count + 1, sizeof(*roots));
	size_t count = 0, kept = 0;

	for (size_t i = 0; roots && i < db->entry_count; i++)
		if (entry_has_rows(&db->entries[i]))
			roots[count++] = (struct root_holder){db->entries[i].source,
			                                      db->entries[i].row.id, i};
	if (roots)
		qsort(roots, count, sizeof(*roots), by_root_and_entry);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || by_root(&roots[i], &roots[i - 1]) != 0)
			roots[kept++] = roots[i];
	db->shadowing.roots = roots;
	db->shadowing.root_count = kept;
	return roots != NULL;
}

size_t shadowing_entry_of(const struct entrydb *db, size_t source, int64_t root)
{
	const struct root_holder wanted = {source, root, 0};
	const struct root_holder *found = bsearch(
	        &wanted, db->shadowing.roots, db->shadowing.root_count, sizeof(wanted), by_root);

	return found ? found->entry : db->entry_count;
}

/* --- winners --- */

/* The winner so far for @name, which must outlive it; NULL if out of memory. */
static struct winner *winner_of(struct shadowing *shadowing, struct slice name)
{
	uint32_t fresh = (uint32_t)shadowing->winner_count, at;
	bool failed = !array_grow(&shadowing->winners, shadowing->winner_count,
	                          sizeof(*shadowing->winners), &shadowing->winner_room);

	if (failed)
		return NULL;
	at = name_map_put(&shadowing->by_name, name, fresh, &failed);
	if (failed)
		return NULL;
	if (at == fresh)
		shadowing->winners[shadowing->winner_count++] =
		        (struct winner){.place = PLACE_NONE};
	return &shadowing->winners[at];
}

static bool enter_read(struct entrydb *db)
{
	for (size_t i = 0; i < db->entry_count; i++) {
		const struct root_record *read = &db->entries[i].read;

		for (size_t j = 0; j < read->distribution_count; j++) {
			const struct distribution_record *it = &read->distributions[j];
			uint64_t place = shadowing_place(db, i, it->position, it->has_metadata);
			struct winner *winner;

			if (slice_is_null(it->normalized_name))
				continue;
			winner = winner_of(&db->shadowing, it->normalized_name);
			if (!winner)
				return false;
			if (place < winner->place)
				*winner = (struct winner){place, i, it->directory, false};
		}
	}
	return db->shadowing.has_read = true;
}

struct rows_of_name {
	struct entrydb *db;
	size_t source;
	struct winner *winner;
	bool failed;
};

static int enter_row(void *payload, struct distribution_record *row)
{
	struct rows_of_name *rows = payload;
	struct entrydb *db = rows->db;
	size_t entry = shadowing_entry_of(db, rows->source, ROOT_OF_DISTRIBUTION(row->id));
	uint64_t place;

	if (entry == db->entry_count ||
	    !entry_row_is_valid(&db->entries[entry], row->id, &row->position))
		return 0;
	place = shadowing_place(db, entry, row->position, row->has_metadata);
	if (place < rows->winner->place)
		*rows->winner = (struct winner){
		        place, entry,
		        arena_copy(&db->shadowing.arena, row->directory, &rows->failed), false};
	return 0;
}

static int query_databases(struct entrydb *db, struct slice name, struct winner *winner,
                           struct error *error)
{
	struct rows_of_name rows = {.db = db, .winner = winner};
	int code = 0;

	for (rows.source = 0; code == 0 && rows.source < db->sources.count; rows.source++) {
		struct reader *reader = source_reader(&db->sources.items[rows.source]);

		if (reader)
			code = reader_named(reader, name, enter_row, &rows, error);
		code = sources_check(&db->sources, rows.source, code, error);
	}
	winner->has_queried = code == 0;
	return code == 0 && rows.failed ? error_nomem(error) : code;
}

int shadowing_winner(struct entrydb *db, struct slice name, bool uncontested,
                     const struct winner **out, struct error *error)
{
	struct shadowing *shadowing = &db->shadowing;
	struct winner *winner;
	bool failed = false;
	uint32_t at;
	int code = 0;

	*out = NULL;
	if (uncontested && shadowing->one_source)
		return 0;
	if (!shadowing->has_read && !enter_read(db))
		return error_nomem(error);
	at = name_map_get(&shadowing->by_name, name);
	if (at == NAME_MAP_NONE) {
		name = arena_copy(&shadowing->arena, name, &failed);
		winner = failed ? NULL : winner_of(shadowing, name);
	} else {
		winner = &shadowing->winners[at];
	}
	if (!winner)
		return error_nomem(error);
	if (!winner->has_queried)
		code = query_databases(db, name, winner, error);
	*out = winner;
	return code;
}

/* --- beginning --- */

void shadowing_free(struct shadowing *shadowing)
{
	name_map_free(&shadowing->by_name);
	free(shadowing->winners);
	free(shadowing->roots);
	arena_free(&shadowing->arena);
	*shadowing = (struct shadowing){0};
}

int shadowing_begin(struct entrydb *db, struct error *error)
{
	struct shadowing *shadowing = &db->shadowing;

	if (shadowing->roots && shadowing->generation == db->sources.generation &&
	    shadowing->changes == db->changes)
		return 0;
	shadowing_free(shadowing);
	if (!index_roots(db))
		return error_nomem(error);
	shadowing->generation = db->sources.generation;
	shadowing->changes = db->changes;
	/* Path entries without rows do not count. */
	shadowing->one_source =
	        shadowing->root_count == 0 ||
	        shadowing->roots[0].source == shadowing->roots[shadowing->root_count - 1].source;
	for (size_t i = 0; i < db->entry_count; i++)
		shadowing->one_source &= db->entries[i].read.distribution_count == 0;
	return 0;
}

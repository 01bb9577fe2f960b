/*
 * shadowing.c - who has a name first. Most names have one holder only, which a row of the
 * database says of itself; the others are looked for in the databases, each name once, and among
 * what was read from the disk.
 */
#include "libquery/shadowing.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "libquery/result.h"

struct root_holder {
	size_t source;
	int64_t root;
	size_t entry;
};

uint64_t shadowing_place(const struct shadowing *shadowing, size_t entry, uint32_t position,
                         bool has_metadata)
{
	return place_of(shadowing->view.by_metadata && !has_metadata, entry, position);
}

/* --- roots --- */

static int by_root(const void *first, const void *second)
{
	const struct root_holder *a = first, *b = second;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return (a->root > b->root) - (a->root < b->root);
}

static int by_root_and_entry(const void *first, const void *second)
{
	const struct root_holder *a = first, *b = second;
	int order = by_root(a, b);

	return order ? order : (a->entry > b->entry) - (a->entry < b->entry);
}

/* Of path entries with the same root, the first keeps it. */
static bool index_roots(struct shadowing *shadowing)
{
	const struct shadowing_view *view = &shadowing->view;
	size_t count = 0, kept = 0;

	shadowing->roots = calloc(view->entry_count + 1, sizeof(*shadowing->roots));
	if (!shadowing->roots)
		return false;
	for (size_t i = 0; i < view->entry_count; i++)
		if (entry_has_rows(&view->entries[i]))
			shadowing->roots[count++] = (struct root_holder){
			        view->entries[i].source, view->entries[i].row.id, i};
	qsort(shadowing->roots, count, sizeof(*shadowing->roots), by_root_and_entry);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || by_root(&shadowing->roots[kept - 1], &shadowing->roots[i]) != 0)
			shadowing->roots[kept++] = shadowing->roots[i];
	shadowing->root_count = kept;
	return true;
}

size_t shadowing_entry_of(const struct shadowing *shadowing, size_t source, int64_t root)
{
	const struct root_holder wanted = {source, root, 0};
	const struct root_holder *found =
	        bsearch(&wanted, shadowing->roots, shadowing->root_count, sizeof(wanted), by_root);

	return found ? found->entry : shadowing->view.entry_count;
}

/* --- winners --- */

/* The winner so far of @name, which must stay; NULL without memory. */
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
	if (at == fresh) {
		shadowing->winners[at] = (struct winner){.place = PLACE_NONE};
		shadowing->winner_count++;
	}
	return &shadowing->winners[at];
}

static bool enter_read(struct shadowing *shadowing, size_t entry,
                       const struct distribution_record *distribution)
{
	uint64_t place = shadowing_place(shadowing, entry, distribution->position,
	                                 distribution->has_metadata);
	struct winner *winner;

	if (slice_is_null(distribution->normalized_name))
		return true;
	winner = winner_of(shadowing, distribution->normalized_name);
	if (winner && place < winner->place)
		*winner = (struct winner){place, entry, distribution->directory, false};
	return winner != NULL;
}

static bool enter_all_read(struct shadowing *shadowing)
{
	const struct shadowing_view *view = &shadowing->view;

	for (size_t i = 0; i < view->entry_count; i++)
		for (size_t j = 0; j < view->entries[i].read.distribution_count; j++)
			if (!enter_read(shadowing, i, &view->entries[i].read.distributions[j]))
				return false;
	return shadowing->has_read = true;
}

struct rows_of_name {
	struct shadowing *shadowing;
	size_t source;
	struct winner *winner;
	bool failed;
};

static void enter_row(void *payload, const struct reader_holder *holder)
{
	struct rows_of_name *rows = payload;
	struct shadowing *shadowing = rows->shadowing;
	const struct shadowing_view *view = &shadowing->view;
	size_t entry =
	        shadowing_entry_of(shadowing, rows->source, ROOT_OF_DISTRIBUTION(holder->id));
	uint32_t position = holder->position;
	uint64_t place;

	if (entry == view->entry_count ||
	    !entry_row_holds(&view->entries[entry], holder->id, &position))
		return;
	place = shadowing_place(shadowing, entry, position, holder->has_metadata);
	if (place >= rows->winner->place)
		return;
	rows->winner->place = place;
	rows->winner->entry = entry;
	rows->winner->directory = arena_copy(&shadowing->arena, holder->directory, &rows->failed);
}

static int ask_databases(struct shadowing *shadowing, struct slice name, struct winner *winner,
                         struct error *error)
{
	struct sources *sources = shadowing->view.sources;
	struct rows_of_name rows = {.shadowing = shadowing, .winner = winner};
	int code = 0;

	for (rows.source = 0; code == 0 && rows.source < sources->count; rows.source++) {
		struct reader *reader = source_reader(&sources->items[rows.source]);

		if (reader)
			code = reader_holders(reader, name, enter_row, &rows, error);
		code = sources_check(sources, rows.source, code, error);
	}
	winner->has_asked = code == 0;
	return code == 0 && rows.failed ? error_nomem(error) : code;
}

int shadowing_winner(struct shadowing *shadowing, struct slice name, bool uncontested,
                     const struct winner **out, struct error *error)
{
	struct winner *winner;
	bool failed = false;
	uint32_t at;
	int code = 0;

	*out = NULL;
	if (uncontested && shadowing->one_source)
		return 0;
	if (!shadowing->has_read && !enter_all_read(shadowing))
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
	if (!winner->has_asked)
		code = ask_databases(shadowing, name, winner, error);
	*out = winner;
	return code;
}

/* --- beginning --- */

/* Does everything come from rows of one file? What was found empty does not count. */
static bool has_one_source(const struct shadowing_view *view)
{
	size_t source = SOURCE_NONE;

	for (size_t i = 0; i < view->entry_count; i++) {
		const struct path_entry *entry = &view->entries[i];

		if (entry->read.distribution_count > 0)
			return false;
		if (!entry_has_rows(entry))
			continue;
		if (source != SOURCE_NONE && source != entry->source)
			return false;
		source = entry->source;
	}
	return true;
}

void shadowing_free(struct shadowing *shadowing)
{
	name_map_free(&shadowing->by_name);
	free(shadowing->winners);
	free(shadowing->roots);
	arena_free(&shadowing->arena);
	*shadowing = (struct shadowing){0};
}

int shadowing_begin(struct shadowing *shadowing, const struct shadowing_view *view,
                    struct error *error)
{
	if (shadowing->roots && shadowing->generation == view->sources->generation &&
	    shadowing->view.changes == view->changes)
		return 0;
	shadowing_free(shadowing);
	shadowing->view = *view;
	shadowing->generation = view->sources->generation;
	shadowing->one_source = has_one_source(view);
	return index_roots(shadowing) ? 0 : error_nomem(error);
}

/*
 * shadowing.c - see shadowing.h.
 *
 * Most names have one holder only, which a row of the database says of itself: then
 * nobody is asked.
 */
#include "libquery/shadowing.h"

#include "db/base/array.h"

#define KEPT_AFTER 8 /* contests */

uint64_t shadowing_place(const struct entrydb *db, size_t entry, uint32_t position,
                         bool has_metadata)
{
	return place_of(db->rules == ENTRYDB_IM_10_1 && !has_metadata, entry, position);
}

/* --- contests --- */

void contest_enter(struct contest *contest, size_t entry, uint32_t position, bool has_metadata,
                   struct slice directory)
{
	uint64_t place = shadowing_place(contest->db, entry, position, has_metadata);

	if (place >= contest->best)
		return;
	contest->best = place;
	contest->entry = entry;
	contest->directory = arena_copy(&contest->arena, directory, &contest->failed);
}

static int hold_contest(struct shadowing *shadowing, const struct claim *claim, struct error *error)
{
	struct contest *contest = &shadowing->contest;
	int code;

	contest->name = claim->normalized_name;
	contest->best = PLACE_NONE;
	code = shadowing->enter_holders(contest, error);
	return code == 0 && contest->failed ? error_nomem(error) : code;
}

/* How a contest ended. */
struct outcome {
	uint64_t best;
	size_t entry;
	struct slice directory;
};

static bool recall(struct shadowing *shadowing, struct slice name)
{
	uint32_t at = name_map_get(&shadowing->known, name);
	const struct outcome *outcome;

	if (at == NAME_MAP_NONE)
		return false;
	outcome = &shadowing->outcomes[at];
	shadowing->contest.best = outcome->best;
	shadowing->contest.entry = outcome->entry;
	shadowing->contest.directory = outcome->directory;
	return true;
}

static bool remember(struct shadowing *shadowing, struct slice name)
{
	struct contest *contest = &shadowing->contest;
	bool failed = !array_grow(&shadowing->outcomes, shadowing->outcome_count,
	                          sizeof(*shadowing->outcomes), &shadowing->outcome_room);
	struct slice copy = arena_copy(&contest->arena, name, &failed);

	if (failed)
		return false;
	shadowing->outcomes[shadowing->outcome_count] =
	        (struct outcome){contest->best, contest->entry, contest->directory};
	name_map_put(&shadowing->known, copy, (uint32_t)shadowing->outcome_count++, &failed);
	return !failed;
}

/* The first few are held without a table: most questions have no more. */
static int decide(struct shadowing *shadowing, const struct claim *claim, struct error *error)
{
	int code;

	if (shadowing->contests < KEPT_AFTER) {
		shadowing->contests++;
		return hold_contest(shadowing, claim, error);
	}
	if (recall(shadowing, claim->normalized_name))
		return 0;
	code = hold_contest(shadowing, claim, error);
	if (code == 0 && !remember(shadowing, claim->normalized_name))
		return error_nomem(error);
	return code;
}

/* --- shadowing --- */

/* Does everything come from rows of one file? Scans that found nothing do not count. */
static bool has_one_source(const struct entrydb *db)
{
	size_t source = SOURCE_NONE;

	for (size_t i = 0; i < db->entry_count; i++) {
		const struct path_entry *entry = &db->entries[i];

		if (entry->state == ENTRY_ABSENT ||
		    (entry->state == ENTRY_SCANNED && entry->scanned.distribution_count == 0))
			continue;
		if (entry->state == ENTRY_SCANNED ||
		    (source != SOURCE_NONE && source != entry->source))
			return false;
		source = entry->source;
	}
	return true;
}

void shadowing_init(struct shadowing *shadowing, struct entrydb *db, enter_function *enter_holders)
{
	*shadowing = (struct shadowing){
	        .enter_holders = enter_holders,
	        .one_source = has_one_source(db),
	        .judged = PLACE_NONE,
	        .contest = {.db = db},
	};
}

void shadowing_free(struct shadowing *shadowing)
{
	arena_free(&shadowing->contest.arena);
	name_map_free(&shadowing->known);
	free(shadowing->outcomes);
}

int shadowing_hides(struct shadowing *shadowing, const struct claim *claim, struct error *error)
{
	if (slice_is_null(claim->normalized_name) || (claim->uncontested && shadowing->one_source))
		return 0;
	if (shadowing->judged != claim->place) {
		int code = decide(shadowing, claim, error);

		if (code < 0)
			return code;
		shadowing->judged = claim->place;
	}
	return shadowing->contest.best < claim->place;
}

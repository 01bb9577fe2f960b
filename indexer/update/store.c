/*
 * Updates the rows of a root with as few writes as possible, and logs the changes (events.h).
 */
#include "indexer/update/store.h"

#include <stdlib.h>

#include "db/base/name_map.h"
#include "indexer/update/events.h"

#define POSITION_GAP 1024u               /* between positions, initially */
#define POSITION_MAX ((uint32_t)1 << 31) /* place_of() has 32 bits for them */

/* The fate of a known distribution; its row is kept only if it STAYS. */
enum fate { REMOVED, REPLACED, STAYS };

struct store {
	struct writer *writer;
	struct root_record *root;
	const struct root_record *known; /* NULL: the root is new */
	struct store_counts *counts;
	struct events events;
	struct name_map by_directory, by_name; /* -> index in known; see identity() */
	enum fate *fates;                      /* of known */
	struct error *error;
};

/* The name that identifies a distribution across versions. */
static struct slice identity(const struct distribution_record *distribution)
{
	return slice_is_null(distribution->normalized_name) ? distribution->directory
	                                                    : distribution->normalized_name;
}

/* The row with the same directory; SIZE_MAX if there is none. */
static size_t find_row(const struct store *store, const struct distribution_record *now)
{
	uint32_t at = now->id ? name_map_get(&store->by_directory, now->directory) : NAME_MAP_NONE;

	return at == NAME_MAP_NONE ? SIZE_MAX : at;
}

/* The previous row of a distribution: with the same directory, by its id, or with the same name. */
static size_t find_old(struct store *store, const struct distribution_record *now)
{
	uint32_t at;

	if (now->id)
		return find_row(store, now);
	at = name_map_get(&store->by_name, identity(now));
	return at == NAME_MAP_NONE || store->fates[at] ? SIZE_MAX : at;
}

/* Unchanged, and read again only because it was not settled. */
static bool same_stamps(const struct distribution_record *a, const struct distribution_record *b)
{
	return a->directory_stamp == b->directory_stamp && a->files_stamp == b->files_stamp &&
	       slice_equal(a->version, b->version);
}

static int log_new(struct store *store, const struct distribution_record *now)
{
	const struct distribution_record *old;
	size_t at;

	if (!store->known)
		return 0;
	at = find_old(store, now);
	if (at == SIZE_MAX) {
		store->counts->added++;
		return events_distribution(&store->events, NULL, now);
	}
	old = &store->known->distributions[at];
	store->fates[at] = old->id == now->id ? STAYS : REPLACED;
	if (store->fates[at] == STAYS && same_stamps(old, now))
		return 0;
	store->counts->changed++;
	return events_distribution(&store->events, old, now);
}

/* --- positions --- */

/* The position of its kept row if greater than @least; else 0. */
static uint32_t kept_position(struct store *store, const struct distribution_record *now,
                              uint32_t least)
{
	size_t at = find_row(store, now);
	uint32_t position = at == SIZE_MAX ? 0 : store->known->distributions[at].position;

	return position > least ? position : 0;
}

/* Distribute the positions from @first to before @next evenly between @low and @high. */
static bool spread(struct root_record *root, size_t first, size_t next, uint32_t low, uint32_t high)
{
	uint32_t step = (high - low) / (uint32_t)(next - first + 1);

	for (size_t i = first; i < next; i++)
		root->distributions[i].position = low + step * (uint32_t)(i - first + 1);
	return step > 0;
}

/*
 * Rows that keep their order keep their positions, and new ones get positions in the gaps or after
 * the last: so one more distribution changes one row, not half of them. If a gap is too small, all
 * are renumbered.
 */
static void number(struct store *store)
{
	struct root_record *root = store->root;
	size_t count = root->distribution_count, first = 0;
	uint32_t low = 0;

	for (size_t i = 0; i <= count; i++) {
		struct distribution_record *now = i < count ? &root->distributions[i] : NULL;
		uint32_t kept = !now           ? low + (uint32_t)(count - first + 1) * POSITION_GAP
		                : store->known ? kept_position(store, now, low)
		                               : 0;

		if (now && kept == 0 && !now->reused)
			continue;
		if (kept == 0 || kept > POSITION_MAX || !spread(root, first, i, low, kept)) {
			spread(root, 0, count, 0, (uint32_t)(count + 1) * POSITION_GAP);
			return;
		}
		if (now)
			now->position = kept;
		low = kept;
		first = i + 1;
	}
}

/* --- rows --- */

/* At most update the position and stamps. */
static int store_reused(struct store *store, const struct distribution_record *now)
{
	size_t at = find_row(store, now);
	const struct distribution_record *old = &store->known->distributions[at];

	store->fates[at] = STAYS;
	if (old->position == now->position && old->settled == now->settled &&
	    old->watched == now->watched && same_stamps(old, now))
		return 0;
	return writer_anchor_distribution(store->writer, now, store->error);
}

/* Kept rows first: the remaining known rows are then either upgraded or removed. */
static int store_distributions(struct store *store)
{
	struct root_record *root = store->root;
	int code = 0;

	number(store);
	for (size_t i = 0; code == 0 && i < root->distribution_count; i++)
		if (root->distributions[i].reused)
			code = store_reused(store, &root->distributions[i]);
	for (size_t i = 0; code == 0 && i < root->distribution_count; i++)
		if (!root->distributions[i].reused) {
			code = log_new(store, &root->distributions[i]);
			if (code == 0)
				code = writer_put_distribution(
				        store->writer, root, &root->distributions[i], store->error);
		}
	return code;
}

/* Rows of upgraded distributions are dropped, too: the new one has its own. */
static int drop_gone(struct store *store)
{
	int code = 0;

	for (size_t i = 0; code == 0 && store->known && i < store->known->distribution_count; i++) {
		const struct distribution_record *old = &store->known->distributions[i];

		if (store->fates[i] == STAYS)
			continue;
		code = writer_drop_distribution(store->writer, old->id, store->error);
		if (code == 0 && store->fates[i] == REMOVED) {
			store->counts->removed++;
			code = events_distribution(&store->events, old, NULL);
		}
	}
	return code;
}

/* --- start-up code --- */

/* A new root has no events for its lines. */
static int store_startups(struct store *store)
{
	const struct root_record *known = store->known;
	struct root_record nothing = {0};
	int code = 0;

	if (startups_equal(store->root, known ? known : &nothing))
		return 0;
	if (known)
		code = events_startups(&store->events, known, store->root);
	return code < 0 ? code : writer_put_startups(store->writer, store->root, store->error);
}

static bool same_facts(const struct root_record *a, const struct root_record *b)
{
	return a->kind == b->kind && stamp_equal(a->stamp, b->stamp) && a->size == b->size &&
	       a->settled == b->settled && a->distribution_count == b->distribution_count &&
	       a->broken == b->broken && a->watched == b->watched && a->kinds == b->kinds;
}

static int run(struct store *store)
{
	int code = 0;

	store->root->id = store->known ? store->known->id : 0;
	if (!store->known || !same_facts(store->root, store->known))
		code = writer_put_root(store->writer, store->root, store->error);
	if (code == 0)
		code = store_distributions(store);
	if (code == 0)
		code = drop_gone(store);
	if (code == 0)
		code = store_startups(store);
	if (code == 0 && !store->known) {
		store->counts->added += store->root->distribution_count;
		code = events_first_sight(&store->events, store->root);
	}
	store->counts->broken += store->root->broken;
	return code;
}

int store_root(struct writer *writer, struct root_record *root, const struct root_record *known,
               struct store_counts *counts, struct error *error)
{
	struct store store = {
	        .writer = writer,
	        .root = root,
	        .known = known,
	        .counts = counts,
	        .events = {writer, root->path, error},
	        .error = error,
	};
	bool failed = false;
	int code;

	store.fates = calloc((known ? known->distribution_count : 0) + 1, sizeof(*store.fates));
	failed = !store.fates;
	for (uint32_t i = 0; known && !failed && i < known->distribution_count; i++) {
		const struct distribution_record *row = &known->distributions[i];

		name_map_put(&store.by_directory, row->directory, i, &failed);
		name_map_put(&store.by_name, identity(row), i, &failed);
	}
	code = failed ? error_nomem(error) : run(&store);
	free(store.fates);
	name_map_free(&store.by_directory);
	name_map_free(&store.by_name);
	return code;
}

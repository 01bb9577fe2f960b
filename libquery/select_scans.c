/*
 * select_scans.c - the provider of what was read from the disk; see offer.h.
 */
#include "db/base/cleanup.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/tree/tree_open.h"
#include "libquery/offer.h"

static struct claim claim_of(const struct entrydb *db, size_t index,
                             const struct distribution_record *distribution)
{
	return (struct claim){
	        .place = shadowing_place(db, index, distribution->position,
	                                 distribution->has_metadata),
	        .normalized_name = distribution->normalized_name,
	};
}

/* --- offering --- */

static bool matches(const struct selection *selection, const struct entry_point_record *record)
{
	return (slice_is_null(selection->group) || slice_equal(selection->group, record->group)) &&
	       (slice_is_null(selection->name) || slice_equal(selection->name, record->name));
}

/* The tree of @entry; a zip of thousands of distributions is not opened for each of them. */
static struct tree *open_once(struct selection *selection, const struct path_entry *entry,
                              struct error *error)
{
	if (selection->opened_for == entry)
		return selection->opened;
	tree_close(take(selection->opened));
	selection->opened_for = entry;
	return tree_open(entry->path, &selection->opened, error) == 0 ? selection->opened : NULL;
}

/* A scan for a query reads no METADATA; the few distributions that answer are asked now. */
static int read_headers(struct selection *selection, struct path_entry *entry,
                        struct distribution_record *distribution, struct error *error)
{
	struct error own = {0};
	struct tree *tree;

	if (distribution->has_headers || selection->set->nameless)
		return 0;
	tree = open_once(selection, entry, &own);
	if (tree)
		distribution_read_headers(tree, &entry->scanned.arena, distribution, &own);
	return error_move_failure(error, &own);
}

/* What the scan has passed over, if it is not shadowed after all, or is to be told with the others.
 */
static int read_rest(struct selection *selection, size_t index,
                     struct distribution_record *distribution, struct error *error)
{
	struct path_entry *entry = &selection->db->entries[index];
	const struct claim claim = claim_of(selection->db, index, distribution);
	struct error own = {0};
	struct tree *tree;
	int code = offer_admits(selection, &claim, error);

	if (code <= 0)
		return code;
	tree = open_once(selection, entry, &own);
	if (tree && distribution_read_rest(tree, &entry->scanned.arena, distribution, &own) < 0)
		error_set(error, own.code, "%s: %.*s: %s", entry->path,
		          (int)distribution->directory.len, distribution->directory.ptr,
		          error_text(&own));
	else if (own.code)
		return error_move_failure(error, &own);
	code = own.code;
	error_clear(&own);
	return code;
}

static int add_scanned(struct selection *selection, struct path_entry *entry, uint64_t place,
                       struct distribution_record *distribution, size_t ordinal,
                       struct error *error)
{
	int code = read_headers(selection, entry, distribution, error);

	if (code < 0)
		return code;
	offer_add(selection, &(struct candidate){
	                             .place = place,
	                             .ordinal = (uint32_t)ordinal,
	                             .entry = entry,
	                             .directory = distribution->directory,
	                             .distribution = distribution->name,
	                             .version = distribution->version,
	                             .record = &distribution->entry_points[ordinal],
	                     });
	return 0;
}

static int offer_distribution(struct selection *selection, size_t index,
                              struct distribution_record *distribution, struct error *error)
{
	struct path_entry *entry = &selection->db->entries[index];
	const struct claim claim = claim_of(selection->db, index, distribution);

	for (size_t i = 0; i < distribution->entry_point_count; i++) {
		int code = 0;

		if (matches(selection, &distribution->entry_points[i]))
			code = offer_admits(selection, &claim, error);
		if (code > 0)
			code = add_scanned(selection, entry, claim.place, distribution, i, error);
		if (code < 0)
			return code;
	}
	return 0;
}

static int offer(struct selection *selection, struct error *error)
{
	struct entrydb *db = selection->db;
	int code = 0;

	for (size_t i = 0; i < db->entry_count; i++) {
		struct root_record *scanned = &db->entries[i].scanned;

		for (size_t j = 0; code == 0 && j < scanned->distribution_count; j++) {
			struct distribution_record *distribution = &scanned->distributions[j];

			if (distribution->unread)
				code = read_rest(selection, i, distribution, error);
			if (code == 0 && slice_is_null(distribution->error))
				code = offer_distribution(selection, i, distribution, error);
		}
	}
	tree_close(take(selection->opened));
	return code;
}

/* --- contests --- */

static int enter(struct contest *contest, struct error *error)
{
	bool failed = false;
	const struct holder *holder =
	        holders_of_name(&contest->db->holders, contest->name, &failed);

	if (holder)
		contest_enter(contest, holder->entry, holder->distribution->position,
		              holder->distribution->has_metadata, holder->distribution->directory);
	return failed ? error_nomem(error) : 0;
}

/* --- problems --- */

static int complain(struct selection *selection, size_t index, struct error *error)
{
	const struct path_entry *entry = &selection->db->entries[index];
	int code = 0;

	for (size_t i = 0; code == 0 && i < entry->scanned.distribution_count; i++) {
		const struct distribution_record *distribution = &entry->scanned.distributions[i];
		const struct claim claim = claim_of(selection->db, index, distribution);

		if (!slice_is_null(distribution->error))
			code = offer_complain(selection, &claim, entry, distribution->directory,
			                      distribution->error, error);
	}
	return code;
}

const struct provider scans_provider = {offer, enter, complain};

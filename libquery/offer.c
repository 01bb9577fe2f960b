/*
 * offer.c - see offer.h.
 */
#include "libquery/offer.h"

int offer_admits(struct selection *selection, const struct claim *claim, struct error *error)
{
	int shadowed = shadowing_hides(&selection->shadowing, claim, error);

	if (shadowed < 0)
		return shadowed;
	return !shadowed || selection->explain;
}

/* The metadata of the distribution that shadows the one at @place; null: none does. */
static struct slice shadow_of(const struct selection *selection, uint64_t place)
{
	const struct contest *contest = &selection->shadowing.contest;

	if (selection->shadowing.judged != place || contest->best >= place)
		return (struct slice){0};
	return set_join(selection->set, slice_of(selection->db->entries[contest->entry].display),
	                contest->directory);
}

static void tell_distribution(struct selection *selection, const struct candidate *candidate)
{
	struct entrydb_set *set = selection->set;
	const struct path_entry *entry = candidate->entry;

	if (selection->told == candidate->place)
		return;
	selection->told = candidate->place;
	selection->path = set_copy(set, slice_of(entry->spelled));
	selection->file = set_join(set, slice_of(entry->display), candidate->directory);
	selection->distribution = set_copy(set, candidate->distribution);
	selection->version = set_copy(set, candidate->version);
	selection->shadowed_by = shadow_of(selection, candidate->place);
}

void offer_add(struct selection *selection, const struct candidate *candidate)
{
	struct entrydb_entry_point *added = set_add(selection->set);

	if (!added)
		return;
	tell_distribution(selection, candidate);
	added->place = candidate->place;
	added->ordinal = candidate->ordinal;
	added->handle = selection->db;
	added->is_plugin = selection->plugins;
	added->generation = selection->db->sources.generation;
	added->row = candidate->row;
	added->source = candidate->source;
	added->text[ENTRYDB_FIELD_DISTRIBUTION] = selection->distribution;
	added->text[ENTRYDB_FIELD_VERSION] = selection->version;
	added->text[ENTRYDB_FIELD_PATH] = selection->path;
	added->text[ENTRYDB_FIELD_FILE] = selection->file;
	added->text[ENTRYDB_FIELD_SHADOWED_BY] = selection->shadowed_by;
	set_copy_record(selection->set, added, candidate->record);
}

int offer_complain(struct selection *selection, const struct claim *claim,
                   const struct path_entry *entry, struct slice directory, struct slice reason,
                   struct error *error)
{
	int shadowed = shadowing_hides(&selection->shadowing, claim, error);

	if (shadowed == 0)
		set_add_problem(selection->set,
		                set_join(selection->set, slice_of(entry->display), directory),
		                reason);
	return shadowed < 0 ? shadowed : 0;
}

/*
 * select_rows.c - the provider of what the databases vouch for; see offer.h.
 */
#include "libquery/offer.h"

/* --- offering --- */

bool plugins_in_database(const struct entrydb *db, const struct path_entry *entry)
{
	return entry_in_database(entry) &&
	       (entry->row.kind == ROOT_ARCHIVE || /* which is not read again */
	        entry->row.kinds == scan_kinds(entry->row.kind, db->kinds));
}

static void add_row(struct selection *selection, size_t source, const struct path_entry *entry,
                    uint64_t place, const struct reader_row *row)
{
	const struct slice untold = {0};
	const struct entry_point_record record = {
	        .group = row->group,
	        .name = row->name,
	        .value = row->value,
	        .module = row->module,
	        .attr = row->attr,
	        .extras = row->extras,
	};

	offer_add(selection, &(struct candidate){
	                             .place = place,
	                             .ordinal = row->ordinal,
	                             .row = row->id,
	                             .source = source,
	                             .entry = entry,
	                             .directory = row->directory,
	                             .distribution = entry->nameless ? untold : row->distribution,
	                             .version = entry->nameless ? untold : row->version,
	                             .record = &record,
	                     });
}

static int offer_row(struct selection *selection, size_t source, const struct reader_row *row,
                     struct error *error)
{
	struct entrydb *db = selection->db;
	size_t index = holders_of_root(&db->holders, source, row->root);
	struct claim claim = {
	        .normalized_name = row->normalized_name,
	        .uncontested = !row->contested,
	};
	int code;

	if (index == db->entry_count ||
	    (selection->plugins && !plugins_in_database(db, &db->entries[index])))
		return 0;
	claim.place = shadowing_place(
	        db, index,
	        entry_position(&db->entries[index], row->id >> ENTRY_POINT_ID_SHIFT, row->position),
	        row->has_metadata);
	code = offer_admits(selection, &claim, error);
	if (code > 0)
		add_row(selection, source, &db->entries[index], claim.place, row);
	return code < 0 ? code : 0;
}

static int offer_source(struct selection *selection, size_t index, struct error *error)
{
	struct sources *sources = &selection->db->sources;
	struct reader *reader = source_reader(&sources->items[index]);
	struct reader_row row;
	int code;

	if (!reader)
		return 0;
	code = selection->plugins
	               ? reader_select_plugins(reader, selection->group, selection->name, error)
	               : reader_select(reader, selection->group, selection->name, error);
	if (code < 0)
		return sources_check(sources, index, code, error);
	for (;;) {
		code = sources_check(sources, index, reader_next(reader, &row, error), error);
		if (code <= 0)
			return code;
		code = offer_row(selection, index, &row, error);
		if (code < 0)
			return code;
	}
}

static int offer(struct selection *selection, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < selection->db->sources.count; i++)
		code = offer_source(selection, i, error);
	return code;
}

/* --- contests --- */

struct holders_of_source {
	struct contest *contest;
	size_t source;
};

static void enter_holder(void *payload, const struct reader_holder *holder)
{
	const struct holders_of_source *holders = payload;
	struct entrydb *db = holders->contest->db;
	size_t entry =
	        holders_of_root(&db->holders, holders->source, ROOT_OF_DISTRIBUTION(holder->id));

	if (entry < db->entry_count)
		contest_enter(holders->contest, entry,
		              entry_position(&db->entries[entry], holder->id, holder->position),
		              holder->has_metadata, holder->directory);
}

static int enter(struct contest *contest, struct error *error)
{
	struct sources *sources = &contest->db->sources;
	int code = 0;

	for (size_t i = 0; code == 0 && i < sources->count; i++) {
		struct reader *reader = source_reader(&sources->items[i]);
		struct holders_of_source holders = {contest, i};

		if (reader)
			code = reader_holders(reader, contest->name, enter_holder, &holders, error);
		code = sources_check(sources, i, code, error);
	}
	return code;
}

/* --- problems --- */

struct complaint {
	struct selection *selection;
	size_t index;
	bool failed; /* not the reader, but what was asked about its rows */
	struct error *error;
};

static int complain_of_row(void *payload, const struct reader_problem *problem)
{
	struct complaint *complaint = payload;
	const struct entrydb *db = complaint->selection->db;
	const struct path_entry *entry = &db->entries[complaint->index];
	const struct claim claim = {
	        .place = shadowing_place(db, complaint->index,
	                                 entry_position(entry, problem->id, problem->position),
	                                 problem->has_metadata),
	        .normalized_name = problem->normalized_name,
	};

	int code = offer_complain(complaint->selection, &claim, entry, problem->directory,
	                          problem->error, complaint->error);

	complaint->failed = code < 0;
	return code;
}

/* What stands on the path twice complains once. */
static int complain(struct selection *selection, size_t index, struct error *error)
{
	struct entrydb *db = selection->db;
	const struct path_entry *entry = &db->entries[index];
	struct complaint complaint = {.selection = selection, .index = index, .error = error};
	int code;

	if (!entry_in_database(entry) || entry->row.broken == 0 ||
	    holders_of_root(&db->holders, entry->source, entry->row.id) != index)
		return 0;
	code = reader_broken(db->sources.items[entry->source].reader, entry->row.id,
	                     complain_of_row, &complaint, error);
	return complaint.failed ? code : sources_check(&db->sources, entry->source, code, error);
}

const struct provider rows_provider = {offer, enter, complain};

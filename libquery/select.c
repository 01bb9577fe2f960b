/*
 * select.c - from a question to an answer: collect, judge, order.
 *
 * Rows come from the databases and from scans, in any order. Of distributions
 * with the same normalized name stock believes the first it meets, on the
 * caller's path and by the caller's rules: so each row's distribution is
 * compared with the first holder of its name, wherever that lies. Most names
 * have one holder only, which a row of the database says of itself.
 */
#include <stdlib.h>

#include "distribution.h"
#include "handle.h"
#include "result.h"

struct selection {
	struct entrydb *db;
	struct slice group, name;
	bool explain;
	bool one_source; /* nothing but rows of one file: contested tells all */
	struct entrydb_set *set;
	/* The distribution judged last; its entry points come one after another. */
	uint64_t judged;
	uint64_t winner;
	struct slice winner_file; /* in the set; null until needed */
	/* Its texts, shared by its entries. */
	uint64_t told;
	struct slice distribution, version, file;
};

/* --- places --- */

static uint64_t place_in(const struct entrydb *db, size_t entry, uint32_t position,
                         bool has_metadata)
{
	return place_of(db->rules == ENTRYDB_IM_10_1 && !has_metadata, entry, position);
}

/* The first path entry that is answered from that root of that source, or entry_count. */
static size_t entry_of_root(const struct entrydb *db, size_t source, int64_t root)
{
	size_t i = 0;

	while (i < db->entry_count &&
	       !(entry_in_database(&db->entries[i]) && db->entries[i].source == source &&
	         db->entries[i].row.id == root))
		i++;
	return i;
}

/* --- the winner of a name --- */

struct contest {
	const struct entrydb *db;
	size_t source;
	uint64_t best;
	size_t best_entry;
	struct slice name, directory; /* directory: of the best; in the arena */
	struct arena arena;
	bool failed;
};

static void enter(struct contest *contest, uint64_t place, size_t entry, struct slice directory)
{
	if (place >= contest->best)
		return;
	contest->best = place;
	contest->best_entry = entry;
	contest->directory = arena_copy(&contest->arena, directory, &contest->failed);
}

static void enter_holder(void *payload, const struct reader_holder *holder)
{
	struct contest *contest = payload;
	size_t entry = entry_of_root(contest->db, contest->source, holder->root);

	if (entry < contest->db->entry_count)
		enter(contest, place_in(contest->db, entry, holder->position, holder->has_metadata),
		      entry, holder->directory);
}

static void enter_scanned(struct contest *contest, size_t index)
{
	const struct path_entry *entry = &contest->db->entries[index];
	const struct distribution_record *row;
	uint32_t at;

	if (entry->state != ENTRY_SCANNED)
		return;
	at = name_map_get(&entry->by_name, contest->name);
	if (at == NAME_MAP_NONE)
		return;
	row = &entry->scanned.distributions[at];
	enter(contest, place_in(contest->db, index, row->position, row->has_metadata), index,
	      row->directory);
}

static int find_winner(struct selection *selection, struct slice name, struct error *error)
{
	struct entrydb *db = selection->db;
	struct contest contest = {.db = db, .best = PLACE_NONE, .name = name};
	int code = 0;

	for (size_t i = 0; code == 0 && i < db->source_count; i++) {
		contest.source = i;
		if (source_reader(&db->sources[i]))
			code = reader_holders(db->sources[i].reader, name, enter_holder, &contest,
			                      error);
		if (code == ERROR_FORMAT || code == ERROR_IO)
			source_give_up(db, &db->sources[i], error);
	}
	for (size_t i = 0; i < db->entry_count; i++)
		enter_scanned(&contest, i);
	selection->winner = contest.best;
	if (selection->explain && contest.best != PLACE_NONE && !contest.failed)
		selection->winner_file =
		        set_join(selection->set, slice_of(db->entries[contest.best_entry].display),
		                 contest.directory);
	arena_free(&contest.arena);
	return contest.failed && code == 0 ? error_nomem(error) : code;
}

/* Is the distribution at @place hidden by another of its name? 1, 0, or an error. */
static int is_shadowed(struct selection *selection, uint64_t place, struct slice name,
                       bool uncontested, struct error *error)
{
	if (uncontested && selection->one_source)
		return 0;
	if (selection->judged != place) {
		int code = find_winner(selection, name, error);

		if (code < 0)
			return code;
		selection->judged = place;
	}
	return selection->winner < place;
}

/* --- rows of the database --- */

static void tell_distribution(struct selection *selection, uint64_t place, size_t index,
                              struct slice distribution, struct slice version,
                              struct slice directory)
{
	struct entrydb_set *set = selection->set;

	if (selection->told == place)
		return;
	selection->told = place;
	selection->distribution = set_copy(set, distribution);
	selection->version = set_copy(set, version);
	selection->file = set_join(set, slice_of(selection->db->entries[index].display), directory);
}

static struct entrydb_entry *add_entry(struct selection *selection, uint64_t place, size_t index,
                                       uint32_t ordinal, bool shadowed)
{
	struct entrydb_entry *entry = set_add(selection->set);
	const char *spelled = selection->db->entries[index].spelled;

	if (!entry)
		return NULL;
	entry->place = place;
	entry->ordinal = ordinal;
	entry->handle = selection->db;
	entry->generation = selection->db->generation;
	entry->source = selection->db->entries[index].source;
	entry->text[ENTRYDB_DISTRIBUTION] = selection->distribution;
	entry->text[ENTRYDB_VERSION_TEXT] = selection->version;
	entry->text[ENTRYDB_FILE] = selection->file;
	entry->text[ENTRYDB_PATH] = set_copy(selection->set, slice_of(spelled));
	if (shadowed)
		entry->text[ENTRYDB_SHADOWED_BY] = selection->winner_file;
	return entry;
}

static void add_row(struct selection *selection, const struct reader_row *row, uint64_t place,
                    size_t index, bool shadowed)
{
	struct entrydb_set *set = selection->set;
	struct entrydb_entry *entry;

	tell_distribution(selection, place, index, row->distribution, row->version, row->directory);
	entry = add_entry(selection, place, index, row->ordinal, shadowed);
	if (!entry)
		return;
	entry->row = row->id;
	entry->text[ENTRYDB_GROUP] = set_copy(set, row->group);
	entry->text[ENTRYDB_NAME] = set_copy(set, row->name);
	entry->text[ENTRYDB_VALUE] = set_copy(set, row->value);
	entry->text[ENTRYDB_MODULE] = set_copy(set, row->module);
	entry->text[ENTRYDB_ATTR] = set_copy(set, row->attr);
	entry->text[ENTRYDB_EXTRAS] = set_copy(set, row->extras);
}

static int collect_from_source(struct selection *selection, size_t source, struct error *error)
{
	struct entrydb *db = selection->db;
	struct reader *reader = source_reader(&db->sources[source]);
	struct reader_row row;
	int code, shadowed;

	if (!reader)
		return 0;
	code = reader_select(reader, selection->group, selection->name, error);
	while (code == 0 && (code = reader_next(reader, &row, error)) > 0) {
		size_t index = entry_of_root(db, source, row.root);
		uint64_t place;

		code = 0;
		if (index == db->entry_count)
			continue;
		place = place_in(db, index, row.position, row.has_metadata);
		shadowed =
		        is_shadowed(selection, place, row.normalized_name, !row.contested, error);
		if (shadowed < 0)
			return shadowed;
		if (!shadowed || selection->explain)
			add_row(selection, &row, place, index, shadowed);
	}
	return code;
}

/* --- scans --- */

static bool matches(const struct selection *selection, const struct entry_point_record *record)
{
	return (slice_is_null(selection->group) || slice_equal(selection->group, record->group)) &&
	       (slice_is_null(selection->name) || slice_equal(selection->name, record->name));
}

/* A scan for a query reads no METADATA; the few distributions that answer are asked now. */
static void read_headers(struct selection *selection, struct path_entry *entry,
                         struct distribution_record *distribution)
{
	struct tree *tree;
	int code;

	if (distribution->has_headers)
		return;
	code = tree_open(entry->path, &tree, NULL);
	if (code == 0) {
		code = distribution_read_headers(tree, &entry->scanned.arena, distribution, NULL);
		tree_close(tree);
	}
	if (code == ERROR_NOMEM)
		selection->set->failed = true;
}

static void add_scanned(struct selection *selection, size_t index,
                        struct distribution_record *distribution, uint64_t place, uint32_t ordinal,
                        bool shadowed)
{
	const struct entry_point_record *record = &distribution->entry_points[ordinal];
	struct entrydb_entry *entry;

	read_headers(selection, &selection->db->entries[index], distribution);
	tell_distribution(selection, place, index, distribution->name, distribution->version,
	                  distribution->directory);
	entry = add_entry(selection, place, index, ordinal, shadowed);
	if (entry)
		set_copy_record(selection->set, entry, record);
}

static int collect_from_distribution(struct selection *selection, size_t index,
                                     struct distribution_record *distribution, struct error *error)
{
	uint64_t place =
	        place_in(selection->db, index, distribution->position, distribution->has_metadata);
	int shadowed = -1;

	for (size_t i = 0; i < distribution->entry_point_count; i++) {
		if (!matches(selection, &distribution->entry_points[i]))
			continue;
		if (shadowed < 0)
			shadowed = is_shadowed(selection, place, distribution->normalized_name,
			                       false, error);
		if (shadowed < 0)
			return shadowed;
		if (!shadowed || selection->explain)
			add_scanned(selection, index, distribution, place, (uint32_t)i, shadowed);
	}
	return 0;
}

static int collect_from_scan(struct selection *selection, size_t index, struct error *error)
{
	struct root_record *root = &selection->db->entries[index].scanned;
	int code = 0;

	for (size_t i = 0; code == 0 && i < root->distribution_count; i++)
		if (slice_is_null(root->distributions[i].error))
			code = collect_from_distribution(selection, index, &root->distributions[i],
			                                 error);
	return code;
}

/* --- problems --- */

struct complaint {
	struct selection *selection;
	size_t index;
	struct error *error;
};

/* A broken distribution that is shadowed is never read by stock, and does no harm. */
static int complain(struct complaint *complaint, uint32_t position, bool has_metadata,
                    struct slice name, struct slice directory, struct slice reason)
{
	struct selection *selection = complaint->selection;
	const struct path_entry *entry = &selection->db->entries[complaint->index];
	int shadowed = 0;

	if (!slice_is_null(name))
		shadowed = is_shadowed(
		        selection,
		        place_in(selection->db, complaint->index, position, has_metadata), name,
		        false, complaint->error);
	if (shadowed == 0)
		set_add_problem(selection->set,
		                set_join(selection->set, slice_of(entry->display), directory),
		                reason);
	return shadowed < 0 ? shadowed : 0;
}

static int complain_of_row(void *payload, const struct reader_problem *problem)
{
	return complain(payload, problem->position, problem->has_metadata, problem->normalized_name,
	                problem->directory, problem->error);
}

static int collect_problems(struct selection *selection, size_t index, struct error *error)
{
	struct entrydb *db = selection->db;
	struct path_entry *entry = &db->entries[index];
	struct complaint complaint = {selection, index, error};
	int code = 0;

	if (entry_in_database(entry)) {
		if (entry->row.broken && entry_of_root(db, entry->source, entry->row.id) == index)
			code = reader_broken(db->sources[entry->source].reader, entry->row.id,
			                     complain_of_row, &complaint, error);
		return code;
	}
	for (size_t i = 0;
	     code == 0 && entry->state == ENTRY_SCANNED && i < entry->scanned.distribution_count;
	     i++) {
		const struct distribution_record *row = &entry->scanned.distributions[i];

		if (!slice_is_null(row->error))
			code = complain(&complaint, row->position, row->has_metadata,
			                row->normalized_name, row->directory, row->error);
	}
	return code;
}

/* --- the whole --- */

/* With one file and no scan, a row's own word that its name is uncontested is enough. */
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

static int collect(struct selection *selection, struct error *error)
{
	struct entrydb *db = selection->db;
	int code = 0;

	selection->one_source = has_one_source(db);
	for (size_t i = 0; code == 0 && i < db->source_count; i++) {
		code = collect_from_source(selection, i, error);
		if (code == ERROR_FORMAT || code == ERROR_IO)
			source_give_up(db, &db->sources[i], error);
	}
	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		if (db->entries[i].state == ENTRY_SCANNED)
			code = collect_from_scan(selection, i, error);
	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		code = collect_problems(selection, i, error);
	return code;
}

struct request {
	struct slice group, name;
	bool explain;
	struct entrydb_set *set; /* the answer */
};

static int select_once(struct entrydb *db, void *payload, struct error *error)
{
	struct request *request = payload;
	struct selection selection = {
	        .db = db,
	        .group = request->group,
	        .name = request->name,
	        .explain = request->explain,
	        .set = set_create(),
	        .judged = PLACE_NONE,
	        .told = PLACE_NONE,
	};
	int code = selection.set ? refresh(db, error) : error_nomem(error);

	if (code == 0)
		code = collect(&selection, error);
	if (code == 0 && selection.set->failed)
		code = error_nomem(error);
	if (code < 0) {
		entrydb_set_free(selection.set);
		return code;
	}
	set_sort(selection.set, db->rules == ENTRYDB_PYTHON_3_10);
	request->set = selection.set;
	return 0;
}

static int select_entries(entrydb *db, const char *group, const char *name, bool explain,
                          entrydb_set **out, entrydb_error *error)
{
	struct request request = {slice_of(group), slice_of(name), explain, NULL};
	int code = handle_ask(db, select_once, &request, error);

	if (code == 0)
		*out = request.set;
	return code;
}

int entrydb_select(entrydb *db, const char *group, const char *name, entrydb_set **out,
                   entrydb_error *error)
{
	return select_entries(db, group, name, false, out, error);
}

int entrydb_explain(entrydb *db, const char *group, const char *name, entrydb_set **out,
                    entrydb_error *error)
{
	return select_entries(db, group, name, true, out, error);
}

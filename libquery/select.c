/*
 * select.c - selects entry points: refreshes the path entries, collects unshadowed rows and scanned
 * distributions, and sorts them.
 */
#include "libquery/select.h"

#include "db/base/cleanup.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/layout.h"
#include "libquery/names.h"
#include "libquery/policy.h"

/* --- candidates --- */

struct candidate candidate_of(const struct entrydb *db, size_t entry,
                              const struct distribution_record *distribution)
{
	return (struct candidate){.entry = entry,
	                          .place = shadowing_place(db, entry, distribution->position,
	                                                   distribution->has_metadata),
	                          .of = distribution};
}

int selection_admits(struct selection *selection, struct candidate *candidate, struct error *error)
{
	const struct slice name = candidate->of->normalized_name;
	int code = 0;

	candidate->winner = NULL;
	if (!slice_is_null(name))
		code = shadowing_winner(selection->db, name, candidate->uncontested,
		                        &candidate->winner, error);
	if (candidate->winner && candidate->winner->place >= candidate->place)
		candidate->winner = NULL;
	return code < 0 ? code : !candidate->winner || selection->what == SELECT_EXPLAINED;
}

static struct slice file_of(const struct selection *selection, size_t entry, struct slice directory)
{
	return set_join(selection->set, slice_of(selection->db->entries[entry].display), directory);
}

void selection_set_distribution(struct selection *selection, const struct candidate *candidate)
{
	struct entrydb_set *set = selection->set;
	const struct winner *winner = candidate->winner;

	if (selection->last_place == candidate->place)
		return;
	selection->last_place = candidate->place;
	if (slice_is_null(selection->path) || selection->last_entry != candidate->entry)
		selection->path =
		        set_copy(set, slice_of(selection->db->entries[candidate->entry].spelled));
	selection->last_entry = candidate->entry;
	selection->file = file_of(selection, candidate->entry, candidate->of->directory);
	selection->distribution = set_copy(set, candidate->of->name);
	selection->version = set_copy(set, candidate->of->version);
	selection->shadowed_by =
	        winner ? file_of(selection, winner->entry, winner->directory) : (struct slice){0};
}

struct entrydb_entry_point *selection_add(struct selection *selection,
                                          const struct candidate *candidate, uint32_t ordinal,
                                          const struct entry_point_record *record)
{
	struct entrydb_entry_point *added = set_add(selection->set);

	if (!added)
		return NULL;
	selection_set_distribution(selection, candidate);
	added->place = candidate->place;
	added->ordinal = ordinal;
	added->handle = selection->db;
	added->is_plugin = selection->plugins;
	added->generation = selection->db->sources.generation;
	added->text[ENTRYDB_FIELD_DISTRIBUTION] = selection->distribution;
	added->text[ENTRYDB_FIELD_VERSION] = selection->version;
	added->text[ENTRYDB_FIELD_PATH] = selection->path;
	added->text[ENTRYDB_FIELD_FILE] = selection->file;
	added->text[ENTRYDB_FIELD_SHADOWED_BY] = selection->shadowed_by;
	set_copy_record(selection->set, added, record);
	return added;
}

/* --- rows --- */

bool plugins_in_database(const struct entrydb *db, const struct path_entry *entry)
{
	return entry_has_rows(entry) &&
	       (entry->row.kind == ROOT_ARCHIVE || /* never read again */
	        entry->row.kinds == scan_kinds(entry->row.kind, db->kinds));
}

static int add_row(struct selection *selection, size_t source, struct reader_row *row,
                   struct error *error)
{
	struct entrydb *db = selection->db;
	size_t entry = shadowing_entry_of(db, source, row->root);
	struct entrydb_entry_point *added;
	struct candidate candidate;
	int code;

	if (entry == db->entry_count ||
	    !entry_row_is_valid(&db->entries[entry], row->id >> ENTRY_POINT_ID_SHIFT,
	                        &row->distribution.position) ||
	    (selection->plugins && !plugins_in_database(db, &db->entries[entry])))
		return 0;
	candidate = candidate_of(db, entry, &row->distribution);
	candidate.uncontested = !row->contested;
	if (db->entries[entry].nameless)
		row->distribution.name = row->distribution.version = (struct slice){0};
	code = selection_admits(selection, &candidate, error);
	if (code <= 0)
		return code;
	added = selection_add(selection, &candidate, row->ordinal, &row->entry_point);
	if (added) {
		added->row = row->id;
		added->source = source;
	}
	return 0;
}

static int add_rows_of(struct selection *selection, size_t index, struct error *error)
{
	struct sources *sources = &selection->db->sources;
	struct reader *reader = source_reader(&sources->items[index]);
	struct reader_row row;
	int code;

	if (!reader)
		return 0;
	code = reader_select(reader, selection->plugins, selection->group, selection->name, error);
	if (code < 0)
		return sources_check(sources, index, code, error);
	for (;;) {
		code = sources_check(sources, index, reader_next(reader, &row, error), error);
		if (code <= 0)
			return code;
		code = add_row(selection, index, &row, error);
		if (code < 0)
			return code;
	}
}

int selection_add_rows(struct selection *selection, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < selection->db->sources.count; i++)
		code = add_rows_of(selection, i, error);
	return code;
}

int selection_rows(struct selection *selection, size_t index, bool listed, struct root_record *out,
                   struct error *error)
{
	struct sources *sources = &selection->db->sources;
	const struct path_entry *entry = &selection->db->entries[index];
	struct reader *reader;
	size_t held = 0;
	int code;

	*out = (struct root_record){.id = entry->row.id};
	if (!entry_has_rows(entry))
		return 0;
	out->distribution_count = entry->row.distribution_count;
	reader = sources->items[entry->source].reader;
	code = listed ? reader_listed(reader, out, error)
	              : reader_distributions(reader, out, false, error);
	code = sources_check(sources, entry->source, code, error);
	for (size_t i = 0; code == 0 && i < out->distribution_count; i++) {
		struct distribution_record *row = &out->distributions[i];

		row->has_headers = !entry->nameless;
		if (entry->nameless)
			row->name = row->version = (struct slice){0};
		if (!entry_row_is_valid(entry, row->id, &row->position))
			continue;
		if (held < i)
			out->distributions[held] = *row;
		held++;
	}
	out->distribution_count = held;
	return code;
}

/* --- scanned distributions --- */

/* Cached, so that a zip of thousands of distributions is opened once. */
struct tree *selection_open(struct selection *selection, const struct path_entry *entry,
                            struct error *error)
{
	if (selection->opened_for == entry)
		return selection->opened;
	tree_close(take(selection->opened));
	selection->opened_for = entry;
	return tree_open(entry->path, &selection->opened, error) == 0 ? selection->opened : NULL;
}

int selection_read(struct selection *selection, struct path_entry *entry,
                   struct distribution_record *distribution, bool headers, struct error *error)
{
	struct arena *arena = &entry->read.arena;
	CLEANUP(error_clear) struct error own = {0};
	struct tree *tree;
	int code = 0;

	headers &= !distribution->has_headers;
	if (!headers && !distribution->unread)
		return 0;
	tree = selection_open(selection, entry, &own);
	if (tree && distribution->unread)
		code = distribution_read_rest(tree, arena, distribution, &own);
	if (tree && headers && code >= 0)
		distribution_read_headers(tree, arena, distribution, &own);
	return error_is_failure(own.code) ? error_set(error, own.code, "%s: %.*s: %s", entry->path,
	                                              (int)distribution->directory.len,
	                                              distribution->directory.ptr, error_text(&own))
	                                  : 0;
}

static int add_read(struct selection *selection, size_t index,
                    struct distribution_record *distribution, struct error *error)
{
	struct path_entry *entry = &selection->db->entries[index];
	struct candidate candidate = candidate_of(selection->db, index, distribution);
	int code = distribution->unread ? selection_admits(selection, &candidate, error) : 0;

	if (code > 0)
		code = selection_read(selection, entry, distribution, false, error);
	if (code < 0 || !slice_is_null(distribution->error))
		return code;
	for (size_t i = 0; code == 0 && i < distribution->entry_point_count; i++) {
		const struct entry_point_record *record = &distribution->entry_points[i];

		if (!selection_wants(selection, record->group, record->name))
			continue;
		code = selection_admits(selection, &candidate, error);
		if (code <= 0)
			return code;
		code = selection_read(selection, entry, distribution,
		                      !handle_omits_names(selection->db), error);
		if (code == 0)
			selection_add(selection, &candidate, (uint32_t)i, record);
	}
	return code;
}

/* --- problems --- */

/* Report a distribution on which Python would raise an exception, unless it is shadowed. */
static int add_problem(struct selection *selection, size_t entry,
                       const struct distribution_record *distribution, struct error *error)
{
	struct candidate candidate = candidate_of(selection->db, entry, distribution);
	int code = selection_admits(selection, &candidate, error);

	if (code >= 0 && !candidate.winner)
		set_add_problem(selection->set, file_of(selection, entry, distribution->directory),
		                distribution->error);
	return code < 0 ? code : 0;
}

struct row_problems {
	struct selection *selection;
	size_t entry;
	struct error *error;
};

static int add_row_problem(void *payload, struct distribution_record *row)
{
	const struct row_problems *in = payload;

	if (!entry_row_is_valid(&in->selection->db->entries[in->entry], row->id, &row->position))
		return 0;
	return add_problem(in->selection, in->entry, row, in->error);
}

/* A package index has too many to list them. */
static void add_problem_count(struct selection *selection, const struct path_entry *entry)
{
	char text[64];

	snprintf(text, sizeof(text), "%zu files could not be read; see the view broken",
	         (size_t)entry->row.broken);
	set_add_problem(selection->set, slice_of(entry->display), slice_of(text));
}

static int add_problems_of(struct selection *selection, size_t index, struct error *error)
{
	struct entrydb *db = selection->db;
	const struct path_entry *entry = &db->entries[index];
	const struct root_record *read = &entry->read;
	struct row_problems rows = {selection, index, error};
	int code = 0;

	/* A root that is twice on the path is reported once. */
	if (entry_has_rows(entry) && entry->row.broken > 0 &&
	    shadowing_entry_of(db, entry->source, entry->row.id) == index) {
		if (layout_is_url(slice_of(entry->spelled))) {
			add_problem_count(selection, entry);
			return 0;
		}
		code = sources_check(&db->sources, entry->source,
		                     reader_broken(db->sources.items[entry->source].reader,
		                                   entry->row.id, add_row_problem, &rows, error),
		                     error);
	}
	for (size_t i = 0; code == 0 && i < read->distribution_count; i++)
		if (!slice_is_null(read->distributions[i].error))
			code = add_problem(selection, index, &read->distributions[i], error);
	return code;
}

/* --- the query --- */

static int fill_entry_points(struct selection *selection, struct error *error)
{
	struct entrydb *db = selection->db;
	int code = selection_add_rows(selection, error);

	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		for (size_t j = 0; code == 0 && j < db->entries[i].read.distribution_count; j++)
			code = add_read(selection, i, &db->entries[i].read.distributions[j], error);
	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		code = add_problems_of(selection, i, error);
	if (code == 0 && selection->what >= SELECT_ALLOWED)
		code = policy_apply(db, selection->set, selection->what == SELECT_RANKED, error);
	if (code == 0)
		set_sort(selection->set, selection->what == SELECT_RANKED   ? SET_BY_PRIORITY
		                         : db->rules == ENTRYDB_PYTHON_3_10 ? SET_BY_GROUP
		                                                            : SET_BY_PLACE);
	return code;
}

static int answer(struct entrydb *db, void *payload, struct error *error)
{
	struct selection *selection = payload;
	int code;

	selection->last_place = PLACE_NONE;
	selection->path = (struct slice){0};
	selection->set = calloc(1, sizeof(*selection->set));
	code = selection->set ? 0 : error_nomem(error);
	if (code == 0 && selection->what >= SELECT_ALLOWED)
		code = policy_refresh(db, POLICY_AGE, error);
	if (code == 0)
		code = refresh(db, error);
	if (code == 0)
		code = shadowing_begin(db, error);
	if (code == 0)
		code = selection->fill(selection, error);
	tree_close(take(selection->opened));
	selection->opened_for = NULL;
	if (code == 0 && selection->set->failed)
		code = error_nomem(error);
	if (code < 0)
		entrydb_set_free(take(selection->set));
	return code;
}

int selection_run(struct selection *selection, struct entrydb_set **out, struct error *error)
{
	int code = handle_query(selection->db, answer, selection, error);

	if (code == 0)
		*out = selection->set;
	return code;
}

int select_entry_points(struct entrydb *db, const char *group, const char *name,
                        enum select_what what, struct entrydb_set **out, struct error *error)
{
	struct selection asked = {.db = db,
	                          .fill = fill_entry_points,
	                          .group = slice_of(group),
	                          .name = slice_of(name),
	                          .what = what};

	return selection_run(&asked, out, error);
}

int entrydb_select(entrydb *db, const char *group, const char *name, entrydb_set **out,
                   entrydb_error *error)
{
	return select_entry_points(db, group, name, SELECT_ALL, out, error_inside(error));
}

int entrydb_explain(entrydb *db, const char *group, const char *name, entrydb_set **out,
                    entrydb_error *error)
{
	return select_entry_points(db, group, name, SELECT_EXPLAINED, out, error_inside(error));
}

int entrydb_select_allowed(entrydb *db, const char *group, const char *name, entrydb_set **out,
                           entrydb_error *error)
{
	return select_entry_points(db, group, name, SELECT_ALLOWED, out, error_inside(error));
}

/*
 * survey.c - all that a handle knows, distribution by distribution, shadowed or not.
 *
 * A selection finds a few rows among many; a walk over all of them is served
 * better by reading each path entry once, from the database or from the scan.
 */
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/tree/tree_open.h"
#include "libquery/handle.h"
#include "libquery/result.h"

struct survey {
	struct entrydb *db;
	const struct path_entry *entry;
	struct entrydb_set *set;
	/* Of the distribution that is being added; its entry points share them. */
	struct slice path, file, name, version;
};

static void add_entry_point(struct survey *survey, const struct entry_point_record *record)
{
	struct entrydb_entry_point *added = set_add(survey->set);

	if (!added)
		return;
	added->handle = survey->db;
	added->text[ENTRYDB_FIELD_DISTRIBUTION] = survey->name;
	added->text[ENTRYDB_FIELD_VERSION] = survey->version;
	added->text[ENTRYDB_FIELD_PATH] = survey->path;
	added->text[ENTRYDB_FIELD_FILE] = survey->file;
	set_copy_record(survey->set, added, record);
}

static void add_distribution(struct survey *survey, const struct distribution_record *record)
{
	struct entrydb_set *set = survey->set;
	struct slice problem = set_copy(set, record->error);
	size_t first = set->count, count = slice_is_null(problem) ? record->entry_point_count : 0;

	survey->file = set_join(set, slice_of(survey->entry->display), record->directory);
	survey->name = set_copy(set, record->name);
	survey->version = set_copy(set, record->version);
	for (size_t i = 0; i < count; i++)
		add_entry_point(survey, &record->entry_points[i]);
	set->distributions[set->distribution_count++] = (struct entrydb_distribution){
	        .path = survey->path.ptr,
	        .file = survey->file.ptr,
	        .name = survey->name.ptr,
	        .version = survey->version.ptr,
	        .problem = problem.ptr,
	        .set = set,
	        .first = first,
	        .count = set->count - first,
	};
}

static int add_root(struct survey *survey, const struct root_record *root, struct error *error)
{
	struct entrydb_set *set = survey->set;

	survey->path = set_copy(set, slice_of(survey->entry->spelled));
	if (!set_reserve_distributions(set, root->distribution_count))
		return error_nomem(error);
	for (size_t i = 0; i < root->distribution_count; i++)
		add_distribution(survey, &root->distributions[i]);
	return set->failed ? error_nomem(error) : 0;
}

/* The rows that hold, in a root whose array has room for @more. */
static int take_rows(struct survey *survey, struct root_record *root, size_t more,
                     struct error *error)
{
	const struct path_entry *entry = survey->entry;
	struct sources *sources = &survey->db->sources;
	struct root_record rows = {
	        .id = entry->row.id,
	        .distribution_count = entry->row.distribution_count,
	};
	struct distribution_record *all;
	int code = 0;

	if (entry_has_rows(entry))
		code = sources_check(
		        sources, entry->source,
		        reader_listed(sources->items[entry->source].reader, &rows, error), error);
	else
		rows.distribution_count = 0;
	*root = rows; /* with its arena */
	if (code < 0)
		return code;
	all = arena_calloc(&root->arena, rows.distribution_count + more, sizeof(*all));
	if (!all)
		return error_nomem(error);
	root->distributions = all;
	root->distribution_count = 0;
	for (size_t i = 0; i < rows.distribution_count; i++) {
		struct distribution_record *row = &rows.distributions[i];

		if (entry->nameless)
			row->name = row->version = (struct slice){0};
		if (entry_row_holds(entry, row->id, &row->position))
			all[root->distribution_count++] = *row;
	}
	return 0;
}

/* What is read for a question has no METADATA, and nothing of what seemed to be shadowed. */
static int read_rest(struct tree *tree, struct root_record *read,
                     struct distribution_record *distribution, struct error *error)
{
	int code = 0;

	if (!distribution->has_headers)
		code = distribution_read_headers(tree, &read->arena, distribution, error);
	if (code >= 0 && distribution->unread)
		code = distribution_read_rest(tree, &read->arena, distribution, error);
	return code < 0 ? code : 0;
}

static int read_all_rest(struct path_entry *entry, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	struct error own = {0};
	int code = entry->read.distribution_count > 0 ? tree_open(entry->path, &tree, &own) : 0;

	for (size_t i = 0; code >= 0 && i < entry->read.distribution_count; i++)
		code = read_rest(tree, &entry->read, &entry->read.distributions[i], &own);
	return error_move_failure(error, &own);
}

static int survey_entry(struct survey *survey, struct path_entry *entry, struct error *error)
{
	CLEANUP(root_record_free) struct root_record root = {0};
	int code;

	survey->entry = entry;
	code = take_rows(survey, &root, entry->read.distribution_count, error);
	if (code == 0)
		code = read_all_rest(entry, error);
	if (code < 0)
		return code;
	for (size_t i = 0; i < entry->read.distribution_count; i++)
		root.distributions[root.distribution_count++] = entry->read.distributions[i];
	root_record_sort(&root);
	return add_root(survey, &root, error);
}

/* @out: the caller's pointer to a set. */
static int survey_once(struct entrydb *db, void *out, struct error *error)
{
	struct survey survey = {.db = db, .set = set_create()};
	int code = survey.set ? refresh(db, error) : error_nomem(error);

	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		code = survey_entry(&survey, &db->entries[i], error);
	if (code < 0)
		entrydb_set_free(survey.set);
	else
		*(struct entrydb_set **)out = survey.set;
	return code;
}

int entrydb_survey(entrydb *db, entrydb_set **out, entrydb_error *error)
{
	return handle_ask(db, survey_once, out, error);
}

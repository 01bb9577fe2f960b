/*
 * survey.c - all that a handle knows, distribution by distribution, unjudged.
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

static int add_from_database(struct survey *survey, struct error *error)
{
	struct sources *sources = &survey->db->sources;
	size_t source = survey->entry->source;
	CLEANUP(root_record_free)
	struct root_record root = {
	        .id = survey->entry->row.id,
	        .distribution_count = survey->entry->row.distribution_count,
	};
	int code = reader_listed(sources->items[source].reader, &root, error);

	code = sources_check(sources, source, code, error);
	if (code < 0)
		return code;
	for (size_t i = 0; i < root.distribution_count; i++) {
		struct distribution_record *record = &root.distributions[i];

		record->position = entry_position(survey->entry, record->id, record->position);
		if (survey->entry->nameless)
			record->name = record->version = (struct slice){0};
	}
	root_record_sort(&root);
	return add_root(survey, &root, error);
}

/* A scan for a query has read no METADATA, and nothing of what seemed to be shadowed. */
static int read_rest(struct tree *tree, struct root_record *scanned,
                     struct distribution_record *distribution, struct error *error)
{
	int code = 0;

	if (!distribution->has_headers)
		code = distribution_read_headers(tree, &scanned->arena, distribution, error);
	if (code >= 0 && distribution->unread)
		code = distribution_read_rest(tree, &scanned->arena, distribution, error);
	return code < 0 ? code : 0;
}

static int add_from_scan(struct survey *survey, struct root_record *scanned, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	struct error own = {0};
	int code = tree_open(survey->entry->path, &tree, &own);

	for (size_t i = 0; code >= 0 && i < scanned->distribution_count; i++)
		code = read_rest(tree, scanned, &scanned->distributions[i], &own);
	code = error_move_failure(error, &own);
	return code < 0 ? code : add_root(survey, scanned, error);
}

static int survey_entry(struct survey *survey, struct path_entry *entry, struct error *error)
{
	survey->entry = entry;
	if (entry_in_database(entry))
		return add_from_database(survey, error);
	return entry->state == ENTRY_SCANNED ? add_from_scan(survey, &entry->scanned, error) : 0;
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

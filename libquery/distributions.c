/*
 * distributions.c - all that a handle knows, distribution by distribution, shadowed or not; and one
 * of them by its name, as importlib.metadata.distribution() finds it, with what its METADATA says.
 *
 * A selection finds a few rows among many; a walk over all of them is served better by reading each
 * path entry once, from the database or from what was read. Python looks for a name among the names
 * of directories, path entry by path entry, and believes the first: so does entrydb_find(). What
 * METADATA says is always read from the disk. It may have been edited in place, or be no UTF-8, on
 * which Python would raise; and one file is soon read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/tree/tree_directory.h"
#include "libquery/disk/tree/tree_open.h"
#include "libquery/handle.h"
#include "libquery/names.h"
#include "libquery/result.h"

/* --- all of them --- */

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

/* --- one by its name --- */

struct find {
	struct entrydb *db;
	struct entrydb_set *set;
	struct slice key, egg_key; /* of the name, among directories and of an egg */
	struct arena arena;        /* of all keys */
	const struct path_entry *entry;
	/* The first in it so far, at @position. */
	struct slice directory;
	uint32_t position;
	bool is_found, is_egg;
};

static bool is_called(struct find *find, struct slice directory, bool egg)
{
	struct slice base = slice_of(find->entry->spelled), child = egg ? base : directory, key;
	size_t room = DISTNAME_ROOM(child.len) + 1;
	char *out;

	if (egg ? !distname_is_egg_base(base) || !distname_is_egg_info(directory)
	        : !distname_is_info(directory))
		return false;
	out = arena_alloc(&find->arena, room);
	if (!out) {
		find->set->failed = true;
		return false;
	}
	key.ptr = out;
	key.len = egg ? distname_egg_key(child, out, room) : distname_lookup_key(child, out, room);
	return slice_equal(key, egg ? find->egg_key : find->key);
}

/* Of one entry, an egg's own metadata come after all others. */
static void consider(struct find *find, struct slice directory, uint32_t position)
{
	bool is_info = is_called(find, directory, false);
	bool is_egg = !is_info && is_called(find, directory, true);

	if (!is_info && !is_egg)
		return;
	if (find->is_found &&
	    (find->is_egg < is_egg || (find->is_egg == is_egg && find->position <= position)))
		return;
	find->is_found = true;
	find->is_egg = is_egg;
	find->position = position;
	find->directory = set_copy(find->set, directory);
}

static void consider_row(void *payload, const struct reader_holder *row)
{
	struct find *find = payload;
	uint32_t position = row->position;

	if (entry_row_holds(find->entry, row->id, &position))
		consider(find, row->directory, position);
}

static int find_in_entry(struct find *find, struct error *error)
{
	const struct path_entry *entry = find->entry;
	struct sources *sources = &find->db->sources;
	struct entrydb_set *set = find->set;
	/* The names of what is in a zip are those of METADATA. */
	struct slice name = entry->row.kind == ROOT_DIRECTORY ? find->key : (struct slice){0};
	int code = 0;

	if (entry_has_rows(entry))
		code = sources_check(sources, entry->source,
		                     reader_called(sources->items[entry->source].reader,
		                                   entry->row.id, name, consider_row, find, error),
		                     error);
	for (size_t i = 0; code == 0 && i < entry->read.distribution_count; i++)
		consider(find, entry->read.distributions[i].directory,
		         entry->read.distributions[i].position);
	if (code == 0 && find->is_found && set_reserve_distributions(set, 1))
		set->distributions[set->distribution_count++] = (struct entrydb_distribution){
		        .path = set_copy(set, slice_of(entry->spelled)).ptr,
		        .file = set_join(set, slice_of(entry->display), find->directory).ptr,
		        .set = set,
		};
	return code == 0 && set->failed ? error_nomem(error) : code;
}

struct question_find {
	const char *name;
	struct entrydb_set *out;
};

static int find_once(struct entrydb *db, void *payload, struct error *error)
{
	struct question_find *asked = payload;
	struct slice name = slice_of(asked->name);
	struct find find = {.db = db, .set = set_create(), .arena = ARENA_INIT};
	size_t room = DISTNAME_ROOM(name.len) + 1;
	char *key = arena_alloc(&find.arena, room), *egg_key = arena_alloc(&find.arena, room);
	int code = find.set && key && egg_key ? refresh(db, error) : error_nomem(error);

	if (code == 0) {
		find.key = (struct slice){key, distname_normalize(name, key, room)};
		find.egg_key = (struct slice){egg_key, distname_legacy(name, egg_key, room)};
	}
	for (size_t i = 0; code == 0 && name.len > 0 && !find.is_found && i < db->entry_count;
	     i++) {
		find.entry = &db->entries[i];
		code = find_in_entry(&find, error);
	}
	arena_free(&find.arena);
	if (code < 0)
		entrydb_set_free(find.set);
	else
		asked->out = find.set;
	return code;
}

int entrydb_find(entrydb *db, const char *name, entrydb_set **out, entrydb_error *error)
{
	struct question_find asked = {name, NULL};
	int code = handle_ask(db, find_once, &asked, error);

	if (code == 0)
		*out = asked.out;
	return code;
}

/* --- METADATA --- */

/* The directory before the last slash; nothing but a directory will do. */
static int open_parent(const char *file, const char *slash, struct tree **out, struct error *error)
{
	CLEANUP(cleanup_free)
	char *parent = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;

	if (!parent)
		return error_nomem(error);
	fd = file_open(AT_FDCWD, parent, O_DIRECTORY);
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", parent);
	return tree_open_directory(take_fd(&fd), stamp_of(&status), out, error);
}

static char *text_of(struct slice text)
{
	return slice_is_null(text) || memchr(text.ptr, '\0', text.len)
	               ? NULL
	               : strndup(text.ptr, text.len);
}

int entrydb_read_metadata(const char *file, char **name, char **version, entrydb_error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	const char *slash = strrchr(file, '/');
	struct slice child = slice_of(slash ? slash + 1 : file);
	struct metadata found = {0};
	struct error own = {0};
	int code = open_parent(file, slash, &tree, &own);

	if (code == 0)
		code = distribution_parse_headers(tree, &arena, child, true, &found, &own);
	if (code == 0)
		code = error_set(&own, ERROR_NOTFOUND, "%s: there is no METADATA", file);
	if (code < 0)
		return error_export(code, &own, error);
	*name = text_of(found.name);
	*version = text_of(found.version);
	return 0;
}

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
#include "db/base/path.h"
#include "db/base/text.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/names.h"
#include "libquery/select.h"

/* --- all of them --- */

static int add_distribution(struct selection *selection, size_t index,
                            const struct distribution_record *record)
{
	struct entrydb_set *set = selection->set;
	const struct candidate candidate = {
	        .entry = index,
	        .place = place_of(false, index, record->position),
	        .directory = record->directory,
	        .name = record->name,
	        .version = record->version,
	};
	struct slice problem = set_copy(set, record->error);
	size_t first = set->count, count = slice_is_null(problem) ? record->entry_point_count : 0;
	struct entrydb_distribution *added = set_add_distribution(set);

	if (!added)
		return ERROR_NOMEM;
	selection_tell(selection, &candidate);
	for (size_t i = 0; i < count; i++)
		selection_add(selection, &candidate, (uint32_t)i, &record->entry_points[i]);
	*added = (struct entrydb_distribution){
	        .path = selection->path.ptr,
	        .file = selection->file.ptr,
	        .name = selection->distribution.ptr,
	        .version = selection->version.ptr,
	        .problem = problem.ptr,
	        .set = set,
	        .first = first,
	        .count = set->count - first,
	};
	return 0;
}

static int survey_entry(struct selection *selection, size_t index, struct error *error)
{
	struct path_entry *entry = &selection->db->entries[index];
	CLEANUP(root_record_free) struct root_record root = {0};
	size_t more = entry->read.distribution_count;
	struct distribution_record *all;
	int code = selection_rows(selection, index, true, &root, error);

	for (size_t i = 0; code == 0 && i < more; i++)
		code = selection_read(selection, entry, &entry->read.distributions[i], true, error);
	if (code < 0)
		return code;
	if (more > 0) {
		all = arena_calloc(&root.arena, root.distribution_count + more, sizeof(*all));
		if (!all)
			return error_nomem(error);
		for (size_t i = 0; i < root.distribution_count; i++)
			all[i] = root.distributions[i];
		for (size_t i = 0; i < more; i++)
			all[root.distribution_count++] = entry->read.distributions[i];
		root.distributions = all;
	}
	root_record_sort(&root);
	for (size_t i = 0; i < root.distribution_count; i++)
		if (add_distribution(selection, index, &root.distributions[i]) < 0)
			return error_nomem(error);
	return 0;
}

static int survey_once(struct entrydb *db, void *payload, struct error *error)
{
	struct selection *selection = payload;
	int code = selection_begin(selection, error);

	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		code = survey_entry(selection, i, error);
	return selection_end(selection, code, error);
}

int entrydb_survey(entrydb *db, entrydb_set **out, entrydb_error *error)
{
	struct selection selection = {.db = db};

	return selection_ask(&selection, survey_once, out, error);
}

/* --- one by its name --- */

struct find {
	struct selection selection; /* its name: what is looked for */
	struct slice key, egg_key;  /* of the name, among directories and of an egg */
	struct arena arena;         /* of all keys */
	const struct path_entry *entry;
	/* The first in it so far, at @position; null: none. */
	struct slice directory;
	uint32_t position;
	bool is_egg;
};

typedef size_t make_key(struct slice name, char *out, size_t room);

/* Null without memory. */
static struct slice key_of(struct find *find, struct slice name, make_key *make)
{
	size_t room = DISTNAME_ROOM(name.len) + 1;
	char *key = arena_alloc(&find->arena, room);

	find->selection.set->failed |= !key;
	return key ? (struct slice){key, make(name, key, room)} : (struct slice){0};
}

static bool is_called(struct find *find, struct slice directory, bool egg)
{
	struct slice base = slice_of(find->entry->spelled);

	if (!egg)
		return distname_is_info(directory) &&
		       slice_equal(key_of(find, directory, distname_lookup_key), find->key);
	return distname_is_egg_base(base) && distname_is_egg_info(directory) &&
	       slice_equal(key_of(find, base, distname_egg_key), find->egg_key);
}

/* Of one entry, an egg's own metadata come after all others. */
static void consider(struct find *find, struct slice directory, uint32_t position)
{
	bool is_info = is_called(find, directory, false);
	bool is_egg = !is_info && is_called(find, directory, true);
	bool is_first = slice_is_null(find->directory) || find->is_egg > is_egg ||
	                (find->is_egg == is_egg && find->position > position);

	if ((!is_info && !is_egg) || !is_first)
		return;
	find->is_egg = is_egg;
	find->position = position;
	find->directory = set_copy(find->selection.set, directory);
}

static int consider_row(void *payload, struct distribution_record *row)
{
	struct find *find = payload;

	if (entry_row_holds(find->entry, row->id, &row->position))
		consider(find, row->directory, row->position);
	return 0;
}

static int find_in_entry(struct find *find, size_t index, struct error *error)
{
	const struct path_entry *entry = find->entry = &find->selection.db->entries[index];
	struct sources *sources = &find->selection.db->sources;
	/* The names of what is in a zip are those of METADATA. */
	struct slice name = entry->row.kind == ROOT_DIRECTORY ? find->key : (struct slice){0};
	struct distribution_record found = {0};
	int code = 0;

	if (entry_has_rows(entry))
		code = sources_check(sources, entry->source,
		                     reader_called(sources->items[entry->source].reader,
		                                   entry->row.id, name, consider_row, find, error),
		                     error);
	for (size_t i = 0; code == 0 && i < entry->read.distribution_count; i++)
		consider(find, entry->read.distributions[i].directory,
		         entry->read.distributions[i].position);
	found.directory = find->directory;
	if (code < 0 || slice_is_null(found.directory))
		return code;
	return add_distribution(&find->selection, index, &found) < 0 ? error_nomem(error) : 0;
}

static int find_once(struct entrydb *db, void *payload, struct error *error)
{
	struct find *find = payload; /* of which the selection is the first part */
	int code;

	find->directory = (struct slice){0};
	code = selection_begin(&find->selection, error);
	if (code == 0) {
		find->key = key_of(find, find->selection.name, distname_normalize);
		find->egg_key = key_of(find, find->selection.name, distname_legacy);
	}
	for (size_t i = 0; code == 0 && find->selection.name.len > 0 &&
	                   slice_is_null(find->directory) && i < db->entry_count;
	     i++)
		code = find_in_entry(find, i, error);
	arena_free(&find->arena);
	return selection_end(&find->selection, code, error);
}

int entrydb_find(entrydb *db, const char *name, entrydb_set **out, entrydb_error *error)
{
	struct find find = {.selection = {.db = db, .name = slice_of(name)}};

	return selection_ask(&find.selection, find_once, out, error);
}

/* --- METADATA --- */

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
	struct slice child = path_base(slice_of(file));
	CLEANUP(cleanup_free) char *parent = text_format("%.*s.", (int)(child.ptr - file), file);
	CLEANUP(cleanup_close) int fd = parent ? file_open(AT_FDCWD, parent, O_DIRECTORY) : -1;
	struct metadata found = {0};
	struct error own = {0};
	struct stat status;
	int code = 0;

	/* Nothing but a directory will do. */
	if (fd < 0 || fstat(fd, &status) != 0)
		code = error_errno(&own, errno, "%s", file);
	if (code == 0)
		code = tree_open_directory(take_fd(&fd), stamp_of(&status), &tree, &own);
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

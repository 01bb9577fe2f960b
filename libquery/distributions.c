/*
 * distributions.c - lists all distributions, or finds one by name as
 * importlib.metadata.distribution() does.
 *
 * An iteration over all distributions reads each path entry once, from the database or the scan,
 * rather than selecting rows. Python looks for a name among the directory names, path
 * entry by path entry, and takes the first: so does entrydb_find(). METADATA is always read from
 * the disk: it may have been edited in place, or be invalid UTF-8, on which Python would raise; and
 * reading one file is cheap.
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

static void add_distribution(struct selection *selection, size_t index,
                             const struct distribution_record *record)
{
	const struct candidate candidate = candidate_of(selection->db, index, record);
	struct entrydb_set *set = selection->set;
	struct slice problem = set_copy(set, record->error);
	size_t first = set->count, count = slice_is_null(problem) ? record->entry_point_count : 0;

	selection_set_distribution(selection, &candidate);
	for (size_t i = 0; i < count; i++)
		selection_add(selection, &candidate, (uint32_t)i, &record->entry_points[i]);
	set_add_distribution(set, &(struct entrydb_distribution){
	                                  .path = selection->path.ptr,
	                                  .file = selection->file.ptr,
	                                  .name = selection->distribution.ptr,
	                                  .version = selection->version.ptr,
	                                  .problem = problem.ptr,
	                                  .set = set,
	                                  .first = first,
	                                  .count = set->count - first,
	                          });
}

/* Merge the rows and the scanned distributions, both sorted by position. */
static int survey_entry(struct selection *selection, size_t index, struct error *error)
{
	struct path_entry *entry = &selection->db->entries[index];
	CLEANUP(root_record_free) struct root_record rows = {0};
	struct distribution_record *read = entry->read.distributions;
	size_t more = entry->read.distribution_count, row = 0;
	int code = selection_rows(selection, index, true, &rows, error);

	root_record_sort(&rows);
	for (size_t i = 0; code == 0 && i <= more; i++) {
		if (i < more)
			code = selection_read(selection, entry, &read[i], true, error);
		while (row < rows.distribution_count &&
		       (i == more || rows.distributions[row].position < read[i].position))
			add_distribution(selection, index, &rows.distributions[row++]);
		if (code == 0 && i < more)
			add_distribution(selection, index, &read[i]);
	}
	return code;
}

static int fill_survey(struct selection *selection, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < selection->db->entry_count; i++)
		code = survey_entry(selection, i, error);
	return code;
}

int entrydb_survey(entrydb *db, entrydb_set **out, entrydb_error *error)
{
	struct selection selection = {.db = db, .fill = fill_survey};

	return selection_run(&selection, out, error_inside(error));
}

/* --- one by its name --- */

struct find {
	struct selection selection; /* must be first; its name is the wanted one */
	struct slice key, egg_key;  /* the name's key for directories, and for eggs */
	struct arena arena;         /* of all keys */
	const struct path_entry *entry;
	/* The first match in @entry so far; a null directory: none. */
	struct distribution_record first;
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

/* Within an entry, an egg's own metadata (EGG-INFO) come last. */
static void consider(struct find *find, struct slice directory, uint32_t position)
{
	struct slice base = slice_of(find->entry->spelled);
	bool is_info = distname_is_info(directory) &&
	               slice_equal(key_of(find, directory, distname_lookup_key), find->key);
	bool is_egg = !is_info && distname_is_egg_base(base) && distname_is_egg_info(directory) &&
	              slice_equal(key_of(find, base, distname_egg_key), find->egg_key);
	bool is_first = slice_is_null(find->first.directory) || find->is_egg > is_egg ||
	                (find->is_egg == is_egg && find->first.position > position);

	if ((!is_info && !is_egg) || !is_first)
		return;
	find->is_egg = is_egg;
	find->first.position = position;
	find->first.directory = set_copy(find->selection.set, directory);
}

static int consider_row(void *payload, struct distribution_record *row)
{
	struct find *find = payload;

	if (entry_row_is_valid(find->entry, row->id, &row->position))
		consider(find, row->directory, row->position);
	return 0;
}

static int find_in_entry(struct find *find, size_t index, struct error *error)
{
	const struct path_entry *entry = find->entry = &find->selection.db->entries[index];
	struct sources *sources = &find->selection.db->sources;
	/*
	 * Names in a zip, and names that consist of dots, are compared by METADATA; and the lower
	 * case of a final sigma differs if a version follows. Then all rows are compared.
	 */
	bool is_key = entry->row.kind == ROOT_DIRECTORY && text_is_plain(find->key, "_") &&
	              !slice_equal(find->key, SLICE("_"));
	struct slice name = is_key ? find->key : (struct slice){0};
	int code = 0;

	if (entry_has_rows(entry))
		code = sources_check(sources, entry->source,
		                     reader_candidates(sources->items[entry->source].reader,
		                                       entry->row.id, name, consider_row, find,
		                                       error),
		                     error);
	for (size_t i = 0; code == 0 && i < entry->read.distribution_count; i++)
		consider(find, entry->read.distributions[i].directory,
		         entry->read.distributions[i].position);
	if (code == 0 && !slice_is_null(find->first.directory))
		add_distribution(&find->selection, index, &find->first);
	return code;
}

static int fill_found(struct selection *selection, struct error *error)
{
	struct find *find = (struct find *)selection; /* its first member */
	int code = 0;

	find->first = (struct distribution_record){0};
	find->key = key_of(find, selection->name, distname_normalize);
	find->egg_key = key_of(find, selection->name, distname_legacy);
	for (size_t i = 0; code == 0 && selection->name.len > 0 &&
	                   slice_is_null(find->first.directory) && i < selection->db->entry_count;
	     i++)
		code = find_in_entry(find, i, error);
	arena_free(&find->arena);
	return code;
}

int entrydb_find(entrydb *db, const char *name, entrydb_set **out, entrydb_error *error)
{
	struct find find = {.selection = {.db = db, .fill = fill_found, .name = slice_of(name)}};

	return selection_run(&find.selection, out, error_inside(error));
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
	struct error *own = error_inside(error);
	struct metadata found = {0};
	struct stat status;
	int code;

	/* The path entry must be a directory. */
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(own, errno, "%s", file);
	code = tree_open_directory(take_fd(&fd), stamp_of(&status), &tree, own);
	if (code == 0)
		code = distribution_parse_headers(tree, &arena, child, true, &found, own);
	if (code == 0)
		code = error_set(own, ERROR_NOTFOUND, "%s: there is no METADATA", file);
	if (code < 0)
		return code;
	*name = text_of(found.name);
	*version = text_of(found.version);
	return 0;
}

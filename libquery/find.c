/*
 * find.c - one distribution by its name, and what its METADATA says: what Python's
 * importlib.metadata.distribution() and the properties name and version of a distribution answer.
 *
 * Python looks for a name among the names of directories, path entry by path entry, and believes
 * the first: so does this, in the rows or in what was read. What METADATA says is always read
 * from the disk. It may have been edited in place, or be no UTF-8, on which Python would raise; and
 * one file is soon read.
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
#include "libquery/handle.h"
#include "libquery/names.h"
#include "libquery/result.h"

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

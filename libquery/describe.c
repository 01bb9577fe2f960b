/*
 * describe.c - reports the state of the path entries and its reasons.
 */
#include <stdlib.h>

#include "libquery/handle.h"
#include "libquery/names.h"

struct entrydb_path_entry {
	const char *path, *database, *reason;
	enum entrydb_path_state state;
};

struct entrydb_path {
	struct arena arena; /* of the texts */
	size_t count;
	entrydb_path_entry entries[];
};

void entrydb_path_free(entrydb_path *path)
{
	if (!path)
		return;
	arena_free(&path->arena);
	free(path);
}

/* @out: the caller's pointer to a path. */
static int describe(struct entrydb *db, void *out, struct error *error)
{
	entrydb_path *path = calloc(1, sizeof(*path) + db->entry_count * sizeof(*path->entries));
	bool failed = false, known = true;
	int code = path ? 0 : error_nomem(error);

	for (size_t i = 0; i < db->entry_count; i++)
		known &= db->entries[i].state != ENTRY_UNKNOWN;
	if (code == 0 && !known)
		code = refresh(db, error);
	for (size_t i = 0; code == 0 && i < db->entry_count; i++) {
		const struct path_entry *entry = &db->entries[i];
		const char *file =
		        entry->source == SOURCE_NONE ? NULL : db->sources.items[entry->source].file;

		path->entries[path->count++] = (entrydb_path_entry){
		        .path = arena_copy(&path->arena, slice_of(entry->spelled), &failed).ptr,
		        .database = arena_copy(&path->arena, slice_of(file), &failed).ptr,
		        .reason = entry->reason, /* a literal */
		        .state = (enum entrydb_path_state)entry->state,
		};
	}
	if (code == 0 && failed)
		code = error_nomem(error);
	if (code < 0)
		entrydb_path_free(path);
	else
		*(entrydb_path **)out = path;
	return code;
}

int entrydb_describe_path(entrydb *db, entrydb_path **out, entrydb_error *error)
{
	return handle_query(db, describe, out, error_inside(error));
}

const entrydb_path_entry *entrydb_path_get(const entrydb_path *path, size_t index)
{
	return index < path->count ? &path->entries[index] : NULL;
}

GETTER(size_t, entrydb_path_count, entrydb_path, count)
GETTER(const char *, entrydb_path_entry_path, entrydb_path_entry, path)
GETTER(const char *, entrydb_path_entry_database, entrydb_path_entry, database)
GETTER(enum entrydb_path_state, entrydb_path_entry_state, entrydb_path_entry, state)
GETTER(const char *, entrydb_path_entry_reason, entrydb_path_entry, reason)

/*
 * describe.c - what is known about the path entries, and why.
 *
 * One block of memory holds the list, its entries and their strings: programs ask
 * before each answer that they have kept.
 */
#include <stdlib.h>
#include <string.h>

#include "libquery/handle.h"

struct entrydb_path_entry {
	const char *path, *database, *reason;
	enum entrydb_path_state state;
};

struct entrydb_path {
	size_t count;
	entrydb_path_entry entries[];
};

static enum entrydb_path_state state_of(const struct path_entry *entry)
{
	switch (entry->state) {
	case ENTRY_FRESH:
		return ENTRYDB_PATH_FRESH;
	case ENTRY_CHECKED:
		return ENTRYDB_PATH_CHECKED;
	case ENTRY_SCANNED:
		return ENTRYDB_PATH_SCANNED;
	case ENTRY_ABSENT:
	case ENTRY_UNKNOWN: /* not after refresh() */
		break;
	}
	return ENTRYDB_PATH_ABSENT;
}

static const char *database_of(const struct entrydb *db, const struct path_entry *entry)
{
	return entry->source == SOURCE_NONE ? NULL : db->sources.items[entry->source].file;
}

static size_t size_of(const struct entrydb *db)
{
	size_t size = sizeof(entrydb_path);

	for (size_t i = 0; i < db->entry_count; i++) {
		const char *database = database_of(db, &db->entries[i]);

		size += sizeof(entrydb_path_entry) + strlen(db->entries[i].spelled) + 1;
		size += database ? strlen(database) + 1 : 0;
	}
	return size;
}

static const char *put(char **at, const char *text)
{
	const char *start = *at;

	if (!text)
		return NULL;
	*at = stpcpy(*at, text) + 1;
	return start;
}

/* Have all entries been looked at? A path entry that is given twice, or none, as well. */
static int be_known(struct entrydb *db, struct error *error)
{
	bool known = true;

	for (size_t i = 0; i < db->entry_count; i++)
		known &= db->entries[i].state != ENTRY_UNKNOWN;
	return known ? 0 : refresh(db, error);
}

/* @out: the caller's pointer to a path. */
static int describe(struct entrydb *db, void *out, struct error *error)
{
	int code = be_known(db, error);
	entrydb_path *path = code == 0 ? malloc(size_of(db)) : NULL;
	char *at;

	if (code < 0)
		return code;
	if (!path)
		return error_nomem(error);
	path->count = db->entry_count;
	at = (char *)&path->entries[path->count];
	for (size_t i = 0; i < path->count; i++) {
		const struct path_entry *entry = &db->entries[i];

		path->entries[i] = (entrydb_path_entry){
		        .path = put(&at, entry->spelled),
		        .database = put(&at, database_of(db, entry)),
		        .reason = entry->reason, /* a literal */
		        .state = state_of(entry),
		};
	}
	*(entrydb_path **)out = path;
	return 0;
}

int entrydb_describe_path(entrydb *db, entrydb_path **out, entrydb_error *error)
{
	return handle_ask(db, describe, out, error);
}

size_t entrydb_path_count(const entrydb_path *path)
{
	return path->count;
}

const entrydb_path_entry *entrydb_path_get(const entrydb_path *path, size_t index)
{
	return index < path->count ? &path->entries[index] : NULL;
}

void entrydb_path_free(entrydb_path *path)
{
	free(path);
}

const char *entrydb_path_entry_path(const entrydb_path_entry *entry)
{
	return entry->path;
}

const char *entrydb_path_entry_database(const entrydb_path_entry *entry)
{
	return entry->database;
}

enum entrydb_path_state entrydb_path_entry_state(const entrydb_path_entry *entry)
{
	return entry->state;
}

const char *entrydb_path_entry_reason(const entrydb_path_entry *entry)
{
	return entry->reason;
}

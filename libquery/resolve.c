/*
 * resolve.c - from an entry to what it leads to, and into the process.
 *
 * The database says it where the entry came from there and the file is still the
 * same; otherwise the rules of target.h are applied to the disk, to the same
 * effect: the indexer has used them, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "handle.h"
#include "layout.h"
#include "result.h"
#include "target_record.h"
#include "tree.h"

void entrydb_target_free(entrydb_target *target)
{
	free(target); /* with its strings: see make_target() */
}

static char *put_string(char **at, struct slice text)
{
	char *start = *at;

	if (slice_is_null(text))
		return NULL;
	memcpy(start, text.ptr, text.len);
	start[text.len] = '\0';
	*at += text.len + 1;
	return start;
}

/* One allocation: the struct, then its strings. The object's path is made absolute. */
static int make_target(const struct target_record *record, struct slice site, entrydb_target **out,
                       struct error *error)
{
	size_t size = record->kind.len + record->state.len + record->object.len +
	              record->symbol.len + site.len + 6;
	entrydb_target *target = malloc(sizeof(*target) + size);
	char *at;

	if (!target)
		return error_nomem(error);
	at = (char *)(target + 1);
	target->kind = put_string(&at, record->kind);
	target->state = put_string(&at, record->state);
	target->symbol = put_string(&at, record->symbol);
	target->object = slice_is_null(record->object) ? NULL : at;
	if (target->object && site.len) {
		put_string(&at, site);
		at[-1] = '/';
	}
	put_string(&at, record->object);
	*out = target;
	return 0;
}

/* The row of the target table; 1 when the entry came from a file that is still open. */
static int from_database(entrydb *db, const entrydb_entry *entry, struct target_record *record,
                         struct error *error)
{
	struct reader *reader;
	int code;

	if (entry->row == 0 || entry->handle != db || entry->generation != db->generation)
		return 0;
	reader = source_reader(&db->sources[entry->source]);
	if (!reader)
		return 0;
	code = reader_target(reader, entry->row, record, error);
	if (code == 0)
		*record = (struct target_record){.kind = SLICE("python"), .state = SLICE("ok")};
	return code < 0 ? code : 1;
}

/* Split "site/x.dist-info" into the two. */
static void split_file(struct slice file, struct slice *site, struct slice *directory)
{
	const char *slash = memrchr(file.ptr, '/', file.len);

	*directory = slash ? slice_from(file, (size_t)(slash - file.ptr) + 1) : file;
	*site = slash ? slice_between(file.ptr, slash) : SLICE(".");
	if (slash == file.ptr)
		*site = SLICE("/");
}

static void cleanup_tree(struct tree **tree)
{
	tree_close(*tree);
}

static int from_disk(const entrydb_entry *entry, struct slice site, struct slice directory,
                     struct arena *arena, struct target_record *record, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	CLEANUP(cleanup_free) char *path = strndup(site.ptr, site.len);
	struct distribution_record distribution = {.directory = directory};
	struct entry_point_record entry_point = {
	        .group = entry->text[ENTRYDB_GROUP],
	        .module = entry->text[ENTRYDB_MODULE],
	        .attr = entry->text[ENTRYDB_ATTR],
	};
	int code;

	if (!path)
		return error_nomem(error);
	code = tree_open(path, &tree, error);
	if (code < 0)
		return code;
	distribution.entry_points = &entry_point;
	distribution.entry_point_count = 1;
	code = target_records(tree, (struct slice){0}, &distribution, arena, error);
	if (code < 0)
		return code;
	*record = (struct target_record){.kind = SLICE("python"), .state = SLICE("ok")};
	if (entry_point.target)
		*record = *entry_point.target;
	return 0;
}

static int resolve(entrydb *db, const entrydb_entry *entry, entrydb_target **out,
                   struct error *error)
{
	struct arena arena = ARENA_INIT;
	struct target_record record;
	struct slice site, directory;
	int code = from_database(db, entry, &record, error);

	split_file(entry->text[ENTRYDB_FILE], &site, &directory);
	if (code == 0)
		code = from_disk(entry, site, directory, &arena, &record, error);
	if (code >= 0)
		code = make_target(&record, site, out, error);
	arena_free(&arena);
	return code < 0 ? code : 0;
}

int entrydb_resolve(entrydb *db, const entrydb_entry *entry, entrydb_target **out,
                    entrydb_error *error)
{
	struct error own = {0};
	int code;

	pthread_mutex_lock(&db->lock);
	code = resolve(db, entry, out, &own);
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

static int not_loadable(const entrydb_entry *entry, const entrydb_target *target,
                        struct error *error)
{
	return error_set(error, ERROR_NOTFOUND,
	                 "%s = %s of %s: %s (%s): no shared object that a program without Python "
	                 "can open",
	                 entrydb_entry_name(entry), entrydb_entry_value(entry),
	                 entrydb_entry_file(entry), target->kind, target->state);
}

/* The handle's lock is not held while constructors run: they may use the handle. */
static int load(entrydb *db, const entrydb_entry *entry, const entrydb_target *target,
                void **symbol, struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;

	if (!target->object || !target->symbol || strcmp(target->state, "ok") != 0)
		return not_loadable(entry, target, error);
	path = layout_absolute(target->object);
	if (!path)
		return error_errno(error, errno, "%s", target->object);
	return loader_symbol(db->loader, path, target->symbol, entrydb_entry_distribution(entry),
	                     symbol, error);
}

int entrydb_load(entrydb *db, const entrydb_entry *entry, void **symbol, entrydb_error *error)
{
	struct error own = {0};
	entrydb_target *target;
	int code = entrydb_resolve(db, entry, &target, error);

	if (code < 0)
		return code;
	code = load(db, entry, target, symbol, &own);
	entrydb_target_free(target);
	return code < 0 ? error_export(code, &own, error) : 0;
}

/* --- what is known of a path entry --- */

static const char *state_name(enum entry_state state)
{
	static const char *const names[] = {
	        [ENTRY_UNKNOWN] = "unknown", [ENTRY_FRESH] = "fresh",   [ENTRY_CHECKED] = "checked",
	        [ENTRY_SCANNED] = "scanned", [ENTRY_ABSENT] = "absent",
	};

	return names[state];
}

size_t entrydb_root_count(entrydb *db)
{
	return db->entry_count;
}

static int describe_root(entrydb *db, size_t index, entrydb_root *out, struct error *error)
{
	const struct path_entry *entry = &db->entries[index];
	int code = entry->state == ENTRY_UNKNOWN ? refresh(db, error) : 0;

	if (code < 0)
		return code;
	*out = (entrydb_root){
	        .path = entry->spelled,
	        .state = state_name(entry->state),
	        .reason = entry->reason,
	};
	if (entry->source != SOURCE_NONE)
		out->database = db->sources[entry->source].file;
	return 0;
}

int entrydb_root_get(entrydb *db, size_t index, entrydb_root *out, entrydb_error *error)
{
	struct error own = {0};
	int code;

	pthread_mutex_lock(&db->lock);
	if (index >= db->entry_count)
		code = error_set(&own, ERROR_INVALID, "there are %zu path entries only",
		                 db->entry_count);
	else
		code = describe_root(db, index, out, &own);
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

/*
 * resolve.c - resolves an entry point to its target.
 *
 * From the database, if the entry point came from there and the file is still the same; otherwise
 * by applying the rules of disk/target/target.h, which the indexer uses, too, to the disk.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/handle.h"
#include "libquery/layout.h"
#include "libquery/load.h"
#include "libquery/names.h"
#include "libquery/result.h"

struct entrydb_target {
	enum entrydb_kind kind;
	enum entrydb_state state;
	const char *texts[TARGET_TEXTS];
	unsigned long long size;
	int machine;
	struct arena arena; /* of the texts */
};

_Static_assert(ENTRYDB_TARGET_PYTHON_BY + 1 == TARGET_TEXTS, "target_texts() has the same order");

static const struct target_record python_module = {.kind = TARGET_PYTHON, .state = TARGET_OK};

/* --- the target --- */

/* @site: the directory that the object is relative to. */
static int make_target(const struct target_record *record, struct slice site, entrydb_target **out,
                       struct error *error)
{
	struct target_record copy = *record;
	struct slice *texts[TARGET_TEXTS];
	entrydb_target *target = calloc(1, sizeof(*target));
	bool failed = !target;

	if (failed)
		return error_nomem(error);
	target->kind = (enum entrydb_kind)record->kind; /* names.c asserts that they are the same */
	target->state = (enum entrydb_state)record->state;
	target->size = (unsigned long long)record->size;
	target->machine = record->machine;
	if (!slice_is_null(copy.object))
		copy.object = path_join_in(&target->arena, site, copy.object, &failed);
	target_texts(&copy, texts);
	for (size_t i = 0; i < TARGET_TEXTS; i++)
		target->texts[i] = arena_copy(&target->arena, *texts[i], &failed).ptr;
	if (failed) {
		entrydb_target_free(target);
		return error_nomem(error);
	}
	*out = target;
	return 0;
}

GETTER(enum entrydb_kind, entrydb_target_kind, entrydb_target, kind)
GETTER(enum entrydb_state, entrydb_target_state, entrydb_target, state)
GETTER(const char *, entrydb_target_object, entrydb_target, texts[ENTRYDB_TARGET_OBJECT])
GETTER(const char *, entrydb_target_symbol, entrydb_target, texts[ENTRYDB_TARGET_SYMBOL])
GETTER(unsigned long long, entrydb_target_size, entrydb_target, size)
GETTER(int, entrydb_target_machine, entrydb_target, machine)

const char *entrydb_target_text(const entrydb_target *target, enum entrydb_target_field field)
{
	return (int)field < 0 || (int)field >= TARGET_TEXTS ? NULL : target->texts[field];
}

void entrydb_target_free(entrydb_target *target)
{
	if (!target)
		return;
	arena_free(&target->arena);
	free(target);
}

/* --- finding it --- */

/* Objects lie in their path entry: a row that refers outside is not ours. */
static bool is_inside(struct slice object)
{
	while (object.len > 0) {
		struct slice component = slice_take(&object, '/');

		if (component.len == 0 || slice_equal(component, SLICE("..")))
			return false;
	}
	return true;
}

/*
 * Read the target from the database. 1: read; 0 if the entry point came from another file or
 * handle, or from a file that others than root and the effective user may have written: it must not
 * determine what is loaded.
 */
static int from_database(entrydb *db, const entrydb_entry_point *entry_point,
                         struct target_record *record, struct error *error)
{
	const struct source *source;
	struct reader *reader;
	int code;

	if (entry_point->row == 0 || entry_point->handle != db ||
	    entry_point->generation != db->sources.generation)
		return 0;
	source = &db->sources.items[entry_point->source];
	reader = source_reader(source);
	if (!reader || source->owner != TRUST_NO_OTHER)
		return 0;
	code = reader_target(reader, entry_point->row, record, error);
	code = sources_check(&db->sources, entry_point->source, code, error);
	if (code == 0)
		*record = python_module;
	if (code <= 0)
		return code < 0 ? code : 1;
	/* Plugins may also be data files of a wheel, which lie in the prefix. */
	if (entry_point->is_plugin ? !target_plugin_is_sound(record->object)
	                           : !is_inside(record->object))
		return 0;
	/* Missing libraries of this machine, not of the package, may have been installed since. */
	return record->state != TARGET_MISSING_DEPENDENCY &&
	       record->state != TARGET_WRONG_ARCHITECTURE;
}

/* An absolute path as seen from inside the sysroot. */
static struct slice place_in(const entrydb *db, const char *path)
{
	struct slice place = slice_of(path);

	if (path && db->sysroot && slice_starts(place, slice_of(db->sysroot)))
		return slice_from(place, strlen(db->sysroot));
	return path ? place : SLICE("");
}

static int from_disk(const entrydb *db, const entrydb_entry_point *entry_point, struct slice site,
                     struct slice directory, struct arena *arena, struct target_record *record,
                     struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	CLEANUP(cleanup_linkage)
	struct linkage *linkage = linkage_create(db->sysroot, READERS_NONE);
	CLEANUP(cleanup_free) char *path = strndup(site.ptr, site.len);
	CLEANUP(cleanup_free) char *place = path ? layout_absolute(path) : NULL;
	const struct target_context context = {.linkage = linkage, .place = place_in(db, place)};
	struct entry_point_record wanted = {
	        .group = entry_point->text[ENTRYDB_FIELD_GROUP],
	        .module = entry_point->text[ENTRYDB_FIELD_MODULE],
	        .attr = entry_point->text[ENTRYDB_FIELD_ATTR],
	};
	struct distribution_record distribution = {
	        .directory = directory,
	        .entry_points = &wanted,
	        .entry_point_count = 1,
	};
	int code = path && linkage ? tree_open(path, &tree, error) : error_nomem(error);

	if (code == 0 && entry_point->is_plugin)
		return target_plugin(tree, &context, directory, wanted.module, wanted.attr, arena,
		                     record, error);
	if (code == 0)
		code = target_records(tree, &context, &distribution, arena, error);
	if (code == 0)
		*record = wanted.target ? *wanted.target : python_module;
	return code;
}

struct request {
	const entrydb_entry_point *entry_point;
	entrydb_target *target; /* the result */
};

static int resolve(entrydb *db, void *payload, struct error *error)
{
	struct request *request = payload;
	const entrydb_entry_point *entry_point = request->entry_point;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	struct target_record record;
	struct slice file = entry_point->text[ENTRYDB_FIELD_FILE];
	struct slice site = path_directory(file), directory = path_base(file);
	int code = from_database(db, entry_point, &record, error);

	if (site.len == 0)
		site = slice_starts(file, SLICE("/")) ? SLICE("/") : SLICE(".");
	if (code == 0)
		code = from_disk(db, entry_point, site, directory, &arena, &record, error);
	return code < 0 ? code : make_target(&record, site, &request->target, error);
}

int target_find(struct entrydb *db, const struct entrydb_entry_point *entry_point,
                struct entrydb_target **out, struct error *error)
{
	struct request request = {entry_point, NULL};
	int code = handle_query(db, resolve, &request, error);

	if (code == 0)
		*out = request.target;
	return code;
}

int entrydb_resolve(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **out,
                    entrydb_error *error)
{
	return target_find(db, entry_point, out, error_inside(error));
}

/*
 * target_record.c - applies the rules of target.h to the files of a tree.
 */
#include "libquery/disk/target/target_record.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "libquery/disk/target/target.h"

#define SORT_AFTER 16 /* entry points; for more, sorting RECORD pays */

/* The state of resolving one distribution. */
struct resolving {
	struct tree *tree;
	struct slice child;
	struct path_index sorted; /* of RECORD, if that pays */
	struct target_site site;
	struct import_cache cache; /* unless it is shared */
	uint64_t examined;         /* bytes of shared objects, so far */
	struct arena scratch;
};

static void cleanup_resolving(struct resolving *work)
{
	import_cache_free(&work->cache);
	path_index_free(&work->sorted);
	arena_free(&work->scratch);
}

/* Read RECORD, or its substitute in an archive; neither is not an error. */
static int find_record(struct resolving *work, size_t entry_points, struct error *error)
{
	size_t left = TREE_RECORDS_MAX - work->tree->records;
	struct tree_request request = {work->child, "RECORD", left < RECORD_MAX ? left : RECORD_MAX,
	                               false};
	struct wheel_record *record = &work->site.modules.record;
	struct error own = {0};
	int code;

	if (tree_read(work->tree, &request, &work->scratch, &record->text, &own) > 0) {
		work->tree->records += record->text.len;
		if (entry_points <= SORT_AFTER)
			return 0;
		if (!wheel_record_index(record, &work->sorted))
			return error_nomem(error);
		record->index = &work->sorted;
		return 0;
	}
	code = error_move_failure(error, &own);
	if (code == 0)
		code = tree_listing(work->tree, &record->index, error);
	if (record->index)
		record->site =
		        slice_first(work->child, work->child.len - path_base(work->child).len);
	return code;
}

/* In a wheel, a file that is installed at @path may have another name. */
static struct wheel_file file_at(const struct wheel_record *record, struct slice path)
{
	struct wheel_file file;

	for (size_t at = 0; path.len > 0 && wheel_record_find(record, path, &at, &file);)
		if (slice_equal(file.path, path))
			return file;
	return (struct wheel_file){.path = path, .spelled = path};
}

static int fetch(void *payload, struct slice path, uint64_t *unpacked, struct error *error)
{
	struct resolving *work = payload;
	int code = tree_fetch(work->tree, work->child, path, unpacked, error);
	struct slice spelled;

	if (code != ERROR_NOTFOUND)
		return code;
	spelled = file_at(&work->site.modules.record, path).spelled;
	return slice_equal(spelled, path)
	               ? code
	               : tree_fetch(work->tree, work->child, spelled, unpacked, error);
}

/* @work must not be moved afterwards. */
static int begin(struct resolving *work, struct tree *tree, const struct target_context *context,
                 const struct distribution_record *distribution, struct error *error)
{
	bool on_disk = tree->kind == ROOT_DIRECTORY;

	*work = (struct resolving){
	        .tree = tree,
	        .child = distribution->directory,
	        .site = {.modules = {.cache = context->cache ? context->cache : &work->cache,
	                             .fd = on_disk ? tree->fd : -1},
	                 .objects = {.fd = on_disk ? tree->fd : -1,
	                             .fetch = on_disk ? NULL : fetch,
	                             .payload = work,
	                             .linkage = context->linkage,
	                             .place = context->place}},
	};
	return find_record(work, distribution->entry_point_count, error);
}

/* Copy a target out of the scratch arena; objects that are Python files are dropped. */
static struct target_record *keep(const struct target_record *target, struct arena *arena,
                                  bool *failed)
{
	struct target_record *record = arena_calloc(arena, 1, sizeof(*record));
	struct slice *texts[TARGET_TEXTS];

	if (!record) {
		*failed = true;
		return NULL;
	}
	*record = *target;
	if (!target->machine && target->state != TARGET_NO_SYMBOL &&
	    target->state != TARGET_NOT_EXAMINED)
		record->object = (struct slice){0};
	target_texts(record, texts);
	for (size_t i = 0; i < TARGET_TEXTS; i++)
		*texts[i] = arena_copy(arena, *texts[i], failed);
	return record;
}

static int by_module(const void *left, const void *right)
{
	const struct entry_point_record *const *a = left, *const *b = right;

	return slice_compare((*a)->module, (*b)->module);
}

/*
 * Resolve all entry points with a module, sorted by module, so that each module is searched once.
 */
static int resolve_all(struct resolving *work, struct distribution_record *distribution,
                       struct arena *arena, struct error *error)
{
	struct entry_point_record **ordered =
	        arena_calloc(&work->scratch, distribution->entry_point_count + 1, sizeof(*ordered));
	struct target_record target;
	bool failed = !ordered;
	size_t count = 0;
	int code = 0;

	for (size_t i = 0; ordered && i < distribution->entry_point_count; i++)
		if (!slice_is_null(distribution->entry_points[i].module))
			ordered[count++] = &distribution->entry_points[i];
	if (count > 1)
		qsort(ordered, count, sizeof(*ordered), by_module);
	for (size_t i = 0; code == 0 && !failed && i < count; i++) {
		code = target_resolve(&work->site, ordered[i], &work->scratch, &target, error);
		if (code == 0 && (target.kind != TARGET_PYTHON || target.state != TARGET_OK))
			ordered[i]->target = keep(&target, arena, &failed);
	}
	return failed ? error_nomem(error) : code;
}

/* --- native plugins --- */

/*
 * Data files of a wheel are installed in the prefix: "../../../lib/x.so". Nothing further up
 * belongs to it.
 */
bool target_plugin_is_sound(struct slice object)
{
	for (int up = 0; up < PLUGIN_UP_MAX && slice_starts(object, SLICE("../")); up++)
		object = slice_from(object, 3);
	if (object.len == 0 || slice_ends(object, SLICE("/")))
		return false;
	while (object.len > 0) {
		struct slice part = slice_take(&object, '/');

		if (part.len == 0 || slice_equal(part, SLICE("..")) ||
		    memchr(part.ptr, '\0', part.len))
			return false;
	}
	return true;
}

struct plugins {
	struct entry_point_record *rows;
	size_t count, room;
};

static void cleanup_plugins(struct plugins *plugins)
{
	free(plugins->rows);
}

/* If the object is a plugin of any kind, examine it once, and add it for each of its kinds. */
static int add_plugins(struct plugins *plugins, const struct object_site *site,
                       const struct object *object, const struct plugin_match *match,
                       struct arena *arena, struct error *error)
{
	struct target_record target = {0};
	struct plugin_found found;
	bool failed = false;
	size_t at = 0;
	int code;

	if (!plugin_match_next(match, &at, &found))
		return 0;
	code = object_judge(site, object, arena, &target, error);
	if (code < 0 || target.kind == TARGET_EXTENSION)
		return code;
	target.object = arena_copy(arena, target.object, &failed);
	target.sha256 = arena_copy(arena, target.sha256, &failed);
	do {
		struct target_record *copy = arena_alloc(arena, sizeof(*copy));

		if (!copy || !array_grow(&plugins->rows, plugins->count, sizeof(*plugins->rows),
		                         &plugins->room))
			return error_nomem(error);
		*copy = target;
		copy->symbol = arena_copy(arena, found.symbol, &failed);
		plugins->rows[plugins->count++] = (struct entry_point_record){
		        .group = arena_copy(arena, found.kind, &failed),
		        .name = arena_copy(arena, found.name, &failed),
		        .target = copy,
		};
	} while (plugin_match_next(match, &at, &found));
	return failed ? error_nomem(error) : 0;
}

static int look_for_plugins(struct plugins *plugins, const struct object_site *site,
                            const struct plugin_kinds *kinds, const struct wheel_file *file,
                            struct arena *arena, struct error *error)
{
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	struct plugin_match match;
	struct elf_symbol symbol;
	struct error own = {0};
	int code = object_open(site, file, &object, &own);

	if (code == 0)
		code = elf_file_symbols(object.file, &own);
	if (code < 0)
		return error_move_failure(error, &own);
	plugin_match_begin(&match, kinds, path_base(file->path));
	while (elf_file_next_symbol(object.file, &symbol)) {
		if (elf_needs_python(&symbol))
			return 0;
		if (symbol.is_defined && !symbol.is_old)
			plugin_match_symbol(&match, symbol.name);
	}
	return elf_file_header(object.file)->is_shared_object
	               ? add_plugins(plugins, site, &object, &match, arena, error)
	               : 0;
}

static int find_plugins(const struct resolving *work, const struct plugin_kinds *kinds,
                        struct distribution_record *distribution, struct arena *arena,
                        struct error *error)
{
	CLEANUP(cleanup_plugins) struct plugins plugins = {0};
	struct wheel_file file;
	size_t seen = 0, at = 0;
	int code = 0;

	while (code == 0 && seen < PLUGIN_OBJECTS_MAX &&
	       wheel_record_find(&work->site.modules.record, SLICE(""), &at, &file)) {
		if (!plugin_kinds_want(kinds, path_base(file.path)) ||
		    !target_plugin_is_sound(file.path))
			continue;
		seen++;
		code = look_for_plugins(&plugins, &work->site.objects, kinds, &file, arena, error);
	}
	if (code < 0 || plugins.count == 0)
		return code;
	distribution->plugins = arena_calloc(arena, plugins.count, sizeof(*plugins.rows));
	if (!distribution->plugins)
		return error_nomem(error);
	memcpy(distribution->plugins, plugins.rows, plugins.count * sizeof(*plugins.rows));
	distribution->plugin_count = plugins.count;
	return 0;
}

/* --- the whole --- */

int target_records(struct tree *tree, const struct target_context *context,
                   struct distribution_record *distribution, struct arena *arena,
                   struct error *error)
{
	CLEANUP(cleanup_resolving) struct resolving work;
	bool withheld = tree->withheld, failed = false;
	int code = begin(&work, tree, context, distribution, error);
	const struct wheel_record *record = &work.site.modules.record;

	if (code == 0)
		code = tree_is_editable(tree, distribution->directory, error);
	if (code < 0)
		return code;
	work.site.editable = code > 0;
	work.site.objects.examined = &work.examined;
	work.site.modules.readers = work.site.objects.readers = tree->readers;
	work.site.modules.withheld = work.site.objects.withheld = &tree->withheld;
	if (!wheel_record_is_null(record)) {
		/* "x.dist-info/entry_points.txt,sha256=...,123" */
		struct slice path = path_join_in(arena, distribution->directory,
		                                 SLICE("entry_points.txt"), &failed);
		struct wheel_file file;
		size_t at = 0;

		if (!failed && wheel_record_find(record, path, &at, &file))
			distribution->record_sha256 = arena_copy(arena, file.sha256, &failed);
	}
	code = failed ? error_nomem(error) : resolve_all(&work, distribution, arena, error);
	/* Without RECORD, the distribution's files are unknown. */
	if (code == 0 && !tree->withheld && context->kinds && !slice_is_null(record->text)) {
		work.site.objects.withheld = NULL;
		work.examined = 0;
		code = find_plugins(&work, context->kinds, distribution, arena, error);
	}
	if (distribution->entry_point_count == 0)
		tree->withheld =
		        withheld; /* without entry points, a private RECORD does not matter */
	return code;
}

int target_plugin(struct tree *tree, const struct target_context *context, struct slice child,
                  struct slice object, struct slice symbol, struct arena *arena,
                  struct target_record *target, struct error *error)
{
	const struct distribution_record distribution = {.directory = child};
	CLEANUP(object_close) struct object opened = OBJECT_INIT;
	CLEANUP(cleanup_resolving) struct resolving work = {0};
	CLEANUP(error_clear) struct error own = {0};
	const struct object_site *site = &work.site.objects;
	struct wheel_file file;
	bool failed = false;
	int code;

	*target = (struct target_record){.kind = TARGET_UNRESOLVED, .state = TARGET_MISSING};
	if (!target_plugin_is_sound(object))
		return 0;
	code = begin(&work, tree, context, &distribution, error);
	if (code < 0)
		return code;
	work.site.objects.readers = tree->readers;
	file = file_at(&work.site.modules.record, object);
	code = object_find(site, &file, symbol, (struct slice){0}, &opened, &own);
	if (code < 0 || !opened.facts.exports_wanted)
		return error_move_failure(error, &own);
	code = object_judge(site, &opened, arena, target, error);
	target->object = object; /* which outlives the file */
	target->symbol = symbol;
	target->sha256 = arena_copy(arena, target->sha256, &failed);
	return failed ? error_nomem(error) : code;
}

/*
 * target_record.c - joins a tree, which has the files, with target.h, which has the rules.
 */
#include "libquery/disk/target/target_record.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "libquery/disk/target/plugin_record.h"
#include "libquery/disk/target/target.h"
#include "libquery/disk/tree/wheel_record.h"

#define SORT_AFTER 16 /* entry points for which a search each is cheaper than to sort RECORD */

/* The resolution of a distribution's entry points. */
struct resolving {
	struct tree *tree;
	struct distribution_record *distribution;
	struct path_index sorted; /* of RECORD, where that pays */
	struct target_query query;
	struct target_memo memo;
	uint64_t examined; /* bytes of shared objects for entry points */
	struct arena scratch;
};

static void cleanup_resolving(struct resolving *work)
{
	path_index_free(&work->sorted);
	arena_free(&work->scratch);
}

static int sort_record(struct resolving *work, struct error *error)
{
	struct wheel_record *record = &work->query.site.record;

	if (slice_is_null(record->text) || work->distribution->entry_point_count <= SORT_AFTER)
		return 0;
	if (!wheel_record_index(record, &work->sorted))
		return error_nomem(error);
	record->index = &work->sorted;
	return 0;
}

/* RECORD, or what stands for it in an archive without one; neither is not an error. */
static int find_record(struct resolving *work, struct error *error)
{
	struct slice child = work->distribution->directory;
	struct tree_request request = {child, "RECORD", RECORD_MAX, false};
	struct wheel_record *record = &work->query.site.record;
	struct error own = {0};
	int code;

	if (tree_read(work->tree, &request, &work->scratch, &record->text, &own) > 0)
		return sort_record(work, error);
	code = error_move_failure(error, &own);
	if (code == 0)
		code = tree_listing(work->tree, &record->index, error);
	if (record->index)
		record->site = slice_first(child, child.len - path_base(child).len);
	return code;
}

/* In a wheel, a file that will be installed at @path may be spelled otherwise. */
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
	struct slice child = work->distribution->directory, spelled;
	int code = tree_fetch(work->tree, child, path, unpacked, error);

	if (code != ERROR_NOTFOUND)
		return code;
	spelled = file_at(&work->query.site.record, path).spelled;
	return slice_equal(spelled, path) ? code
	                                  : tree_fetch(work->tree, child, spelled, unpacked, error);
}

/* "x.dist-info/entry_points.txt,sha256=...,123" */
static void find_hash(const struct wheel_record *record, struct distribution_record *distribution,
                      struct arena *arena, bool *failed)
{
	struct slice path =
	        path_join_in(arena, distribution->directory, SLICE("entry_points.txt"), failed);
	struct wheel_file file;
	size_t at = 0;

	if (*failed || wheel_record_is_null(record))
		return;
	if (wheel_record_find(record, path, &at, &file))
		distribution->record_sha256 = arena_copy(arena, file.sha256, failed);
}

/* A copy that outlives the scratch; what Python imports as a file is not kept. */
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

/* --- all of them --- */

static int by_module(const void *left, const void *right)
{
	const struct entry_point_record *const *a = left, *const *b = right;

	return slice_compare((*a)->module, (*b)->module);
}

/* Those that have a module, ordered by it, so that each module is looked for once. */
static struct entry_point_record **order(struct resolving *work, size_t *count)
{
	struct distribution_record *distribution = work->distribution;
	struct entry_point_record **ordered =
	        arena_calloc(&work->scratch, distribution->entry_point_count + 1, sizeof(*ordered));

	*count = 0;
	for (size_t i = 0; ordered && i < distribution->entry_point_count; i++)
		if (!slice_is_null(distribution->entry_points[i].module))
			ordered[(*count)++] = &distribution->entry_points[i];
	if (*count > 1)
		qsort(ordered, *count, sizeof(*ordered), by_module);
	return ordered;
}

static int resolve(struct resolving *work, struct entry_point_record *entry_point,
                   struct arena *arena, struct error *error)
{
	struct target_record target;
	bool failed = false;
	int code;

	work->query.group = entry_point->group;
	work->query.module = entry_point->module;
	work->query.attr = entry_point->attr;
	code = target_resolve(&work->query, &work->scratch, &target, error);
	if (code < 0)
		return code;
	if (target.kind != TARGET_PYTHON || target.state != TARGET_OK)
		entry_point->target = keep(&target, arena, &failed);
	return failed ? error_nomem(error) : 0;
}

/* --- plugins --- */

/* Without RECORD it is not known which files are the distribution's. */
static int find_plugins(struct resolving *work, const struct target_context *context,
                        struct arena *arena, struct error *error)
{
	const struct wheel_record *record = &work->query.site.record;
	struct object_site site = work->query.objects;
	uint64_t examined = 0;

	if (!context->kinds || slice_is_null(record->text))
		return 0;
	site.readers = work->tree->readers;
	site.examined = &examined;
	return plugin_records(&site, record, context->kinds, work->distribution, arena, error);
}

/* --- the whole --- */

static int resolve_all(struct resolving *work, struct arena *arena, struct error *error)
{
	size_t count = 0;
	struct entry_point_record **ordered = order(work, &count);
	int code = ordered ? 0 : error_nomem(error);

	for (size_t i = 0; code == 0 && i < count; i++)
		code = resolve(work, ordered[i], arena, error);
	return code;
}

/* What is at @work must stay where it is. */
static void begin(struct resolving *work, struct tree *tree, const struct target_context *context,
                  struct distribution_record *distribution)
{
	bool on_disk = tree->kind == ROOT_DIRECTORY;

	*work = (struct resolving){
	        .tree = tree,
	        .distribution = distribution,
	        .query = {.site = {.cache = context->cache, .fd = on_disk ? tree->fd : -1},
	                  .objects = {.fd = on_disk ? tree->fd : -1,
	                              .fetch = on_disk ? NULL : fetch,
	                              .payload = work,
	                              .examined = &work->examined,
	                              .linkage = context->linkage,
	                              .place = context->place},
	                  .memo = &work->memo},
	};
}

int target_plugin(struct tree *tree, const struct target_context *context, struct slice child,
                  struct slice object, struct slice symbol, struct arena *arena,
                  struct target_record *target, struct error *error)
{
	struct distribution_record distribution = {.directory = child};
	CLEANUP(cleanup_resolving) struct resolving work;
	struct object_site site;
	struct wheel_file file;
	bool failed = false;
	int code;

	begin(&work, tree, context, &distribution);
	*target = (struct target_record){.kind = TARGET_UNRESOLVED, .state = TARGET_MISSING};
	if (!plugin_path_is_sound(object))
		return 0;
	code = find_record(&work, error);
	if (code < 0)
		return code;
	site = work.query.objects;
	site.readers = tree->readers;
	site.examined = NULL;
	file = file_at(&work.query.site.record, object);
	file.path = object; /* which stays */
	code = plugin_resolve(&site, &file, symbol, arena, target, error);
	target->sha256 = arena_copy(arena, code > 0 ? target->sha256 : (struct slice){0}, &failed);
	return failed ? error_nomem(error) : code < 0 ? code : 0;
}

int target_records(struct tree *tree, const struct target_context *context,
                   struct distribution_record *distribution, struct arena *arena,
                   struct error *error)
{
	CLEANUP(cleanup_resolving) struct resolving work;
	bool withheld = tree->withheld, failed = false;
	int code;

	begin(&work, tree, context, distribution);
	code = tree_is_editable(tree, distribution->directory, error);
	work.query.editable = code > 0;
	if (code >= 0)
		code = find_record(&work, error);
	if (code < 0)
		return code;
	find_hash(&work.query.site.record, distribution, arena, &failed);
	code = failed ? error_nomem(error) : resolve_all(&work, arena, error);
	if (code == 0 && !tree->withheld)
		code = find_plugins(&work, context, arena, error);
	if (distribution->entry_point_count == 0)
		tree->withheld = withheld; /* a private RECORD is no matter without entry points */
	return code;
}

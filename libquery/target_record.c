/*
 * target_record.c - see target_record.h. Joins a tree, which has the files, with
 * target.h, which has the rules.
 */
#include "target_record.h"

#include <stdlib.h>

#include "cleanup.h"
#include "target.h"
#include "wheel_record.h"

/* RECORD, or what stands for it in an archive without one. *made is to be freed. */
static int find_record(struct tree *tree, struct slice child, struct arena *scratch,
                       struct slice *record, char **made, struct error *error)
{
	int code = tree->operations->read(tree, child, "RECORD", RECORD_MAX, false, scratch, record,
	                                  error);

	if (code == ERROR_NOMEM)
		return code;
	if (code > 0)
		return 0;
	*record = (struct slice){0};
	if (!tree->operations->listing)
		return 0;
	code = tree->operations->listing(tree, child, record, error);
	*made = (char *)record->ptr;
	return code;
}

/* "x.dist-info/entry_points.txt,sha256=...,123" */
static void find_hash(struct slice record, struct distribution_record *distribution,
                      struct arena *arena, bool *failed)
{
	static const char file_name[] = "/entry_points.txt";
	struct slice directory = distribution->directory;
	char *name = arena_alloc(arena, directory.len + sizeof(file_name));
	struct slice path = {name, directory.len + sizeof(file_name) - 1};
	struct wheel_file file;
	size_t at = 0;

	if (!name) {
		*failed = true;
		return;
	}
	memcpy(name, directory.ptr, directory.len);
	memcpy(name + directory.len, file_name, sizeof(file_name));
	if (!slice_is_null(record) && wheel_record_find(record, path, &at, &file))
		distribution->record_sha256 = arena_copy(arena, file.sha256, failed);
}

static struct target_record *make_record(const struct target *target, struct arena *arena,
                                         bool *failed)
{
	struct target_record *record = arena_calloc(arena, 1, sizeof(*record));

	if (!record) {
		*failed = true;
		return NULL;
	}
	record->kind = slice_of(target_kind_name(target->kind));
	record->state = slice_of(target_state_name(target->state));
	if (target->machine || target->state == TARGET_NO_SYMBOL)
		record->object = arena_copy(arena, target->object, failed);
	record->symbol = arena_copy(arena, target->symbol, failed);
	record->build_id = arena_copy(arena, target->build_id, failed);
	record->sha256 = arena_copy(arena, target->sha256, failed);
	record->machine = target->machine;
	return record;
}

int target_records(struct tree *tree, struct slice site_objects,
                   struct distribution_record *distribution, struct arena *arena,
                   struct error *error)
{
	CLEANUP(cleanup_free) char *made = NULL;
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT;
	struct target_query query = {
	        .site_fd = tree->kind == ROOT_DIRECTORY ? tree->fd : -1,
	        .site_objects = site_objects,
	        .editable = tree_is_editable(tree, distribution->directory),
	        .fetch = tree->operations->fetch,
	        .payload = tree,
	};
	bool failed = false;
	int code =
	        find_record(tree, distribution->directory, &scratch, &query.record, &made, error);

	if (code == ERROR_NOMEM)
		return code;
	find_hash(query.record, distribution, arena, &failed);
	for (size_t i = 0; i < distribution->entry_point_count && !failed; i++) {
		struct entry_point_record *entry_point = &distribution->entry_points[i];
		struct target target;

		if (slice_is_null(entry_point->module))
			continue;
		query.group = entry_point->group;
		query.module = entry_point->module;
		query.attr = entry_point->attr;
		if (target_resolve(&query, &scratch, &target, error) < 0)
			return error_nomem(error);
		if (target.kind != TARGET_PYTHON || target.state != TARGET_OK)
			entry_point->target = make_record(&target, arena, &failed);
	}
	return failed ? error_nomem(error) : 0;
}

/*
 * plugin_record.c - finds the native plugins among the files that a RECORD lists.
 */
#include "libquery/disk/target/plugin_record.h"

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/path.h"

/* A look at the objects of one distribution. */
struct look {
	const struct object_site *site;
	const struct plugin_kinds *kinds;
	struct arena *arena;
	struct plugin_record *found;
	size_t count, room;
	struct error *error;
};

static void cleanup_look(struct look *look)
{
	free(look->found);
}

/* --- which files --- */

/* Data files of a wheel go to the prefix: "../../../lib/x.so". Further up nothing is its own. */
bool plugin_path_is_sound(struct slice object)
{
	int up = 0;

	while (up < PLUGIN_UP_MAX && slice_starts(object, SLICE("../"))) {
		object = slice_from(object, 3);
		up++;
	}
	while (object.len > 0) {
		const char *slash = memchr(object.ptr, '/', object.len);
		struct slice part = slash ? slice_between(object.ptr, slash) : object;

		if (part.len == 0 || slice_equal(part, SLICE("..")) ||
		    memchr(part.ptr, '\0', part.len))
			return false;
		if (!slash)
			return true;
		object = slice_from(object, part.len + 1);
	}
	return false;
}

/* --- one object --- */

static int add(struct look *look, const struct plugin_found *found,
               const struct target_record *target)
{
	struct plugin_record *row;
	bool failed = false;

	if (!array_grow(&look->found, look->count, sizeof(*look->found), &look->room))
		return error_nomem(look->error);
	row = &look->found[look->count++];
	*row = (struct plugin_record){
	        .kind = arena_copy(look->arena, found->kind, &failed),
	        .name = arena_copy(look->arena, found->name, &failed),
	        .target = *target,
	};
	row->target.symbol = arena_copy(look->arena, found->symbol, &failed);
	return failed ? error_nomem(look->error) : 0;
}

/* The object is a plugin of some kind: judge it once, and add it for each of its kinds. */
static int add_all(struct look *look, const struct object *object, const struct wheel_file *file,
                   const struct plugin_match *match)
{
	struct target_record target = {0};
	struct plugin_found found;
	bool failed = false;
	size_t at = 0;
	int code;

	if (!plugin_match_next(match, &at, &found))
		return 0;
	target.object = arena_copy(look->arena, file->path, &failed);
	target.sha256 = arena_copy(look->arena, file->sha256, &failed);
	code = failed ? error_nomem(look->error)
	              : object_describe(object, look->arena, &target, look->error);
	if (code == 0)
		code = object_judge(look->site, object, file, look->arena, &target, look->error);
	if (code < 0 || target.kind == TARGET_EXTENSION)
		return code;
	do {
		code = add(look, &found, &target);
	} while (code == 0 && plugin_match_next(match, &at, &found));
	return code;
}

static int look_at(struct look *look, const struct wheel_file *file)
{
	CLEANUP(object_close) struct object object = OBJECT_INIT;
	struct plugin_match match;
	struct elf_symbol symbol;
	struct error own = {0};
	int code = object_open(look->site, file, &object, &own);

	if (code == 0)
		code = elf_file_symbols(object.file, &own);
	if (code < 0)
		return error_move_failure(look->error, &own);
	plugin_match_begin(&match, look->kinds, path_base(file->path));
	while (elf_file_next_symbol(object.file, &symbol)) {
		if (elf_needs_python(&symbol))
			return 0;
		if (symbol.is_defined && !symbol.is_old)
			plugin_match_symbol(&match, symbol.name);
	}
	return elf_file_header(object.file)->is_shared_object ? add_all(look, &object, file, &match)
	                                                      : 0;
}

/* --- all of them --- */

int plugin_records(const struct object_site *site, const struct wheel_record *record,
                   const struct plugin_kinds *kinds, struct distribution_record *distribution,
                   struct arena *arena, struct error *error)
{
	CLEANUP(cleanup_look) struct look look = {site, kinds, arena, NULL, 0, 0, error};
	struct wheel_file file;
	size_t seen = 0, at = 0;
	int code = 0;

	while (code == 0 && seen < PLUGIN_OBJECTS_MAX &&
	       wheel_record_find(record, SLICE(""), &at, &file)) {
		if (!plugin_kinds_want(kinds, path_base(file.path)) ||
		    !plugin_path_is_sound(file.path))
			continue;
		seen++;
		code = look_at(&look, &file);
	}
	if (code < 0 || look.count == 0)
		return code;
	distribution->plugins = arena_calloc(arena, look.count, sizeof(*look.found));
	if (!distribution->plugins)
		return error_nomem(error);
	memcpy(distribution->plugins, look.found, look.count * sizeof(*look.found));
	distribution->plugin_count = look.count;
	return 0;
}

int plugin_resolve(const struct object_site *site, const struct wheel_file *file,
                   struct slice symbol, struct arena *arena, struct target_record *target,
                   struct error *error)
{
	CLEANUP(object_close) struct object opened = OBJECT_INIT;
	struct elf_facts facts;
	struct error own = {0};
	int code = object_open(site, file, &opened, &own);

	if (code == 0)
		code = elf_file_find(opened.file, symbol, (struct slice){0}, &facts, &own);
	if (code < 0)
		return error_move_failure(error, &own);
	if (!elf_file_header(opened.file)->is_shared_object || !facts.exports_wanted)
		return 0;
	*target = (struct target_record){
	        .object = file->path, .symbol = symbol, .sha256 = file->sha256};
	code = object_describe(&opened, arena, target, error);
	if (code == 0)
		code = object_judge(site, &opened, file, arena, target, error);
	return code < 0 ? code : 1;
}

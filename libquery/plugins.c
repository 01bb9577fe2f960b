/*
 * plugins.c - selects native plugins, from the databases or from the disk.
 *
 * The plugins in a database are used if its distributions are up to date and it was indexed with
 * the same kinds of plugins.
 */
#include "db/base/cleanup.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/names.h"
#include "libquery/select.h"

/* Load the kinds of plugins on first use. */
static int load_kinds(struct entrydb *db, struct error *error)
{
	return db->kinds ? 0 : plugin_kinds_load(db->sysroot, &db->kinds, NULL, error);
}

/* The state of reading one path entry. */
struct look {
	struct selection *selection;
	size_t index; /* of the path entry */
	struct tree *tree;
	struct target_context context;
	struct arena *arena;
};

/* Add plugin number @ordinal of @distribution, which belongs to @candidate. */
static int add_plugin(struct look *look, const struct candidate *candidate,
                      struct distribution_record *distribution, size_t ordinal, struct error *error)
{
	struct entry_point_record record = distribution->plugins[ordinal];
	struct slice object = record.target->object, symbol = record.target->symbol;
	struct entrydb_set *set = look->selection->set;
	int code = 0;

	record.value = set_join(set, set_join(set, object, SLICE(":")), symbol);
	record.module = object;
	record.attr = symbol;
	if (!distribution->has_headers)
		code = distribution_read_headers(look->tree, look->arena, distribution, error);
	if (code >= 0)
		selection_add(look->selection, candidate, (uint32_t)ordinal, &record);
	return code < 0 ? code : 0;
}

static int add_plugins_of(struct look *look, const struct distribution_record *known,
                          struct error *error)
{
	struct distribution_record distribution = *known;
	struct candidate candidate = candidate_of(look->selection->db, look->index, &distribution);
	int code;

	distribution.entry_points = NULL;
	distribution.plugins = NULL;
	distribution.entry_point_count = distribution.plugin_count = 0;
	code = target_records(look->tree, &look->context, &distribution, look->arena, error);
	for (size_t i = 0; code == 0 && i < distribution.plugin_count; i++) {
		if (!selection_wants(look->selection, distribution.plugins[i].group,
		                     distribution.plugins[i].name))
			continue;
		code = selection_admits(look->selection, &candidate, error);
		if (code > 0)
			code = add_plugin(look, &candidate, &distribution, i, error);
	}
	return code;
}

static int add_all_of(struct look *look, const struct root_record *root, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < root->distribution_count; i++)
		if (slice_is_null(root->distributions[i].error))
			code = add_plugins_of(look, &root->distributions[i], error);
	return code;
}

/* Unreadable path entries are reported by selections of entry points. */
static int add_from_disk(struct selection *selection, size_t index, struct linkage *linkage,
                         struct error *error)
{
	const struct path_entry *entry = &selection->db->entries[index];
	CLEANUP(root_record_free) struct root_record rows = {0};
	size_t outside = selection->db->sysroot ? strlen(selection->db->sysroot) : 0;
	struct error own = {0};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	struct look look = {
	        .selection = selection,
	        .index = index,
	        .tree = selection_open(selection, entry, &own),
	        .context = {.linkage = linkage,
	                    .place = slice_of(entry->path + outside), /* within the sysroot */
	                    .kinds = selection->db->kinds},
	        .arena = &arena,
	};
	int code = 0;

	if (!look.tree)
		return error_move_failure(error, &own);
	/* The distributions may come from the database even if their plugins do not. */
	if (!plugins_in_database(selection->db, entry))
		code = selection_rows(selection, index, false, &rows, error);
	if (code == 0)
		code = add_all_of(&look, &rows, error);
	return code == 0 ? add_all_of(&look, &entry->read, error) : code;
}

static int fill_plugins(struct selection *selection, struct error *error)
{
	struct entrydb *db = selection->db;
	CLEANUP(cleanup_linkage)
	struct linkage *linkage = linkage_create(db->sysroot, READERS_NONE);
	int code = linkage ? load_kinds(db, error) : error_nomem(error);

	if (code == 0)
		code = selection_add_rows(selection, error);
	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		if (db->entries[i].read.distribution_count > 0 ||
		    (entry_has_rows(&db->entries[i]) && !plugins_in_database(db, &db->entries[i])))
			code = add_from_disk(selection, i, linkage, error);
	if (code == 0)
		set_sort(selection->set, SET_BY_GROUP);
	return code;
}

int entrydb_plugins(entrydb *db, const char *kind, const char *name, entrydb_set **out,
                    entrydb_error *error)
{
	struct selection selection = {.db = db,
	                              .fill = fill_plugins,
	                              .group = slice_of(kind),
	                              .name = slice_of(name),
	                              .plugins = true};

	return selection_run(&selection, out, error_inside(error));
}

/* @payload: the text. */
static int add_kinds(struct entrydb *db, void *payload, struct error *error)
{
	int code = load_kinds(db, error);

	return code < 0 ? code : plugin_kinds_add(db->kinds, slice_of(payload), error);
}

int entrydb_add_plugin_kinds(entrydb *db, const char *text, entrydb_error *error)
{
	return handle_query(db, add_kinds, (void *)text, error_inside(error));
}

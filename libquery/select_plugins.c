/*
 * select_plugins.c - the plugins of path entries for which no database vouches: found on
 * the disk; see offer.h.
 *
 * A database vouches for the plugins of a path entry if it does for its distributions, and
 * if the same kinds of plugins were looked for.
 */
#include "db/base/cleanup.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/plugin_record.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree_open.h"
#include "libquery/layout.h"
#include "libquery/offer.h"
#include "libquery/site_kinds.h"

/* The kinds of plugins that the handle knows, at first need. */
static int load_kinds(struct entrydb *db, struct error *error)
{
	return db->kinds ? 0 : site_kinds_load(db->sysroot, &db->kinds, NULL, error);
}

/* A look at the distributions of one path entry. */
struct look {
	struct selection *selection;
	size_t index; /* of the path entry */
	struct tree *tree;
	struct target_context context;
	struct arena arena;
};

static bool matches(const struct selection *selection, const struct plugin_record *plugin)
{
	return (slice_is_null(selection->group) || slice_equal(selection->group, plugin->kind)) &&
	       (slice_is_null(selection->name) || slice_equal(selection->name, plugin->name));
}

static int offer_plugin(struct look *look, const struct claim *claim,
                        struct distribution_record *distribution, size_t ordinal,
                        struct error *error)
{
	const struct plugin_record *plugin = &distribution->plugins[ordinal];
	const struct target_record *target = &plugin->target;
	struct entrydb_set *set = look->selection->set;
	const struct entry_point_record record = {
	        .group = plugin->kind,
	        .name = plugin->name,
	        .value = set_join(set, set_join(set, target->object, SLICE(":")), target->symbol),
	        .module = target->object,
	        .attr = target->symbol,
	};
	int code = 0;

	if (!distribution->has_headers)
		code = distribution_read_headers(look->tree, &look->arena, distribution, error);
	if (code < 0)
		return code;
	offer_add(look->selection, &(struct candidate){
	                                   .place = claim->place,
	                                   .ordinal = (uint32_t)ordinal,
	                                   .entry = &look->selection->db->entries[look->index],
	                                   .directory = distribution->directory,
	                                   .distribution = distribution->name,
	                                   .version = distribution->version,
	                                   .record = &record,
	                           });
	return 0;
}

static int offer_plugins_of(struct look *look, const struct distribution_record *known,
                            struct error *error)
{
	struct selection *selection = look->selection;
	struct distribution_record distribution = *known;
	const struct claim claim = {
	        .place = shadowing_place(selection->db, look->index, known->position,
	                                 known->has_metadata),
	        .normalized_name = known->normalized_name,
	};
	int code;

	distribution.entry_points = NULL;
	distribution.plugins = NULL;
	distribution.entry_point_count = distribution.plugin_count = 0;
	code = target_records(look->tree, &look->context, &distribution, &look->arena, error);
	for (size_t i = 0; code == 0 && i < distribution.plugin_count; i++) {
		if (!matches(selection, &distribution.plugins[i]))
			continue;
		code = offer_admits(selection, &claim, error);
		if (code > 0)
			code = offer_plugin(look, &claim, &distribution, i, error);
	}
	return code;
}

static int offer_all_of(struct look *look, const struct root_record *root, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < root->distribution_count; i++)
		if (slice_is_null(root->distributions[i].error))
			code = offer_plugins_of(look, &root->distributions[i], error);
	return code;
}

/* The distributions are known from the database, if not their plugins. */
static int offer_of_rows(struct look *look, const struct path_entry *entry, struct error *error)
{
	struct sources *sources = &look->selection->db->sources;
	CLEANUP(root_record_free)
	struct root_record root = {
	        .id = entry->row.id,
	        .distribution_count = entry->row.distribution_count,
	};
	int code = reader_distributions(sources->items[entry->source].reader, &root, false, error);

	code = sources_check(sources, entry->source, code, error);
	for (size_t i = 0; entry->nameless && i < root.distribution_count; i++)
		root.distributions[i].has_headers = false;
	return code < 0 ? code : offer_all_of(look, &root, error);
}

/* Where the path entry is, as those in the sysroot see it. */
static struct slice place_of_entry(const struct entrydb *db, const struct path_entry *entry)
{
	return slice_of(entry->path + (db->sysroot ? strlen(db->sysroot) : 0));
}

static int offer_of_entry(struct selection *selection, size_t index, struct linkage *linkage,
                          struct error *error)
{
	const struct path_entry *entry = &selection->db->entries[index];
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	struct look look = {
	        .selection = selection,
	        .index = index,
	        .context = {.linkage = linkage,
	                    .place = place_of_entry(selection->db, entry),
	                    .kinds = selection->db->kinds},
	};
	struct error own = {0};
	int code = tree_open(entry->path, &tree, &own);

	look.tree = tree;
	if (code == 0)
		code = entry->state == ENTRY_SCANNED ? offer_all_of(&look, &entry->scanned, &own)
		                                     : offer_of_rows(&look, entry, &own);
	arena_free(&look.arena);
	return error_move_failure(error, &own);
}

/* Those for which no database vouches. */
static int offer_plugins_on_disk(struct selection *selection, struct error *error)
{
	struct entrydb *db = selection->db;
	CLEANUP(cleanup_linkage) struct linkage *linkage = linkage_create(db->sysroot);
	int code = linkage ? 0 : error_nomem(error);

	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		if (db->entries[i].state != ENTRY_ABSENT && !db->entries[i].archive &&
		    !plugins_in_database(db, &db->entries[i]))
			code = offer_of_entry(selection, i, linkage, error);
	return code;
}

/* Those of databases first; what cannot be read says so where entry points are asked for. */
static int ask_providers(struct selection *selection, struct error *error)
{
	int code = load_kinds(selection->db, error);

	if (code == 0)
		code = rows_provider.offer(selection, error);
	return code < 0 ? code : offer_plugins_on_disk(selection, error);
}

int entrydb_plugins(entrydb *db, const char *kind, const char *name, entrydb_set **out,
                    entrydb_error *error)
{
	return offer_ask(db,
	                 (struct request){.group = slice_of(kind),
	                                  .name = slice_of(name),
	                                  .plugins = true,
	                                  .ask_providers = ask_providers},
	                 out, error);
}

/* @payload: the text. */
static int add_kinds(struct entrydb *db, void *payload, struct error *error)
{
	int code = load_kinds(db, error);

	return code < 0 ? code : plugin_kinds_add(db->kinds, slice_of(payload), error);
}

int entrydb_add_plugin_kinds(entrydb *db, const char *text, entrydb_error *error)
{
	return handle_ask(db, add_kinds, (void *)text, error);
}

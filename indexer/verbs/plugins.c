/*
 * plugins.c - native plugins that announce themselves by a symbol alone.
 */
#include "db/json.h"
#include "indexer/command.h"
#include "indexer/table.h"
#include "indexer/target_facts.h"
#include "indexer/verb.h"

/* --- JSON --- */

static const char *const keys[] = {"kind",        "name",  "distribution",   "version",
                                   "path",        "file",  "object",         "symbol",
                                   "object_kind", "state", TARGET_FACTS_KEYS};

#define KEY_COUNT  (sizeof(keys) / sizeof(*keys))
#define FACTS_FROM (KEY_COUNT - TARGET_FACTS_COUNT)

static void print_object(struct json *json, const entrydb_entry_point *plugin,
                         const entrydb_target *target)
{
	const char *const texts[FACTS_FROM] = {
	        entrydb_entry_point_group(plugin),
	        entrydb_entry_point_name(plugin),
	        entrydb_entry_point_distribution(plugin),
	        entrydb_entry_point_version(plugin),
	        entrydb_entry_point_path(plugin),
	        entrydb_entry_point_file(plugin),
	        target ? entrydb_target_object(target) : NULL,
	        entrydb_entry_point_attr(plugin),
	        target ? entrydb_kind_name(entrydb_target_kind(target)) : NULL,
	        target ? entrydb_state_name(entrydb_target_state(target)) : NULL,
	};

	for (size_t i = 0; i < FACTS_FROM; i++)
		json_text(json, i, slice_of(texts[i]));
	if (target)
		target_facts_put(json, FACTS_FROM, target);
	json_write(json, stdout);
}

/* --- text --- */

static const struct table_column columns[] = {
        {"KIND", STYLE_PLAIN},   {"NAME", STYLE_NAME},          {"STATE", STYLE_PLAIN},
        {"OBJECT", STYLE_PLAIN}, {"DISTRIBUTION", STYLE_PLAIN}, {"VERSION", STYLE_PLAIN},
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(*columns))

static void put_row(struct table *table, const entrydb_entry_point *plugin,
                    const entrydb_target *target)
{
	const char *distribution = entrydb_entry_point_distribution(plugin);

	table_cell(table, slice_of(entrydb_entry_point_group(plugin)));
	table_cell(table, slice_of(entrydb_entry_point_name(plugin)));
	table_cell(table,
	           slice_of(target ? entrydb_state_name(entrydb_target_state(target)) : "missing"));
	table_cell(table, slice_of(target ? entrydb_target_object(target) : NULL));
	table_cell(table, slice_of(distribution ? distribution : entrydb_entry_point_file(plugin)));
	table_cell(table, slice_of(entrydb_entry_point_version(plugin)));
}

/* --- both --- */

/* @json: NULL for text. */
static int print_one(entrydb *db, const entrydb_entry_point *plugin, struct table *table,
                     struct json *json, struct error *error)
{
	entrydb_target *target;
	int code = find_target(db, plugin, &target, error);

	if (code < 0)
		return code;
	if (json)
		print_object(json, plugin, target);
	else
		put_row(table, plugin, target);
	entrydb_target_free(target);
	return 0;
}

static int print_all(const struct options *options, entrydb *db, const entrydb_set *set,
                     struct error *error)
{
	struct table table = table_begin(columns, COLUMN_COUNT);
	struct json *json = NULL;
	int code = options->json ? json_open(keys, KEY_COUNT, &json, error) : 0;
	int ended;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(set); i++)
		code = print_one(db, entrydb_set_get(set, i), &table, json, error);
	json_close(json);
	ended = table_end(&table, code == 0 ? error : NULL);
	return code == 0 ? ended : code;
}

static enum status print_plugins(const struct options *options, entrydb *db)
{
	const char *kind = options->argument_count > 0 ? options->arguments[0] : NULL;
	const char *name = options->argument_count > 1 ? options->arguments[1] : NULL;
	enum status status = STATUS_DONE;
	entrydb_error failure = ENTRYDB_ERROR_INIT;
	struct error error = {0};
	entrydb_set *set;
	int code = entrydb_plugins(db, kind, name, &set, &failure);

	if (code < 0) {
		take_error(code, &failure, &error);
		return fail(&error);
	}
	if (entrydb_set_count(set) == 0) {
		note(options, "no plugin was found");
		status = STATUS_NOT_FOUND;
	} else if (print_all(options, db, set, &error) < 0) {
		status = fail(&error);
	}
	entrydb_set_free(set);
	return status;
}

enum status command_plugins(const struct options *options)
{
	struct error error = {0};
	entrydb *db;
	enum status status;

	if (open_handle(options, &db, &error) < 0)
		return fail(&error);
	status = print_plugins(options, db);
	entrydb_close(db);
	return status;
}

/*
 * list.c - entry points, as importlib.metadata would order them.
 */
#include "db/json.h"
#include "indexer/command.h"
#include "indexer/suggest.h"
#include "indexer/table.h"
#include "indexer/target_facts.h"
#include "indexer/verb.h"

enum key {
	KEY_GROUP,
	KEY_NAME,
	KEY_VALUE,
	KEY_MODULE,
	KEY_ATTR,
	KEY_EXTRAS,
	KEY_DISTRIBUTION,
	KEY_VERSION,
	KEY_PATH,
	KEY_FILE,
	KEY_KIND,
	KEY_OBJECT,
	KEY_SYMBOL,
	KEY_STATE,
	KEY_FACTS, /* target_facts.h */
	KEY_COUNT = KEY_FACTS + TARGET_FACTS_COUNT,
};

static const char *const keys[KEY_COUNT] = {
        [KEY_GROUP] = "group",
        [KEY_NAME] = "name",
        [KEY_VALUE] = "value",
        [KEY_MODULE] = "module",
        [KEY_ATTR] = "attr",
        [KEY_EXTRAS] = "extras[]",
        [KEY_DISTRIBUTION] = "distribution",
        [KEY_VERSION] = "version",
        [KEY_PATH] = "path",
        [KEY_FILE] = "file",
        [KEY_KIND] = "kind",
        [KEY_OBJECT] = "object",
        [KEY_SYMBOL] = "symbol",
        [KEY_STATE] = "state",
        TARGET_FACTS_KEYS,
};

static const enum entrydb_field fields[] = {
        [KEY_GROUP] = ENTRYDB_FIELD_GROUP,
        [KEY_NAME] = ENTRYDB_FIELD_NAME,
        [KEY_VALUE] = ENTRYDB_FIELD_VALUE,
        [KEY_MODULE] = ENTRYDB_FIELD_MODULE,
        [KEY_ATTR] = ENTRYDB_FIELD_ATTR,
        [KEY_EXTRAS] = ENTRYDB_FIELD_EXTRAS,
        [KEY_DISTRIBUTION] = ENTRYDB_FIELD_DISTRIBUTION,
        [KEY_VERSION] = ENTRYDB_FIELD_VERSION,
        [KEY_PATH] = ENTRYDB_FIELD_PATH,
        [KEY_FILE] = ENTRYDB_FIELD_FILE,
};

#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

static struct slice text_of(const entrydb_entry_point *entry_point, enum entrydb_field field)
{
	size_t len = 0;
	const char *text = entrydb_entry_point_text(entry_point, field, &len);

	return (struct slice){text, len};
}

/* --- JSON --- */

static void put_target(struct json *json, const entrydb_target *target)
{
	json_text(json, KEY_KIND, slice_of(entrydb_kind_name(entrydb_target_kind(target))));
	json_text(json, KEY_OBJECT, slice_of(entrydb_target_object(target)));
	json_text(json, KEY_SYMBOL, slice_of(entrydb_target_symbol(target)));
	json_text(json, KEY_STATE, slice_of(entrydb_state_name(entrydb_target_state(target))));
	target_facts_put(json, KEY_FACTS, target);
}

/* What leads nowhere now (its directory has vanished, say) has no kind. */
static int print_object(entrydb *db, const entrydb_entry_point *entry_point, struct json *json,
                        struct error *error)
{
	entrydb_target *target;
	int code = find_target(db, entry_point, &target, error);

	if (code < 0)
		return code;
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		struct slice text = text_of(entry_point, fields[i]);

		if (i == KEY_EXTRAS)
			json_words(json, i, text);
		else
			json_text(json, i, text);
	}
	if (target)
		put_target(json, target);
	json_write(json, stdout);
	entrydb_target_free(target);
	return 0;
}

static int print_objects(entrydb *db, const entrydb_set *set, struct error *error)
{
	struct json *json;
	int code = json_open(keys, KEY_COUNT, &json, error);

	if (code < 0)
		return code;
	for (size_t i = 0; code == 0 && i < entrydb_set_count(set); i++)
		code = print_object(db, entrydb_set_get(set, i), json, error);
	json_close(json);
	return code;
}

/* --- text --- */

static const struct table_column columns[] = {
        {"GROUP", STYLE_PLAIN},        {"NAME", STYLE_NAME},     {"VALUE", STYLE_PLAIN},
        {"DISTRIBUTION", STYLE_PLAIN}, {"VERSION", STYLE_PLAIN},
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(*columns))

static void put_row(struct table *table, const entrydb_entry_point *entry_point)
{
	struct slice distribution = text_of(entry_point, ENTRYDB_FIELD_DISTRIBUTION);

	if (slice_is_null(distribution))
		distribution = text_of(entry_point, ENTRYDB_FIELD_FILE);
	table_cell(table, text_of(entry_point, ENTRYDB_FIELD_GROUP));
	table_cell(table, text_of(entry_point, ENTRYDB_FIELD_NAME));
	table_cell(table, text_of(entry_point, ENTRYDB_FIELD_VALUE));
	table_cell(table, distribution);
	table_cell(table, text_of(entry_point, ENTRYDB_FIELD_VERSION));
}

static int print_text(const entrydb_set *set, struct error *error)
{
	struct table table = table_begin(columns, COLUMN_COUNT);

	for (size_t i = 0; i < entrydb_set_count(set); i++)
		put_row(&table, entrydb_set_get(set, i));
	return table_end(&table, error);
}

/* --- the whole --- */

/* To a program that asked for a group the status is enough, where no name is near. */
static void explain_nothing(const struct options *options, entrydb *db, const char *group,
                            const char *name)
{
	bool said = group && suggest_entry_point(options, db, group, name);

	if (said || (group && !terminal_is(stderr)))
		return;
	if (!advise_on_nothing(options, db))
		note(options, "nothing was found");
}

enum status command_list(const struct options *options)
{
	const char *group = options->argument_count > 0 ? options->arguments[0] : options->group;
	const char *name = options->argument_count > 1 ? options->arguments[1] : NULL;
	struct error error = {0};
	entrydb *db;
	entrydb_set *set;
	enum status status;
	int code;

	if (select_by(options, group, name, &db, &set, &error) < 0)
		return fail(&error);
	status = entrydb_set_count(set) > 0 ? STATUS_DONE : STATUS_NOT_FOUND;
	code = options->json ? print_objects(db, set, &error) : print_text(set, &error);
	if (code < 0)
		status = fail(&error);
	report_problems(set);
	if (status == STATUS_NOT_FOUND)
		explain_nothing(options, db, group, name);
	entrydb_set_free(set);
	entrydb_close(db);
	return status;
}

/*
 * list.c - entry points, as importlib.metadata would order them.
 */
#include <stdio.h>

#include "command.h"
#include "json.h"

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
	KEY_COUNT,
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
};

static const enum entrydb_field fields[] = {
        [KEY_GROUP] = ENTRYDB_GROUP,
        [KEY_NAME] = ENTRYDB_NAME,
        [KEY_VALUE] = ENTRYDB_VALUE,
        [KEY_MODULE] = ENTRYDB_MODULE,
        [KEY_ATTR] = ENTRYDB_ATTR,
        [KEY_EXTRAS] = ENTRYDB_EXTRAS,
        [KEY_DISTRIBUTION] = ENTRYDB_DISTRIBUTION,
        [KEY_VERSION] = ENTRYDB_VERSION_TEXT,
        [KEY_PATH] = ENTRYDB_PATH,
        [KEY_FILE] = ENTRYDB_FILE,
};

#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

static struct slice text_of(const entrydb_entry *entry, enum entrydb_field field)
{
	size_t len = 0;
	const char *text = entrydb_entry_text(entry, field, &len);

	return (struct slice){text, len};
}

static void put_target(struct json *json, const entrydb_target *target)
{
	json_text(json, KEY_KIND, slice_of(target->kind));
	json_text(json, KEY_OBJECT, slice_of(target->object));
	json_text(json, KEY_SYMBOL, slice_of(target->symbol));
	json_text(json, KEY_STATE, slice_of(target->state));
}

/* What cannot be resolved now (a directory that vanished, say) has no kind. */
static int print_json(entrydb *db, const entrydb_entry *entry, struct json *json,
                      struct error *error)
{
	entrydb_target *target = NULL;
	int code;

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		struct slice text = text_of(entry, fields[i]);

		if (i == KEY_EXTRAS)
			json_words(json, i, text);
		else
			json_text(json, i, text);
	}
	if (entrydb_resolve(db, entry, &target, NULL) == 0)
		put_target(json, target);
	code = json_write(json, stdout, error);
	entrydb_target_free(target);
	return code;
}

static void print_column(struct slice text, char end)
{
	print_escaped(text);
	putchar(end);
}

static void print_text(const entrydb_entry *entry)
{
	struct slice distribution = text_of(entry, ENTRYDB_DISTRIBUTION);

	if (slice_is_null(distribution))
		distribution = text_of(entry, ENTRYDB_FILE);
	print_column(text_of(entry, ENTRYDB_GROUP), '\t');
	print_column(text_of(entry, ENTRYDB_NAME), '\t');
	print_column(text_of(entry, ENTRYDB_VALUE), '\t');
	print_column(distribution, '\t');
	print_column(text_of(entry, ENTRYDB_VERSION_TEXT), '\n');
}

static int print_all(const struct options *options, entrydb *db, const entrydb_set *set,
                     struct error *error)
{
	struct json *json = NULL;
	int code = options->json ? json_open(keys, KEY_COUNT, &json, error) : 0;

	for (size_t i = 0; code == 0 && i < entrydb_set_count(set); i++) {
		if (json)
			code = print_json(db, entrydb_set_get(set, i), json, error);
		else
			print_text(entrydb_set_get(set, i));
	}
	json_close(json);
	return code;
}

enum status command_list(const struct options *options)
{
	const char *group = options->argument_count > 0 ? options->arguments[0] : options->group;
	const char *name = options->argument_count > 1 ? options->arguments[1] : NULL;
	struct error error = {0};
	entrydb *db;
	entrydb_set *set;
	enum status status;

	if (select_by(options, group, name, &db, &set, &error) < 0)
		return fail(&error);
	status = entrydb_set_count(set) > 0 ? STATUS_DONE : STATUS_NOT_FOUND;
	if (print_all(options, db, set, &error) < 0)
		status = fail(&error);
	report_problems(set);
	entrydb_set_free(set);
	entrydb_close(db);
	return status;
}

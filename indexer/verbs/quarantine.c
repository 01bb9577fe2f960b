/*
 * quarantine.c - the shared objects that are set aside: listed, and freed.
 */
#include <stdio.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/json.h"
#include "indexer/command.h"
#include "indexer/options.h"
#include "indexer/table.h"
#include "libquery/layout.h"
#include "libquery/native/quarantine.h"

/* --- listing --- */

static const char *const keys[] = {"id", "object", "reason"};

static const struct table_column columns[] = {
        {"ID", STYLE_NAME}, {"REASON", STYLE_BAD}, {"OBJECT", STYLE_PLAIN}};

#define KEY_COUNT    (sizeof(keys) / sizeof(*keys))
#define COLUMN_COUNT (sizeof(columns) / sizeof(*columns))

static int put_row(void *payload, const char *id, const char *object, const char *reason)
{
	table_cell(payload, slice_of(id));
	table_cell(payload, slice_of(reason));
	table_cell(payload, slice_of(object));
	return 0;
}

static int put_object(void *payload, const char *id, const char *object, const char *reason)
{
	json_text(payload, 0, slice_of(id));
	json_text(payload, 1, slice_of(object));
	json_text(payload, 2, slice_of(reason));
	json_write(payload, stdout);
	return 0;
}

static int print_table(const char *directory, struct error *error)
{
	struct table table = table_begin(columns, COLUMN_COUNT);
	int code = quarantine_walk(directory, put_row, &table, error);
	int end = table_end(&table, code == 0 ? error : NULL);

	return code < 0 ? code : end;
}

static int print_json(const char *directory, struct error *error)
{
	struct json *json;
	int code = json_open(keys, KEY_COUNT, &json, error);

	if (code < 0)
		return code;
	code = quarantine_walk(directory, put_object, json, error);
	json_close(json);
	return code;
}

/* --- freeing --- */

struct clearing {
	const char *directory;
	struct error *error;
};

static int clear_one(void *payload, const char *id, const char *object, const char *reason)
{
	const struct clearing *clearing = payload;
	int code = quarantine_remove(clearing->directory, id, clearing->error);

	(void)object;
	(void)reason;
	return code < 0 ? code : 0;
}

static int clear_all(const char *directory, struct error *error)
{
	struct clearing clearing = {directory, error};

	return quarantine_walk(directory, clear_one, &clearing, error);
}

static enum status clear_named(const struct options *options, const char *directory,
                               struct error *error)
{
	enum status status = STATUS_DONE;

	for (size_t i = 0; i < options->argument_count; i++) {
		int code = quarantine_remove(directory, options->arguments[i], error);

		if (code < 0 && code != ERROR_NOTFOUND)
			return fail(error);
		error_clear(error);
		if (code > 0)
			continue;
		message("%s is not set aside", options->arguments[i]);
		status = STATUS_NOT_FOUND;
	}
	return status;
}

enum status command_quarantine(const struct options *options)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	struct error error = {0};
	int code = layout_quarantine(&directory) < 0 ? error_nomem(&error) : 0;

	if (options->argument_count > 0 && !options->clear)
		return usage_error("quarantine", "IDs are for --clear");
	if (code == 0 && !directory)
		code = error_set(&error, ERROR_NOTFOUND,
		                 "HOME is not set: there is no place for what is set aside");
	if (code < 0)
		return fail(&error);
	if (options->argument_count > 0)
		return clear_named(options, directory, &error);
	if (options->clear)
		code = clear_all(directory, &error);
	else
		code = options->json ? print_json(directory, &error)
		                     : print_table(directory, &error);
	return code < 0 ? fail(&error) : STATUS_DONE;
}

/*
 * status.c - what is searched: its databases, how fresh they are and since when, and whether
 * Python asks them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "db/reader.h"
#include "indexer/output.h"
#include "indexer/suggest.h"
#include "indexer/verb.h"

#define SIGN "# Written by 'python -m entrydb on" /* how sitecustomize.py begins then */

static const struct column columns[] = {
        COLUMN("path", "PATH", STYLE_NAME),
        COLUMN("state", "STATE", STYLE_PLAIN),
        COLUMN("python", "PYTHON", STYLE_PLAIN),
        COLUMN("since", "UPDATED", STYLE_FAINT),
        COLUMN("command", "BY", STYLE_PLAIN),
        COLUMN("database", "DATABASE", STYLE_PLAIN),
        KEY("reason"),
};

/* The newest event of a database. */
struct last {
	char time[TIME_SIZE];
	char *command; /* NULL: there is none */
};

static int keep_last(void *payload, const struct event_record *event)
{
	struct last *last = payload;

	time_text(event->time, last->time);
	free(last->command);
	last->command = strndup(event->command.ptr ? event->command.ptr : "", event->command.len);
	return last->command ? 0 : ERROR_NOMEM;
}

/* Empty where it cannot be read: the state says that readers do not use it. */
static struct last last_of(const char *database)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	struct last last = {0};

	if (database && reader_open(database, geteuid(), &reader, NULL) == 0)
		reader_events(reader, keep_last, &last, NULL);
	return last;
}

/* Does Python, where this is a path entry, ask entrydb? See "python -m entrydb on". */
static bool is_switched_on(const char *path)
{
	CLEANUP(cleanup_free) char *pth = text_format("%s/entrydb.pth", path);
	CLEANUP(cleanup_free) char *custom = text_format("%s/sitecustomize.py", path);
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;

	if (pth && access(pth, F_OK) == 0)
		return true;
	return custom && small_file_read(custom, sizeof(SIGN) - 1, &text, &length, NULL) > 0 &&
	       strcmp(text, SIGN) == 0;
}

static void put(struct output *output, const entrydb_path_entry *entry)
{
	const char *path = entrydb_path_entry_path(entry);
	const char *database = entrydb_path_entry_database(entry);
	struct last last = last_of(database);

	output_string(output, path);
	output_string(output, entrydb_path_state_name(entrydb_path_entry_state(entry)));
	output_string(output, is_switched_on(path) ? "on" : "off");
	output_string(output, last.command ? last.time : NULL);
	output_string(output, last.command);
	output_string(output, database);
	output_string(output, entrydb_path_entry_reason(entry));
	free(last.command);
}

enum status command_status(const struct options *options)
{
	CLEANUP(selection_free) struct selection found = {0};
	struct output output = OUTPUT_BEGIN(columns, options->json);
	entrydb_error own = ENTRYDB_ERROR_INIT;
	struct error error = {0};
	entrydb_path *path = NULL;
	size_t count;
	int code = open_handle(options, &found.db, &error);

	if (code == 0) {
		code = entrydb_describe_path(found.db, &path, &own);
		code = code < 0 ? take_error(code, &own, &error) : 0;
	}
	count = code == 0 ? entrydb_path_count(path) : 0;
	for (size_t i = 0; i < count; i++)
		put(&output, entrydb_path_get(path, i));
	if (output_end(&output, code == 0 ? &error : NULL) < 0 && code == 0)
		code = ERROR_NOMEM;
	entrydb_path_free(path);
	if (code < 0)
		return fail(&error);
	if (count > 0)
		return STATUS_DONE;
	advise_on_nothing(options, found.db);
	return STATUS_NOT_FOUND;
}

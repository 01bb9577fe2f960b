/*
 * status.c - prints the path entries with their entry points, databases and freshness, and whether
 * Python uses entrydb there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/reader.h"
#include "indexer/verb.h"

#define SIGN "# Written by 'python -m entrydb on" /* how sitecustomize.py begins then */

static const struct column columns[] = {
        COLUMN("path", "PATH", STYLE_NAME),
        COLUMN("state", "STATE", STYLE_PLAIN),
        COLUMN("entry_points", "ENTRY POINTS", STYLE_PLAIN),
        COLUMN("python", "ACCELERATED", STYLE_PLAIN),
        COLUMN("since", "UPDATED", STYLE_FAINT),
        COLUMN("command", "BY", STYLE_PLAIN),
        COLUMN("database", "DATABASE", STYLE_PLAIN),
        KEY("reason"),
};

/* On a terminal, which is not wide, these have a table of their own. */
static const struct column database_columns[] = {
        HEADING("DATABASE", STYLE_NAME),
        HEADING("UPDATED", STYLE_FAINT),
        HEADING("BY", STYLE_PLAIN),
};

/* The newest event of a database. */
struct last {
	int64_t time;
	char *command; /* NULL: there is none */
};

static int keep_last(void *payload, const struct event_record *event)
{
	struct last *last = payload;

	free(last->command);
	last->time = event->time;
	last->command = strndup(event->command.ptr ? event->command.ptr : "", event->command.len);
	return last->command ? 0 : ERROR_NOMEM;
}

/* Nothing where the database cannot be read: the state says that readers do not use it. */
static void put_last(struct output *output, const char *database)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	struct last last = {0};

	if (database && reader_open(database, geteuid(), &reader, NULL) == 0)
		reader_events(reader, keep_last, &last, NULL);
	if (last.command)
		output_time(output, last.time);
	else
		output_string(output, NULL);
	output_string(output, last.command);
	free(last.command);
}

/* Does Python, where this is a path entry, ask entrydb? See "python -m entrydb on". */
static bool is_switched_on(const char *path)
{
	CLEANUP(cleanup_free) char *pth = text_format("%s/entrydb.pth", path);
	CLEANUP(cleanup_free) char *custom = text_format("%s/sitecustomize.py", path);
	CLEANUP(cleanup_free) char *text = NULL;
	struct stat status;
	size_t length = 0;

	if (pth && file_status(AT_FDCWD, pth, &status, NULL) > 0)
		return true;
	return custom && small_file_read(custom, sizeof(SIGN) - 1, &text, &length, NULL) > 0 &&
	       strcmp(text, SIGN) == 0;
}

/* How many of them this path entry has. */
static int64_t count_of(const entrydb_set *set, const char *path)
{
	int64_t count = 0;

	for (size_t i = 0; i < entrydb_set_count(set); i++)
		count += strcmp(entrydb_entry_point_path(entrydb_set_get(set, i)), path) == 0;
	return count;
}

static int put_paths(const struct options *options, const struct question *found,
                     struct error *error)
{
	const entrydb_path *path = found->path;
	bool is_aligned = !options->json && terminal_is(stdout);
	struct output output = output_begin(
	        columns, is_aligned ? 4 : sizeof(columns) / sizeof(*columns), options->json);

	for (size_t i = 0; i < entrydb_path_count(path); i++) {
		const entrydb_path_entry *entry = entrydb_path_get(path, i);
		const char *database = entrydb_path_entry_database(entry);
		const char *place = entrydb_path_entry_path(entry);

		output_string(&output, place);
		output_string(&output, entrydb_path_state_name(entrydb_path_entry_state(entry)));
		output_number(&output, count_of(found->set, place));
		output_string(&output, is_switched_on(place) ? "on" : "off");
		if (is_aligned)
			continue;
		put_last(&output, database);
		output_string(&output, database);
		output_string(&output, entrydb_path_entry_reason(entry));
	}
	return output_end(&output, error);
}

static int put_databases(const struct options *options, const entrydb_path *path,
                         struct error *error)
{
	struct output output = OUTPUT_BEGIN(database_columns, false);
	CLEANUP(sites_free) struct sites seen = {0};

	for (size_t i = 0; i < entrydb_path_count(path); i++) {
		const char *database = entrydb_path_entry_database(entrydb_path_get(path, i));
		size_t before = seen.count;

		output.failed |= database && !sites_add(&seen, database);
		if (seen.count == before)
			continue;
		if (before == 0)
			putc('\n', output.stream);
		output_string(&output, database);
		put_last(&output, database);
	}
	if (seen.count == 0 && entrydb_path_count(path) > 0)
		note(options, "no database yet: each query reads the disk; 'entrydb update' "
		              "makes one");
	return output_end(&output, error);
}

int command_status(const struct options *options, struct error *error)
{
	CLEANUP(question_free) struct question found = {0};
	int code = select_by(options, entrydb_select, NULL, NULL, &found, error);

	if (code == 0)
		code = question_describe(&found, error);
	if (code == 0)
		code = put_paths(options, &found, error);
	if (code == 0 && !options->json && terminal_is(stdout))
		code = put_databases(options, found.path, error);
	if (code < 0 || entrydb_path_count(found.path) > 0)
		return code;
	advise_on_nothing(options, found.db);
	return STATUS_NOT_FOUND;
}

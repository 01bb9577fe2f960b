/*
 * log.c - the audit trail: what updates and hooks saw happen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "db/base/arena.h"
#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "db/json.h"
#include "db/reader.h"
#include "indexer/command.h"
#include "indexer/databases.h"
#include "indexer/table.h"
#include "indexer/verb.h"

static const char *const keys[] = {"time",    "action", "root",    "distribution", "old_version",
                                   "version", "detail", "command", "uid",          "database"};

#define KEY_COUNT (sizeof(keys) / sizeof(*keys))

/* An event of one of the databases. */
struct event {
	struct reader_event facts; /* texts in the arena of the log */
	const char *database;      /* borrowed */
	size_t number; /* in the order of the databases, and in each of its identifiers */
};

struct log {
	const char *database; /* the one that is being read */
	struct arena texts;
	struct event *events;
	size_t count, room;
};

/* --- reading --- */

static void cleanup_log(struct log *log)
{
	free(log->events);
	arena_free(&log->texts);
}

static int keep_event(void *payload, const struct reader_event *event)
{
	struct log *log = payload;
	struct reader_event facts = *event;
	struct slice *texts[] = {&facts.action,      &facts.root,    &facts.distribution,
	                         &facts.old_version, &facts.version, &facts.detail,
	                         &facts.command};
	bool failed = !array_grow(&log->events, log->count, sizeof(*log->events), &log->room);

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i] = arena_copy(&log->texts, *texts[i], &failed);
	if (failed)
		return ERROR_NOMEM;
	log->events[log->count] = (struct event){facts, log->database, log->count};
	log->count++;
	return 0;
}

static int read_database(struct log *log, const char *file, struct error *error)
{
	struct reader *reader;
	int code = reader_open(file, geteuid(), &reader, error);

	if (code < 0)
		return code;
	log->database = file;
	code = reader_events(reader, keep_event, log, error);
	reader_close(reader);
	return code == ERROR_NOMEM ? error_nomem(error) : code;
}

/* Those of one second stay as their database has them. */
static int compare_events(const void *a, const void *b)
{
	const struct event *one = a, *other = b;

	if (one->facts.time != other->facts.time)
		return one->facts.time < other->facts.time ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

/* --- printing --- */

static void format_time(int64_t seconds, char text[32])
{
	time_t time = (time_t)seconds;
	struct tm parts;

	if (!gmtime_r(&time, &parts) || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		snprintf(text, 32, "%lld", (long long)seconds);
}

static void print_object(struct json *json, const struct event *event)
{
	const struct reader_event *facts = &event->facts;
	char time[32];

	format_time(facts->time, time);
	json_text(json, 0, slice_of(time));
	json_text(json, 1, facts->action);
	json_text(json, 2, facts->root);
	json_text(json, 3, facts->distribution);
	json_text(json, 4, facts->old_version);
	json_text(json, 5, facts->version);
	json_text(json, 6, facts->detail);
	json_text(json, 7, facts->command);
	json_number(json, 8, facts->uid);
	json_text(json, 9, slice_of(event->database));
	json_write(json, stdout);
}

static int print_objects(const struct log *log, struct error *error)
{
	struct json *json;
	int code = json_open(keys, KEY_COUNT, &json, error);

	if (code < 0)
		return code;
	for (size_t i = 0; i < log->count; i++)
		print_object(json, &log->events[i]);
	json_close(json);
	return 0;
}

static const char *text_or(struct slice text, const char *otherwise)
{
	return text.len ? text.ptr : otherwise;
}

/* "name 1.0 -> 2.0", "name 1.0", "name group/entry: value", or what else it is about. malloc'd. */
static char *describe(const struct reader_event *facts)
{
	bool both = facts->old_version.len && facts->version.len;
	const char *only =
	        text_or(facts->old_version, text_or(facts->version, text_or(facts->detail, "")));

	if (slice_is_null(facts->distribution))
		return strdup(text_or(facts->detail, ""));
	if (both)
		return text_format("%s %s -> %s", facts->distribution.ptr, facts->old_version.ptr,
		                   facts->version.ptr);
	return text_format("%s%s%s", facts->distribution.ptr, *only ? " " : "", only);
}

static void put_row(struct table *table, const struct event *event)
{
	CLEANUP(cleanup_free) char *what = describe(&event->facts);
	char time[32], user[32];

	table->failed |= !what;
	format_time(event->facts.time, time);
	snprintf(user, sizeof(user), "uid %lld", (long long)event->facts.uid);
	table_cell(table, slice_of(time));
	table_cell(table, event->facts.action);
	table_cell(table, slice_of(what));
	table_cell(table, event->facts.root);
	table_cell(table, event->facts.command);
	table_cell(table, slice_of(user));
}

static int print_text(const struct log *log, struct error *error)
{
	static const struct table_column columns[] = {
	        {"TIME", STYLE_FAINT}, {"ACTION", STYLE_PLAIN},  {"DISTRIBUTION", STYLE_NAME},
	        {"ROOT", STYLE_PLAIN}, {"COMMAND", STYLE_PLAIN}, {"USER", STYLE_PLAIN},
	};
	struct table table = table_begin(columns, sizeof(columns) / sizeof(*columns));

	for (size_t i = 0; i < log->count; i++)
		put_row(&table, &log->events[i]);
	return table_end(&table, error);
}

/* --- the whole --- */

/* The databases of the default path, of --path, or the one of --db. */
static int find_databases(const struct options *options, struct databases *out, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	struct options paths = *options;
	int code = 0;

	paths.arguments = options->path;
	paths.argument_count = options->path_count;
	if (options->path_count > 0)
		return databases_of_arguments(&paths, false, out, error);
	code = default_sites(options, &sites, error);
	for (size_t i = 0; code == 0 && i < sites.count; i++)
		code = databases_add_path(options, false, sites.paths[i], out, error);
	return code;
}

/* One database that cannot be read does not stop the others. */
static enum status read_databases(const struct databases *databases, struct log *log)
{
	enum status status = STATUS_DONE;
	struct error error = {0};

	for (size_t i = 0; i < databases->count; i++) {
		int code = read_database(log, databases->items[i].file, &error);

		if (code < 0 && code != ERROR_NOTFOUND)
			status = fail(&error);
		error_clear(&error);
	}
	return status;
}

static enum status print(const struct options *options, struct log *log, enum status status)
{
	struct error error = {0};

	if (log->count > 0)
		qsort(log->events, log->count, sizeof(*log->events), compare_events);
	if ((options->json ? print_objects(log, &error) : print_text(log, &error)) < 0)
		return fail(&error);
	if (status != STATUS_DONE || log->count > 0)
		return status;
	note(options, "nothing has been recorded; 'entrydb update' records what is installed");
	return STATUS_NOT_FOUND;
}

enum status command_log(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(cleanup_log) struct log log = {0};
	struct error error = {0};
	enum status status = STATUS_DONE;
	int code;

	if (options->database)
		code = read_database(&log, options->database, &error);
	else
		code = find_databases(options, &databases, &error);
	if (code < 0)
		return fail(&error);
	if (!options->database)
		status = read_databases(&databases, &log);
	return print(options, &log, status);
}

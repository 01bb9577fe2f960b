/*
 * log.c - prints the audit trail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/base/arena.h"
#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "db/reader.h"
#include "indexer/databases.h"
#include "indexer/verb.h"

static const struct column columns[] = {
        COLUMN("time", "TIME", STYLE_FAINT),
        COLUMN("action", "ACTION", STYLE_PLAIN),
        HEADING("DISTRIBUTION", STYLE_NAME | STYLE_WIDE),
        COLUMN("root", "ROOT", STYLE_PLAIN),
        KEY("distribution"),
        KEY("old_version"),
        KEY("version"),
        KEY("detail"),
        COLUMN("command", "COMMAND", STYLE_PLAIN),
        HEADING("USER", STYLE_PLAIN),
        KEY("uid"),
        KEY("database"),
};

/* An event of one of the databases. */
struct event {
	struct event_record facts; /* texts in the arena of the log */
	const char *database;      /* borrowed */
	size_t number;             /* by database, then by id */
};

struct log {
	const char *database; /* the current one */
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

static int keep_event(void *payload, const struct event_record *event)
{
	struct log *log = payload;
	struct event_record facts = *event;
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
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	int code = reader_open(file, geteuid(), &reader, error);

	log->database = file;
	if (code == 0)
		code = reader_events(reader, keep_event, log, error);
	return code == ERROR_NOMEM ? error_nomem(error) : code;
}

/* Events of the same second keep the order of their database. */
static int compare_events(const void *a, const void *b)
{
	const struct event *one = a, *other = b;

	if (one->facts.time != other->facts.time)
		return one->facts.time < other->facts.time ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

/* --- printing --- */

/*
 * "name 1.0 -> 2.0", "name 1.0" (also for other contents of that version), "name group/entry:
 * value", or the detail. malloc'd.
 */
static char *describe(const struct event_record *facts)
{
	struct slice old = facts->old_version, new = facts->version;
	struct slice only = old.len ? old : new.len ? new : facts->detail;
	bool differ = old.len && new.len && !slice_equal(old, new);

	if (slice_is_null(facts->distribution))
		return strdup(facts->detail.len ? facts->detail.ptr : "");
	return text_format("%s%s%s%s%s", facts->distribution.ptr, only.len ? " " : "",
	                   only.len ? only.ptr : "", differ ? " -> " : "", differ ? new.ptr : "");
}

static void put(struct output *output, const struct event *event)
{
	const struct event_record *facts = &event->facts;
	CLEANUP(cleanup_free) char *what = describe(facts);
	char user[32];

	output->failed |= !what;
	snprintf(user, sizeof(user), "uid %lld", (long long)facts->uid);
	output_time(output, facts->time);
	output_text(output, facts->action);
	output_string(output, what);
	output_text(output, facts->root);
	output_text(output, facts->distribution);
	output_text(output, facts->old_version);
	output_text(output, facts->version);
	output_text(output, facts->detail);
	output_text(output, facts->command);
	output_string(output, user);
	output_number(output, facts->uid);
	output_string(output, event->database);
}

/* --- the command --- */

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

/* An unreadable database does not stop the others. */
static int read_databases(const struct databases *databases, struct log *log)
{
	int status = STATUS_DONE;
	struct error error = {0};

	for (size_t i = 0; i < databases->count; i++) {
		int code = read_database(log, databases->items[i].file, &error);

		if (code < 0 && code != ERROR_NOTFOUND)
			status = fail(&error);
		error_clear(&error);
	}
	return status;
}

int command_log(const struct options *options, struct error *error)
{
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(cleanup_log) struct log log = {0};
	struct output output = OUTPUT_BEGIN(columns, options->json);
	int code = options->database ? read_database(&log, options->database, error)
	                             : find_databases(options, &databases, error);
	int status;

	if (code < 0)
		return code;
	status = read_databases(&databases, &log); /* none with --db */
	if (log.count > 0)
		qsort(log.events, log.count, sizeof(*log.events), compare_events);
	for (size_t i = 0; i < log.count; i++)
		put(&output, &log.events[i]);
	code = output_end(&output, error);
	if (code < 0 || status != STATUS_DONE || log.count > 0)
		return code < 0 ? code : status;
	note(options, "nothing has been recorded; 'entrydb update' records what is installed");
	return STATUS_NOT_FOUND;
}

/*
 * log.c - the audit trail: what updates and hooks saw happen.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "command.h"
#include "databases.h"
#include "json.h"
#include "reader.h"

static const char *const keys[] = {"time",    "action", "root",    "distribution", "old_version",
                                   "version", "detail", "command", "uid",          "database"};

#define KEY_COUNT (sizeof(keys) / sizeof(*keys))

struct log {
	const char *database;
	struct json *json; /* NULL: text */
	size_t count;
};

static void format_time(int64_t seconds, char text[32])
{
	time_t time = (time_t)seconds;
	struct tm parts;

	if (!gmtime_r(&time, &parts) || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		snprintf(text, 32, "%lld", (long long)seconds);
}

static void print_slice(const char *before, struct slice text)
{
	if (slice_is_null(text) || !text.len)
		return;
	fputs(before, stdout);
	print_escaped(text);
}

static void print_text(const char *time, const struct reader_event *event)
{
	printf("%s\t%.*s\t", time, (int)event->action.len, event->action.ptr);
	print_slice("", event->distribution);
	print_slice(" ", event->old_version);
	if (!slice_is_null(event->old_version) && !slice_is_null(event->version))
		print_slice(" -> ", event->version);
	else
		print_slice(" ", event->version);
	print_slice("", slice_is_null(event->distribution) ? event->detail : SLICE(""));
	print_slice("\t", event->root);
	print_slice("\t", event->command);
	printf("\tuid %lld\n", (long long)event->uid);
}

static int print_event(void *payload, const struct reader_event *event)
{
	struct log *log = payload;
	char time[32];

	format_time(event->time, time);
	log->count++;
	if (!log->json) {
		print_text(time, event);
		return 0;
	}
	json_text(log->json, 0, slice_of(time));
	json_text(log->json, 1, event->action);
	json_text(log->json, 2, event->root);
	json_text(log->json, 3, event->distribution);
	json_text(log->json, 4, event->old_version);
	json_text(log->json, 5, event->version);
	json_text(log->json, 6, event->detail);
	json_text(log->json, 7, event->command);
	json_number(log->json, 8, event->uid);
	json_text(log->json, 9, slice_of(log->database));
	return json_write(log->json, stdout, NULL);
}

static int print_database(struct log *log, const char *file, struct error *error)
{
	struct reader *reader;
	int code = reader_open(file, geteuid(), &reader, error);

	if (code < 0)
		return code;
	log->database = file;
	code = reader_events(reader, print_event, log, error);
	reader_close(reader);
	return code;
}

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
	if (sites_default(&sites, NULL, options->root) < 0)
		return error_nomem(error);
	for (size_t i = 0; code == 0 && i < sites.count; i++)
		code = databases_add_path(options, false, sites.paths[i], out, error);
	return code;
}

static enum status print_databases(const struct databases *databases, struct log *log)
{
	enum status status = STATUS_DONE;
	struct error error = {0};

	for (size_t i = 0; i < databases->count; i++) {
		int code = print_database(log, databases->items[i].file, &error);

		if (code < 0 && code != ERROR_NOTFOUND)
			status = fail(&error);
		error_clear(&error);
	}
	if (status == STATUS_DONE && log->count == 0)
		status = STATUS_NOT_FOUND;
	return status;
}

enum status command_log(const struct options *options)
{
	struct databases databases = {0};
	struct log log = {0};
	struct error error = {0};
	enum status status;
	int code = options->json ? json_open(keys, KEY_COUNT, &log.json, &error) : 0;

	if (code == 0 && options->database) {
		code = print_database(&log, options->database, &error);
		status = code < 0 ? fail(&error) : log.count ? STATUS_DONE : STATUS_NOT_FOUND;
	} else {
		if (code == 0)
			code = find_databases(options, &databases, &error);
		status = code < 0 ? fail(&error) : print_databases(&databases, &log);
	}
	json_close(log.json);
	databases_free(&databases);
	return status;
}

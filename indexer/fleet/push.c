/*
 * push.c - this machine's environments into the fleet's database (fleet.sql).
 *
 *     connect; which environments does the server have of me, and as of when?   one question
 *       for each whose database has changed since: one transaction
 *         all its rows and findings, by COPY; the server tells what came and went
 *
 * Nothing is kept here of what was sent: the database itself is what is sent next time,
 * however long the server was away.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "db/reader.h"
#include "indexer/archive/archive_module.h"
#include "indexer/audit/facts.h"
#include "indexer/audit/findings.h"
#include "indexer/audit/judge.h"
#include "indexer/fleet/copy_text.h"
#include "indexer/fleet/fleet_module.h"
#include "indexer/hash.h"
#include "indexer/options.h"

enum relation { DISTRIBUTION, ENTRY_POINT, PLUGIN, STARTUP, EVENT, FINDING, RELATIONS };

static const char *const statements[RELATIONS] = {
        [DISTRIBUTION] = "COPY incoming_distribution FROM STDIN",
        [ENTRY_POINT] = "COPY incoming_entry_point FROM STDIN",
        [PLUGIN] = "COPY incoming_plugin FROM STDIN",
        [STARTUP] = "COPY incoming_startup FROM STDIN",
        [EVENT] = "COPY incoming_event FROM STDIN",
        [FINDING] = "COPY incoming_finding FROM STDIN",
};

struct push {
	const struct options *options;
	const struct fleet_module *module;
	struct fleet *fleet;
	struct databases databases;
	struct arena texts;
	struct name_map known; /* path of an environment -> index of its digest */
	char (*digests)[HASH_FILE_HEX + 1];
	size_t digest_count, digest_room;
	bool is_host;
	size_t sent, rows;
};

static void cleanup_push(struct push *push)
{
	if (push->module)
		push->module->close(push->fleet);
	databases_free(&push->databases);
	name_map_free(&push->known);
	arena_free(&push->texts);
	free(push->digests);
}

/* --- what the server has --- */

static int keep_known(void *payload, const struct slice *columns, int count)
{
	struct push *push = payload;
	bool failed = false;
	struct slice path;

	if (count < 3 || slice_is_null(columns[0]))
		return 0;
	push->is_host = true;
	if (slice_is_null(columns[1]))
		return 0;
	if (!array_grow(&push->digests, push->digest_count, sizeof(*push->digests),
	                &push->digest_room))
		return ERROR_NOMEM;
	snprintf(push->digests[push->digest_count], sizeof(*push->digests), "%.*s",
	         (int)columns[2].len, columns[2].ptr);
	path = arena_copy(&push->texts, columns[1], &failed);
	name_map_set(&push->known, path, (uint32_t)push->digest_count++, &failed);
	return failed ? ERROR_NOMEM : 0;
}

static int ask_known(struct push *push, struct error *error)
{
	int code = push->module->ask(
	        push->fleet,
	        "SELECT m.id, e.path, e.digest FROM (SELECT entrydb.me() AS id) m "
	        "LEFT JOIN entrydb.environment e ON e.host = m.id",
	        NULL, 0, keep_known, push, error);

	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (code == 0 && !push->is_host)
		return error_set(error, ERROR_PERMISSION,
		                 "the fleet's server knows no host by this role; its administrator "
		                 "enrolls it: SELECT entrydb.enroll('ROLE')");
	return code;
}

/* --- what there is to send --- */

struct rows {
	FILE *streams[RELATIONS];
	char *texts[RELATIONS];
	size_t sizes[RELATIONS];
	struct reader *reader;
	struct error *error;
	size_t count;
};

static void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < RELATIONS; i++) {
		if (rows->streams[i])
			fclose(rows->streams[i]);
		free(rows->texts[i]);
	}
	reader_close(rows->reader);
}

static struct slice title(const struct distribution_record *row)
{
	return slice_is_null(row->name) ? row->directory : row->name;
}

static void put_distribution(struct rows *rows, struct slice root,
                             const struct distribution_record *row)
{
	COPY_ROW(rows->streams[DISTRIBUTION], root, row->directory, title(row), row->version,
	         row->error);
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];
		const struct target_record *target = e->target;

		COPY_ROW(rows->streams[ENTRY_POINT], root, title(row), e->group, e->name, e->value,
		         slice_of(target_kind_name(target ? target->kind : TARGET_PYTHON)),
		         slice_of(target_state_name(target ? target->state : TARGET_OK)),
		         target ? target->object : (struct slice){0});
	}
	for (size_t i = 0; i < row->plugin_count; i++) {
		const struct plugin_record *plugin = &row->plugins[i];

		COPY_ROW(rows->streams[PLUGIN], root, title(row), plugin->kind, plugin->name,
		         plugin->target.object, plugin->target.symbol,
		         slice_of(target_state_name(plugin->target.state)));
	}
	rows->count += 1 + row->entry_point_count + row->plugin_count;
}

static int put_root(void *payload, const struct root_record *root)
{
	struct rows *rows = payload;
	CLEANUP(root_record_free) struct root_record copy = *root;
	CLEANUP(cleanup_free) char *path = strndup(root->path.ptr, root->path.len);
	char line[24];
	int code = path ? 0 : error_nomem(rows->error);

	if (code == 0)
		code = reader_distributions(rows->reader, &copy, true, rows->error);
	if (code == 0)
		code = reader_startups(rows->reader, &copy, rows->error);
	for (size_t i = 0; code == 0 && i < copy.distribution_count; i++)
		put_distribution(rows, slice_of(path), &copy.distributions[i]);
	for (size_t i = 0; code == 0 && i < copy.startup_count; i++)
		COPY_ROW(rows->streams[STARTUP], slice_of(path), copy.startups[i].file,
		         copy_number(copy.startups[i].line, line),
		         slice_of(startup_kind_name(copy.startups[i].kind)), copy.startups[i].code);
	return code;
}

static int put_event(void *payload, const struct reader_event *event)
{
	struct rows *rows = payload;
	char time[24], uid[24];

	COPY_ROW(rows->streams[EVENT], copy_number(event->time, time), event->action, event->root,
	         event->distribution, event->old_version, event->version, event->detail,
	         event->command, copy_number(event->uid, uid));
	rows->count++;
	return 0;
}

/* What the rules find in the site directories of this database, as they are now. */
static int put_findings(struct rows *rows, const struct push *push, const struct database *database,
                        struct error *error)
{
	const struct databases one = {.items = (struct database *)database, .count = 1};
	CLEANUP(cleanup_worksheet) struct worksheet *sheet = NULL;
	CLEANUP(findings_free) struct findings findings = {0};
	bool failed = false;
	int code = worksheet_open(audit_rules, &sheet, error);

	if (code == 0)
		code = judge_read(sheet, push->options, &one, &failed, error);
	if (code == 0)
		code = findings_read(sheet, &findings, error);
	for (size_t i = 0; code == 0 && i < findings.count; i++) {
		const struct finding *finding = &findings.items[i];
		const struct rule *rule = &findings.rules[finding->rule];

		COPY_ROW(rows->streams[FINDING], rule->name, slice_of(level_name(rule->level)),
		         finding->distribution, finding->version, finding->group, finding->name,
		         finding->file, finding->message, slice_of(finding->fingerprint));
		rows->count++;
	}
	return code;
}

static int collect(struct rows *rows, const struct push *push, const struct database *database,
                   struct error *error)
{
	int code = reader_open(database->file, geteuid(), &rows->reader, error);

	rows->error = error;
	for (size_t i = 0; code == 0 && i < RELATIONS; i++) {
		rows->streams[i] = open_memstream(&rows->texts[i], &rows->sizes[i]);
		if (!rows->streams[i])
			code = error_nomem(error);
	}
	if (code == 0)
		code = reader_roots(rows->reader, put_root, rows, error);
	if (code == 0)
		code = reader_events(rows->reader, put_event, rows, error);
	if (code == 0)
		code = put_findings(rows, push, database, error);
	for (size_t i = 0; code == 0 && i < RELATIONS; i++)
		if (!text_close(take(rows->streams[i]), &rows->texts[i]))
			code = error_nomem(error);
	return code;
}

/* --- one transaction --- */

static int keep_number(void *payload, const struct slice *columns, int count)
{
	char **number = payload;

	if (count > 0 && !slice_is_null(columns[0]) && !*number)
		*number = strndup(columns[0].ptr, columns[0].len);
	return *number ? 0 : ERROR_NOMEM;
}

static int send(struct push *push, const struct rows *rows, const char *path, const char *digest,
                struct error *error)
{
	const struct fleet_module *module = push->module;
	CLEANUP(cleanup_free) char *number = NULL;
	int code = module->ask(push->fleet, "BEGIN", NULL, 0, NULL, NULL, error);

	if (code == 0)
		code = module->ask(push->fleet, "SELECT entrydb.open($1)",
		                   (const char *const[]){path}, 1, keep_number, &number, error);
	for (size_t i = 0; code == 0 && i < RELATIONS; i++)
		if (rows->sizes[i] > 0)
			code = module->copy(push->fleet, statements[i],
			                    (struct slice){rows->texts[i], rows->sizes[i]}, error);
	if (code == 0)
		code = module->ask(push->fleet, "SELECT entrydb.finish($1::bigint, $2)",
		                   (const char *const[]){number, digest}, 2, NULL, NULL, error);
	if (code == 0)
		code = module->ask(push->fleet, "COMMIT", NULL, 0, NULL, NULL, error);
	else
		module->ask(push->fleet, "ROLLBACK", NULL, 0, NULL, NULL, NULL);
	return code;
}

static int push_database(struct push *push, const struct database *database, struct error *error)
{
	CLEANUP(rows_free) struct rows rows = {0};
	char digest[HASH_FILE_HEX + 1];
	uint32_t known = name_map_get(&push->known, slice_of(database->file));
	int code = hash_file(database->file, digest, error);

	if (code == ERROR_NOTFOUND) { /* nothing was indexed there */
		error_clear(error);
		return 0;
	}
	if (code == 0 && known != NAME_MAP_NONE && strcmp(push->digests[known], digest) == 0)
		return 0;
	if (code == 0)
		code = collect(&rows, push, database, error);
	if (code == 0)
		code = send(push, &rows, database->file, digest, error);
	push->sent += code == 0;
	push->rows += code == 0 ? rows.count : 0;
	return code;
}

/* --- the command --- */

static int open_fleet(struct push *push, const char *url, struct error *error)
{
	push->module = program_module("entrydb-fleet.so", "entrydb_fleet_module",
	                              "fleets (PostgreSQL)", error);
	if (!push->module)
		return ERROR_LOAD;
	return push->module->connect(url, &push->fleet, error);
}

static bool is_url(const char *word)
{
	return strncmp(word, "postgresql:", 11) == 0 || strncmp(word, "postgres:", 9) == 0 ||
	       strncmp(word, "service=", 8) == 0;
}

enum status command_push(const struct options *options)
{
	CLEANUP(cleanup_push) struct push push = {.options = options};
	struct options rest = *options;
	struct error error = {0};
	bool failed = false;
	int code;

	if (!is_url(options->arguments[0]))
		return usage_error("push", "%s: expected postgresql://..., or service=NAME",
		                   options->arguments[0]);
	rest.arguments++;
	rest.argument_count--;
	if (options->database && rest.argument_count == 0)
		code = databases_of_file(&rest, &push.databases, &error);
	else
		code = databases_of_arguments(&rest, false, &push.databases, &error);
	if (code == 0)
		code = open_fleet(&push, options->arguments[0], &error);
	if (code == 0)
		code = ask_known(&push, &error);
	if (code < 0)
		return fail(&error);
	for (size_t i = 0; i < push.databases.count && !interrupted(); i++)
		if (push_database(&push, &push.databases.items[i], &error) < 0) {
			failed = true;
			fail(&error);
		}
	note(options, "%zu databases, %zu of them changed: %zu rows sent", push.databases.count,
	     push.sent, push.rows);
	return failed || interrupted() ? STATUS_COULD_NOT : STATUS_DONE;
}

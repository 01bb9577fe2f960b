/*
 * push.c - this machine's environments into the fleet's database (fleet.sql).
 *
 *     connect; which environments does the server have of me, and as of when?   one question
 *       for each whose database has changed since: one statement, with
 *         all its rows and findings; the server tells what came and went
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
#include "db/base/unicode.h"
#include "db/reader.h"
#include "indexer/archive/archive_module.h"
#include "indexer/audit/collect.h"
#include "indexer/audit/findings.h"
#include "indexer/file_hash.h"
#include "indexer/fleet/columns.h"
#include "indexer/fleet/fleet_module.h"
#include "indexer/options.h"

#define KEY_MAX_BYTES 300
#define FLEET_VERSION 1 /* of fleet.sql: what entrydb.known() gives */

enum relation { DISTRIBUTION, ENTRY_POINT, PLUGIN, STARTUP, EVENT, FINDING, RELATIONS };

/* How many columns of each table the functions of fleet.sql are sent. */
static const size_t columns_of[RELATIONS] = {
        [DISTRIBUTION] = 5, [ENTRY_POINT] = 8, [PLUGIN] = 7,
        [STARTUP] = 5,      [EVENT] = 9,       [FINDING] = 9,
};

struct push {
	const struct options *options;
	const struct fleet_module *module;
	struct fleet *fleet;
	struct databases databases;
	struct arena texts;
	struct name_map known; /* path of an environment -> index of its digest */
	char (*digests)[SHA256_HEX_SIZE + 1];
	size_t digest_count, digest_room;
	long version; /* of the server's tables; 0: it knows no host by this role */
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
	push->version = strtol(columns[0].ptr, NULL, 10);
	if (slice_is_null(columns[1])) /* a host that has sent nothing yet */
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

static int ask(struct push *push, const struct fleet_statement *statement, fleet_row *each,
               struct error *error)
{
	int code = push->module->ask(push->fleet, statement, each, push, error);

	if (code == ERROR_UNKNOWN)
		return error_set(error, code,
		                 "the fleet's server has no tables of this version of "
		                 "entrydb; its administrator makes them: fleet.sql");
	return code;
}

static int ask_known(struct push *push, struct error *error)
{
	static const struct fleet_statement question = {
	        .text = "SELECT version, path, digest FROM entrydb.known()",
	};
	int code = ask(push, &question, keep_known, error);

	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (code == ERROR_PERMISSION || (code == 0 && push->version == 0))
		return error_set(error, ERROR_PERMISSION,
		                 "the fleet's server knows no host by this role; its administrator "
		                 "enrolls it: SELECT entrydb.enroll('ROLE')");
	if (code == 0 && push->version != FLEET_VERSION)
		return error_set(error, ERROR_UNKNOWN,
		                 "the fleet's server has tables of version %ld, this entrydb knows "
		                 "version %d: the older of both is to be upgraded",
		                 push->version, FLEET_VERSION);
	return code;
}

/* --- what there is to send --- */

struct rows {
	struct columns tables[RELATIONS];
	struct reader *reader;
	struct error *error;
};

static void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < RELATIONS; i++)
		columns_free(&rows->tables[i]);
	reader_close(rows->reader);
}

/*
 * What the server has an index on, which takes KEY_MAX_BYTES twice, shown as \xff where it is no
 * text. More of it can be read on the host: a name of a thousand letters must not keep all else
 * away.
 */
static struct slice key(struct slice text)
{
	return slice_first(text, utf8_cut(text, KEY_MAX_BYTES));
}

static struct slice title(const struct distribution_record *row)
{
	return key(slice_is_null(row->name) ? row->directory : row->name);
}

static void put_distribution(struct rows *rows, struct slice root,
                             const struct distribution_record *row)
{
	COLUMNS_ROW(&rows->tables[DISTRIBUTION], root, row->directory, title(row),
	            key(row->version), row->error);
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];
		const struct target_record *target = e->target;

		COLUMNS_ROW(&rows->tables[ENTRY_POINT], root, title(row), key(e->group),
		            key(e->name), e->value,
		            slice_of(target_kind_name(target ? target->kind : TARGET_PYTHON)),
		            slice_of(target_state_name(target ? target->state : TARGET_OK)),
		            target ? target->object : (struct slice){0});
	}
	for (size_t i = 0; i < row->plugin_count; i++) {
		const struct plugin_record *plugin = &row->plugins[i];

		COLUMNS_ROW(&rows->tables[PLUGIN], root, title(row), plugin->kind, plugin->name,
		            plugin->target.object, plugin->target.symbol,
		            slice_of(target_state_name(plugin->target.state)));
	}
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
		COLUMNS_ROW(&rows->tables[STARTUP], slice_of(path), copy.startups[i].file,
		            columns_number(copy.startups[i].line, line),
		            slice_of(startup_kind_name(copy.startups[i].kind)),
		            copy.startups[i].code);
	return code;
}

static int put_event(void *payload, const struct reader_event *event)
{
	struct rows *rows = payload;
	char time[24], uid[24];

	COLUMNS_ROW(&rows->tables[EVENT], columns_number(event->time, time), event->action,
	            event->root, event->distribution, event->old_version, event->version,
	            event->detail, event->command, columns_number(event->uid, uid));
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
	int code = worksheet_open(audit_script, &sheet, error);

	if (code == 0)
		code = collect(sheet, push->options, &one, &failed, error);
	if (code == 0)
		code = findings_read(sheet, &findings, error);
	for (size_t i = 0; code == 0 && i < findings.count; i++) {
		const struct finding *finding = &findings.items[i];
		const struct rule *rule = &findings.rules[finding->rule];

		COLUMNS_ROW(&rows->tables[FINDING], rule->name, slice_of(level_name(rule->level)),
		            finding->distribution, finding->version, finding->group, finding->name,
		            finding->file, finding->message, slice_of(finding->fingerprint));
	}
	return code;
}

static int fill(struct rows *rows, const struct push *push, const struct database *database,
                struct error *error)
{
	int code = reader_open(database->file, geteuid(), &rows->reader, error);

	rows->error = error;
	for (size_t i = 0; i < RELATIONS; i++)
		columns_begin(&rows->tables[i], columns_of[i]);
	if (code == 0)
		code = reader_roots(rows->reader, put_root, rows, error);
	if (code == 0)
		code = reader_events(rows->reader, put_event, rows, error);
	if (code == 0)
		code = put_findings(rows, push, database, error);
	for (size_t i = 0; code == 0 && i < RELATIONS; i++)
		code = columns_end(&rows->tables[i], error);
	return code;
}

/* --- one statement --- */

/* "SELECT entrydb.FUNCTION($1, $2, ...)"; malloc'd. */
static char *call_of(const char *function, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	fprintf(stream, "SELECT entrydb.%s(", function);
	for (size_t i = 1; i <= count; i++)
		fprintf(stream, "%s$%zu", i == 1 ? "" : ", ", i);
	fputc(')', stream);
	return text_close(stream, &text) ? text : NULL;
}

static int call(struct push *push, const char *function, struct fleet_statement *statement,
                struct error *error)
{
	CLEANUP(cleanup_free) char *text = call_of(function, statement->count);

	if (!text)
		return error_nomem(error);
	statement->text = text;
	return ask(push, statement, NULL, error);
}

static int send(struct push *push, const struct rows *rows, struct slice path, const char *digest,
                struct error *error)
{
	struct fleet_statement statement = {.values = {path, slice_of(digest)}, .count = 2};
	int code = ERROR_EXISTS;

	for (size_t i = 0; i < RELATIONS; i++)
		for (size_t j = 0; j < columns_of[i]; j++)
			statement.values[statement.count++] = columns_array(&rows->tables[i], j);
	if (name_map_get(&push->known, path) == NAME_MAP_NONE)
		code = call(push, "push_first", &statement, error);
	if (code == ERROR_EXISTS) { /* or another push of this host was quicker */
		error_clear(error);
		code = call(push, "push", &statement, error);
	}
	return code;
}

static int push_database(struct push *push, const struct database *database, struct error *error)
{
	CLEANUP(rows_free) struct rows rows = {0};
	CLEANUP(cleanup_free) char *shown = NULL;
	struct slice path = columns_shown(slice_of(database->file), &shown);
	char digest[SHA256_HEX_SIZE + 1];
	uint32_t known = name_map_get(&push->known, path);
	int code = file_hash(database->file, digest, error);

	if (code == ERROR_NOTFOUND) { /* nothing was indexed there */
		error_clear(error);
		return 0;
	}
	if (code == 0 && known != NAME_MAP_NONE && strcmp(push->digests[known], digest) == 0)
		return 0;
	if (code == 0)
		code = fill(&rows, push, database, error);
	if (code == 0)
		code = send(push, &rows, path, digest, error);
	if (code < 0)
		return code;
	push->sent++;
	for (size_t i = 0; i < RELATIONS; i++)
		push->rows += rows.tables[i].rows;
	return 0;
}

/* --- the command --- */

static int open_fleet(struct push *push, const char *url, struct error *error)
{
	push->module = program_module("entrydb-fleet.so", "entrydb_fleet_module",
	                              "fleets (PostgreSQL)", error);
	if (!push->module)
		return ERROR_LOAD;
	return push->module->connect(url, interrupted, &push->fleet, error);
}

static bool is_url(const char *word)
{
	return strncmp(word, "postgresql:", 11) == 0 || strncmp(word, "postgres:", 9) == 0 ||
	       (strncmp(word, "service=", 8) == 0 && !strpbrk(word, " '\\"));
}

static void cover(char *from, const char *to)
{
	memset(from, 'x', (size_t)(to - from));
}

/*
 * A copy of the URL; in the command's own words its password is covered, which whoever is on
 * this machine can read, and messages repeat. NULL: no memory.
 */
static char *url_taken(char *word)
{
	static const char parameter[] = "password=";
	char *url = strdup(word), *user = strstr(word, "//");
	char *at = user ? strrchr(user, '@') : NULL;
	char *colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;

	if (colon)
		cover(colon + 1, at);
	for (char *p = word; (p = strstr(p, parameter));) {
		p += strlen(parameter);
		cover(p, p + strcspn(p, "&"));
	}
	return url;
}

enum status command_push(const struct options *options)
{
	CLEANUP(cleanup_push) struct push push = {.options = options};
	CLEANUP(cleanup_free) char *url = url_taken((char *)options->arguments[0]);
	struct options rest = *options;
	struct error error = {0};
	bool failed = false;
	int code;

	if (url && !is_url(url))
		return usage_error("push", "%s: expected postgresql://..., or service=NAME",
		                   options->arguments[0]);
	rest.arguments++;
	rest.argument_count--;
	if (!url)
		code = error_nomem(&error);
	else if (options->database && rest.argument_count == 0)
		code = databases_of_file(&rest, &push.databases, &error);
	else
		code = databases_of_arguments(&rest, false, &push.databases, &error);
	if (code == 0)
		code = open_fleet(&push, url, &error);
	if (code == 0)
		code = ask_known(&push, &error);
	if (code < 0)
		return fail(&error);
	for (size_t i = 0; i < push.databases.count && !interrupted(); i++)
		if (push_database(&push, &push.databases.items[i], &error) < 0) {
			failed = true;
			fail(&error);
		}
	if (!failed) /* else what was said last is what matters */
		note(options, "%zu databases, %zu of them changed: %zu rows sent",
		     push.databases.count, push.sent, push.rows);
	return failed || interrupted() ? STATUS_COULD_NOT : STATUS_DONE;
}

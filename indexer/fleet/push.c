/*
 * push.c - sends this machine's databases to the fleet's server (fleet.sql).
 *
 *     connect, and query the databases that the server has from this host   known()
 *       for each changed database, send all rows and findings as JSON;      push()
 *         the server determines the differences
 *
 * No state is stored on this machine: after an outage of any length, the next push sends the
 * current databases.
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/name_map.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/document.h"
#include "db/reader.h"
#include "indexer/archive/archive_module.h"
#include "indexer/audit/collect.h"
#include "indexer/audit/findings.h"
#include "indexer/file_hash.h"
#include "indexer/fleet/fleet_module.h"
#include "indexer/output.h"

#define EVERYBODY 0444 /* only databases readable by all users are sent */

#define FLEET_VERSION 2                    /* of fleet.sql, returned by entrydb_host.known() */
#define JSON_MAX      ((size_t)0x0fffffff) /* bytes; the limit of an array in jsonb */

struct push {
	const struct options *options;
	const struct fleet_module *module;
	struct fleet *fleet;
	struct databases databases;
	struct arena texts;
	struct name_map known; /* "PATH DIGEST" of the databases on the server */
	long version;          /* of the server's tables; 0: the role is not enrolled */
	size_t sent, rows;
	bool failed; /* something was not sent, and was reported */
};

static void cleanup_push(struct push *push)
{
	if (push->module)
		push->module->close(push->fleet);
	databases_free(&push->databases);
	name_map_free(&push->known);
	arena_free(&push->texts);
}

/* --- state of the server --- */

static int keep_known(void *payload, const struct slice *columns, int count)
{
	struct push *push = payload;
	CLEANUP(cleanup_free) char *text = NULL;
	bool failed;

	if (count < 3 || slice_is_null(columns[0]))
		return 0;
	push->version = strtol(columns[0].ptr, NULL, 10);
	if (slice_is_null(columns[1])) /* the host has not sent anything yet */
		return 0;
	text = text_format("%.*s %.*s", SLICE_ARGS(columns[1]), SLICE_ARGS(columns[2]));
	failed = !text;
	name_map_put(&push->known, arena_copy(&push->texts, slice_of(text), &failed), 0, &failed);
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
	        .text = "SELECT version, path, digest FROM entrydb_host.known()",
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

/* --- data to send --- */

/* Write a JSON document with @put into malloc'd memory; adds the number of rows to *@rows. */
static int write_document(char **out, size_t *rows,
                          int (*put)(void *from, FILE *, size_t *rows, struct error *), void *from,
                          struct error *error)
{
	size_t size = 0, count = 0;
	FILE *stream = open_memstream(out, &size);
	int code = stream ? put(from, stream, &count, error) : ERROR_NOMEM;

	*rows += count;
	if (!stream || !text_close(stream, out))
		return error_nomem(error);
	if (code == 0 && size > JSON_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "%zu bytes to send at once, of which PostgreSQL takes %zu", size,
		                 JSON_MAX);
	return code;
}

static int put_rows(void *from, FILE *stream, size_t *rows, struct error *error)
{
	return document_write(from, stream, rows, error);
}

/* Write findings as rows, with text from escape_unless_text(). */
static int put_findings(void *from, FILE *stream, size_t *rows, struct error *error)
{
	struct worksheet_rows *row = worksheet_walk(from, "told", NULL);

	putc('[', stream);
	while (worksheet_next(row)) {
		fputs((*rows)++ ? ",[" : "[", stream);
		for (int i = 0; i < FINDING_COLUMNS; i++) {
			CLEANUP(cleanup_free) char *room = NULL;
			struct slice text = escape_unless_text(worksheet_text(row, i), &room);

			if (slice_is_null(text) && !slice_is_null(worksheet_text(row, i)))
				return error_nomem(error);
			fputs(i > 0 ? "," : "", stream);
			if (slice_is_null(text))
				fputs("null", stream);
			else
				json_string(text, stream);
		}
		putc(']', stream);
	}
	putc(']', stream);
	return worksheet_failure(from, error);
}

/* Audit the site directories of this database. */
static int judge(struct push *push, const struct database *database, char **findings, size_t *rows,
                 struct error *error)
{
	const struct databases one = {.items = (struct database *)database, .count = 1};
	CLEANUP(cleanup_worksheet) struct worksheet *sheet = NULL;
	int code = worksheet_open(audit_script, &sheet, error);

	if (code == 0)
		code = collect(sheet, push->options, &one, database_readers(database, EVERYBODY),
		               &push->failed, error);
	if (code == 0)
		code = findings_judge(sheet, &push->failed, error);
	return code < 0 ? code : write_document(findings, rows, put_findings, sheet, error);
}

static int read_rows(const struct options *options, const struct database *database, char **out,
                     size_t *rows, struct error *error)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	const char *own = NULL;
	mode_t mode = 0;
	int code = reader_open(database->file, geteuid(), &reader, error);

	if (code == 0) /* a directory may have been closed since it was published */
		code = database_mode(options, database, reader, &mode, error);
	/* Owners decide by its permissions whether their own database is public. */
	if (code == 0 && reader_status(reader).owner == geteuid())
		own = database->real;
	if (code == 0 &&
	    (EVERYBODY & ~mode || !safe_is_readable(database->real, own, NULL, EVERYBODY)))
		code = error_set(error, ERROR_PERMISSION,
		                 "%s is not pushed: not everybody may read it", database->file);
	return code < 0 ? code : write_document(out, rows, put_rows, reader, error);
}

static int push_database(struct push *push, const struct database *database, struct error *error)
{
	CLEANUP(cleanup_free) char *rows = NULL;
	CLEANUP(cleanup_free) char *findings = NULL;
	CLEANUP(cleanup_free) char *room = NULL;
	struct slice path = escape_unless_text(slice_of(database->file), &room);
	CLEANUP(cleanup_free) char *known = NULL;
	char digest[SHA256_HEX_SIZE + 1];
	size_t count = 0;
	int code = path.ptr ? file_hash(database->file, digest, error) : error_nomem(error);

	if (code == ERROR_NOTFOUND) { /* nothing has been indexed there */
		error_clear(error);
		return 0;
	}
	known = code == 0 ? text_format("%s %s", path.ptr, digest) : NULL;
	if (known && name_map_get(&push->known, slice_of(known)) != NAME_MAP_NONE)
		return 0;
	if (code == 0 && !known)
		code = error_nomem(error);
	if (code == 0)
		code = read_rows(push->options, database, &rows, &count, error);
	if (code == 0)
		code = judge(push, database, &findings, &count, error);
	if (code == 0)
		code = ask(push,
		           &(const struct fleet_statement){
		                   .text = "SELECT entrydb_host.push($1, $2, $3, $4)",
		                   .values = {path.ptr, digest, rows, findings},
		                   .count = 4},
		           NULL, error);
	if (code < 0)
		return code;
	push->sent++;
	push->rows += count;
	return 0;
}

/* --- the command --- */

/*
 * libpq opens them by their names, so other users must not be able to replace them: a service file
 * determines where a password is sent, and a FIFO would block it.
 */
static int check_file(const char *path, struct error *error)
{
	int code = safe_believe_named(path, NULL, error);

	if (code == 0)
		code = safe_believe_place(path, NULL, false, error);
	return code < 0 ? code : 0;
}

static int check_below(const char *directory, const char *name, struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;

	if (!directory || !*directory)
		return 0;
	path = text_format("%s/%s", directory, name);
	return path ? check_file(path, error) : error_nomem(error);
}

/*
 * Those that it opens before it knows the settings, and those in the home directory. Without HOME,
 * and before version 15 always, libpq takes that from the user's account.
 */
static int check_files(struct error *error)
{
	const struct passwd *account = getpwuid(geteuid());
	static const char *const names[] = {
	        ".pg_service.conf",     ".pgpass",
	        ".postgresql/root.crt", ".postgresql/postgresql.crt",
	        ".postgresql/root.crl", ".postgresql/postgresql.key",
	};
	const char *service = trust_environment("PGSERVICEFILE");
	int code = service && *service ? check_file(service, error) : 0;

	if (code == 0)
		code = check_below(trust_environment("PGSYSCONFDIR"), "pg_service.conf", error);
	for (size_t i = 0; code == 0 && i < sizeof(names) / sizeof(*names); i++) {
		code = check_below(trust_environment("HOME"), names[i], error);
		if (code == 0 && account)
			code = check_below(account->pw_dir, names[i], error);
	}
	return code;
}

int command_push(const struct options *options, struct error *error)
{
	CLEANUP(cleanup_push) struct push push = {.options = options};
	CLEANUP(cleanup_free) char *url = options_take_url((char *)options->arguments[0]);
	struct options rest = *options;
	int code;

	/* No message quotes it, since anything in it may be a password. */
	if (url && strncmp(url, "postgresql://", 13) != 0 && strncmp(url, "postgres://", 11) != 0 &&
	    (strncmp(url, "service=", 8) != 0 || strpbrk(url, " '\\")))
		return usage_error("push", "the fleet's URL: expected postgresql://..., or "
		                           "service=NAME");
	rest.arguments++;
	rest.argument_count--;
	code = url ? databases_of_arguments(&rest, false, &push.databases, error)
	           : error_nomem(error);
	if (code == 0)
		code = check_files(error);
	if (code < 0)
		return code;
	push.module = program_module("entrydb-fleet.so", "entrydb_fleet_module",
	                             "fleets (PostgreSQL)", error);
	code = push.module ? push.module->connect(url, interrupted, check_file, &push.fleet, error)
	                   : ERROR_LOAD;
	if (code == 0)
		code = ask_known(&push, error);
	if (code < 0)
		return code;
	for (size_t i = 0; i < push.databases.count && !interrupted(); i++)
		if (push_database(&push, &push.databases.items[i], error) < 0) {
			push.failed = true;
			fail(error);
		}
	if (!push.failed) /* otherwise keep the last message */
		note(options, "%zu databases, %zu of them changed: %zu rows sent",
		     push.databases.count, push.sent, push.rows);
	return push.failed || interrupted() ? STATUS_COULD_NOT : STATUS_DONE;
}

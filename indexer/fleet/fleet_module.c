/*
 * fleet_module.c - see fleet_module.h. The only file that knows libpq.
 */
#include "indexer/fleet/fleet_module.h"

#include <libpq-fe.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"

#define COLUMNS_MAX 8          /* of an answer */
#define BYTES_MAX   0x3fffffff /* of a statement: what a server takes, MaxAllocSize of PostgreSQL */
#define LOOK_EVERY  200        /* milliseconds, for a signal */
#define PATIENCE    10         /* times tcp_user_timeout, for a server that is there and silent */

struct fleet {
	PGconn *connection;
	bool (*stopped)(void);
	long patience; /* milliseconds without a byte from the server, or to it */
};

/* What libpq says, in one line: of several attempts to connect all, of hints none; @code. */
static int failed(const struct fleet *fleet, int code, struct error *error)
{
	static const char attempt[] = "connection to ";
	const char *line = PQerrorMessage(fleet->connection), *end;
	CLEANUP(cleanup_free) char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return error_nomem(error);
	for (const char *first = line; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (line == first || strncmp(line, attempt, sizeof(attempt) - 1) == 0)
			fprintf(stream, "%s%.*s", line == first ? "" : "; ", (int)(end - line),
			        line);
	}
	if (!text_close(stream, &text))
		return error_nomem(error);
	return error_set(error, code, "the fleet's server: %s", text);
}

static void ignore_notice(void *payload, const char *message)
{
	(void)payload;
	(void)message;
}

static void fleet_close(struct fleet *fleet)
{
	if (!fleet)
		return;
	PQfinish(fleet->connection);
	free(fleet);
}

static void cleanup_settings(PQconninfoOption **settings)
{
	PQconninfoFree(*settings);
}

/*
 * Can libpq read it? Asked before anything else, for what libpq says of a URL quotes it, and so
 * the password in it; and where one is not encoded, its end is taken for a host.
 */
static int check_url(const char *url, struct error *error)
{
	char *message = NULL;
	CLEANUP(cleanup_settings) PQconninfoOption *settings = PQconninfoParse(url, &message);
	const char *quoted = message ? strstr(message, ": \"") : NULL;

	if (!settings && !message)
		return error_nomem(error);
	if (!settings)
		error_set(error, ERROR_INVALID, "the fleet's URL: %.*s",
		          (int)(quoted ? (size_t)(quoted - message) : strcspn(message, "\n")),
		          message);
	PQfreemem(message);
	for (PQconninfoOption *at = settings; at && at->keyword; at++)
		if ((strcmp(at->keyword, "host") == 0 || strcmp(at->keyword, "dbname") == 0) &&
		    at->val && at->val[0] != '/' && strchr(at->val, '@'))
			return error_set(
			        error, ERROR_INVALID,
			        "the fleet's URL: in a password '@' is written %%40, '/' %%2F, "
			        "'?' %%3F and '#' %%23");
	return settings ? 0 : ERROR_INVALID;
}

/*
 * What the kernel of the server's machine acknowledges keeps a connection alive, though the server
 * may never answer. 0, as libpq has it: no limit.
 */
static long patience_of(PGconn *connection)
{
	PQconninfoOption *settings = PQconninfo(connection);
	long patience = 0;

	for (PQconninfoOption *at = settings; at && at->keyword; at++)
		if (strcmp(at->keyword, "tcp_user_timeout") == 0 && at->val)
			patience = strtol(at->val, NULL, 10);
	PQconninfoFree(settings);
	return patience > 0 && patience < LONG_MAX / PATIENCE ? PATIENCE * patience : LONG_MAX;
}

/* Where the URL says nothing else. A peer that is gone is noticed within a minute, not in hours. */
static PGconn *connect_to(const char *url)
{
	static const char *const keys[] = {
	        "connect_timeout",  "keepalives_idle",  "keepalives_interval",
	        "keepalives_count", "tcp_user_timeout", "application_name",
	        "client_encoding",  "dbname",           NULL,
	};
	const char *values[] = {"10", "15", "15", "3", "60000", "entrydb", "UTF8", url, NULL};

	return PQconnectdbParams(keys, values, 1);
}

static int fleet_connect(const char *url, bool (*stopped)(void), struct fleet **out,
                         struct error *error)
{
	int code = check_url(url, error);
	struct fleet *fleet;

	if (code < 0)
		return code;
	fleet = calloc(1, sizeof(*fleet));
	if (!fleet)
		return error_nomem(error);
	fleet->stopped = stopped;
	fleet->connection = connect_to(url);
	if (PQstatus(fleet->connection) == CONNECTION_OK &&
	    PQsetnonblocking(fleet->connection, 1) == 0) {
		PQsetNoticeProcessor(fleet->connection, ignore_notice, NULL);
		fleet->patience = patience_of(fleet->connection);
		*out = fleet;
		return 0;
	}
	code = failed(fleet, ERROR_IO, error);
	fleet_close(fleet);
	return code;
}

static struct slice column(const PGresult *result, int row, int at)
{
	if (PQgetisnull(result, row, at))
		return (struct slice){0};
	return (struct slice){PQgetvalue(result, row, at), (size_t)PQgetlength(result, row, at)};
}

static int give_rows(const PGresult *result, fleet_row *each, void *payload)
{
	int count = PQnfields(result) < COLUMNS_MAX ? PQnfields(result) : COLUMNS_MAX, code = 0;

	for (int row = 0; code == 0 && row < PQntuples(result); row++) {
		struct slice columns[COLUMNS_MAX];

		for (int i = 0; i < count; i++)
			columns[i] = column(result, row, i);
		code = each(payload, columns, count);
	}
	return code;
}

/* The server's SQLSTATE (errcodes.txt of PostgreSQL's source) in our terms. */
static int code_of(const PGresult *result)
{
	static const struct {
		const char *state;
		int code;
	} states[] = {
	        {"3F000", ERROR_UNKNOWN},    /* invalid_schema_name */
	        {"42P01", ERROR_UNKNOWN},    /* undefined_table */
	        {"42883", ERROR_UNKNOWN},    /* undefined_function */
	        {"42703", ERROR_UNKNOWN},    /* undefined_column */
	        {"23505", ERROR_EXISTS},     /* unique_violation */
	        {"42501", ERROR_PERMISSION}, /* insufficient_privilege */
	};
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	for (size_t i = 0; state && i < sizeof(states) / sizeof(*states); i++)
		if (strcmp(states[i].state, state) == 0)
			return states[i].code;
	return ERROR_IO;
}

static int put_values(const struct fleet_statement *statement, const char **values, int *sizes,
                      struct error *error)
{
	size_t total = 0;

	for (size_t i = 0; i < statement->count; i++) {
		values[i] = statement->values[i].ptr;
		sizes[i] = (int)statement->values[i].len;
		total += statement->values[i].len;
	}
	if (total > BYTES_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "%zu bytes to send, of which PostgreSQL takes %d", total,
		                 BYTES_MAX);
	return 0;
}

/* Send what is to be sent, until there is a result, or none can come any more; false: given up. */
static bool wait_for_result(const struct fleet *fleet)
{
	PGconn *connection = fleet->connection;
	long silent = 0;

	for (;;) {
		int left = PQflush(connection);
		struct pollfd socket = {.fd = PQsocket(connection),
		                        .events = left > 0 ? POLLIN | POLLOUT : POLLIN};

		if (left < 0 || !PQisBusy(connection))
			return true;
		if (fleet->stopped() || silent >= fleet->patience)
			return false;
		silent = poll(&socket, 1, LOOK_EVERY) == 0 ? silent + LOOK_EVERY : 0;
		if (!PQconsumeInput(connection))
			return true;
	}
}

static void cleanup_result(PGresult **result)
{
	PQclear(*result);
}

/* The one result of a statement, and the end of it; NULL: given up. */
static PGresult *result_of(const struct fleet *fleet)
{
	PGresult *result = NULL;

	for (PGresult *next; wait_for_result(fleet); result = next) {
		next = PQgetResult(fleet->connection);
		if (!next)
			return result;
		PQclear(result);
	}
	PQclear(result);
	return NULL;
}

static int fleet_ask(struct fleet *fleet, const struct fleet_statement *statement, fleet_row *each,
                     void *payload, struct error *error)
{
	const char *values[FLEET_VALUES_MAX];
	int sizes[FLEET_VALUES_MAX], formats[FLEET_VALUES_MAX];
	CLEANUP(cleanup_result) PGresult *result = NULL;
	int code = put_values(statement, values, sizes, error);

	if (code < 0)
		return code;
	for (size_t i = 0; i < statement->count; i++)
		formats[i] = 1; /* binary */
	if (!PQsendQueryParams(fleet->connection, statement->text, (int)statement->count, NULL,
	                       values, sizes, formats, 0))
		return failed(fleet, ERROR_IO, error);
	result = result_of(fleet);
	if (!result && fleet->stopped())
		return error_set(error, ERROR_IO, "interrupted");
	if (!result && PQstatus(fleet->connection) == CONNECTION_OK)
		return error_set(error, ERROR_IO,
		                 "the fleet's server: no answer for %ld seconds; "
		                 "it is connected, and was given up",
		                 fleet->patience / 1000);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		return failed(fleet, code_of(result), error);
	return each ? give_rows(result, each, payload) : 0;
}

__attribute__((visibility("default"))) const struct fleet_module entrydb_fleet_module = {
        .connect = fleet_connect,
        .ask = fleet_ask,
        .close = fleet_close,
};

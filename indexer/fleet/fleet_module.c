/*
 * fleet_module.c - see fleet_module.h. The only file that knows libpq.
 */
#include "indexer/fleet/fleet_module.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"

#define COLUMNS_MAX    8    /* of an answer */
#define CONNECT_WITHIN "10" /* seconds, where the URL says nothing else */

struct fleet {
	PGconn *connection;
};

/* libpq's message, which may be of several lines, in one; @code. */
static int failed(const struct fleet *fleet, int code, struct error *error)
{
	const char *message = PQerrorMessage(fleet->connection);

	return error_set(error, code, "the fleet's server: %.*s", (int)strcspn(message, "\n"),
	                 message);
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

static int fleet_connect(const char *url, struct fleet **out, struct error *error)
{
	static const char *const keys[] = {"connect_timeout", "application_name", "client_encoding",
	                                   "dbname", NULL};
	const char *values[] = {CONNECT_WITHIN, "entrydb", "UTF8", url, NULL};
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	int code;

	if (!fleet)
		return error_nomem(error);
	fleet->connection = PQconnectdbParams(keys, values, 1);
	if (PQstatus(fleet->connection) == CONNECTION_OK) {
		PQsetNoticeProcessor(fleet->connection, ignore_notice, NULL);
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

static int fleet_ask(struct fleet *fleet, const struct fleet_statement *statement, fleet_row *each,
                     void *payload, struct error *error)
{
	const char *values[FLEET_VALUES_MAX];
	int sizes[FLEET_VALUES_MAX], formats[FLEET_VALUES_MAX];
	PGresult *result;
	int code = 0;

	for (size_t i = 0; i < statement->count; i++) {
		values[i] = statement->values[i].ptr;
		sizes[i] = (int)statement->values[i].len;
		formats[i] = 1; /* binary */
	}
	result = PQexecParams(fleet->connection, statement->text, (int)statement->count, NULL,
	                      values, sizes, formats, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		code = failed(fleet, code_of(result), error);
	else if (each)
		code = give_rows(result, each, payload);
	PQclear(result);
	return code;
}

__attribute__((visibility("default"))) const struct fleet_module entrydb_fleet_module = {
        .connect = fleet_connect,
        .ask = fleet_ask,
        .close = fleet_close,
};

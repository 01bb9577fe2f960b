/*
 * worksheet.c - see worksheet.h. The first failure sticks, so that whoever puts in a
 * thousand facts asks once, at the end, whether all went well.
 */
#include "db/worksheet.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"

#define QUERIES_MAX 64

struct worksheet_query {
	struct worksheet *worksheet;
	const char *text;
	sqlite3_stmt *statement;
	int bound; /* parameters so far */
};

struct worksheet {
	sqlite3 *db;
	int failure; /* SQLite's code */
	struct worksheet_query queries[QUERIES_MAX];
	size_t count;
};

static void fail(struct worksheet *worksheet, int code)
{
	if (worksheet->failure == SQLITE_OK)
		worksheet->failure = code;
}

int worksheet_failure(struct worksheet *worksheet, struct error *error)
{
	if (worksheet->failure == SQLITE_OK)
		return 0;
	if (worksheet->failure == SQLITE_NOMEM)
		return error_nomem(error);
	return error_set(error, ERROR_IO, "cannot judge what was found: %s",
	                 sqlite3_errstr(worksheet->failure));
}

int worksheet_open(const char *script, struct worksheet **out, struct error *error)
{
	CLEANUP(cleanup_worksheet) struct worksheet *worksheet = calloc(1, sizeof(*worksheet));
	int code;

	if (!worksheet)
		return error_nomem(error);
	code = sqlite3_open_v2(":memory:", &worksheet->db,
	                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY,
	                       NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(worksheet->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(worksheet->db, script, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(worksheet->db, "BEGIN", NULL, NULL, NULL);
	fail(worksheet, code);
	if (code != SQLITE_OK)
		return worksheet_failure(worksheet, error);
	*out = take(worksheet);
	return 0;
}

void worksheet_close(struct worksheet *worksheet)
{
	if (!worksheet)
		return;
	for (size_t i = 0; i < worksheet->count; i++)
		sqlite3_finalize(worksheet->queries[i].statement);
	sqlite3_close(worksheet->db);
	free(worksheet);
}

static struct worksheet_query *find_query(struct worksheet *worksheet, const char *text)
{
	for (size_t i = 0; i < worksheet->count; i++)
		if (worksheet->queries[i].text == text ||
		    strcmp(worksheet->queries[i].text, text) == 0)
			return &worksheet->queries[i];
	return NULL;
}

struct worksheet_query *worksheet_ask(struct worksheet *worksheet, const char *text)
{
	struct worksheet_query *query = find_query(worksheet, text);
	int code = SQLITE_OK;

	if (!query && worksheet->count == QUERIES_MAX)
		code = SQLITE_FULL;
	if (!query && code == SQLITE_OK) {
		query = &worksheet->queries[worksheet->count];
		*query = (struct worksheet_query){.worksheet = worksheet, .text = text};
		code = sqlite3_prepare_v3(worksheet->db, text, -1, SQLITE_PREPARE_PERSISTENT,
		                          &query->statement, NULL);
		worksheet->count += code == SQLITE_OK;
	}
	fail(worksheet, code);
	if (code != SQLITE_OK)
		return NULL;
	sqlite3_reset(query->statement);
	sqlite3_clear_bindings(query->statement);
	query->bound = 0;
	return query;
}

void worksheet_text(struct worksheet_query *query, struct slice text)
{
	int code;

	if (!query)
		return;
	query->bound++;
	code = slice_is_null(text) ? sqlite3_bind_null(query->statement, query->bound)
	                           : sqlite3_bind_text64(query->statement, query->bound, text.ptr,
	                                                 text.len, SQLITE_STATIC, SQLITE_UTF8);
	fail(query->worksheet, code);
}

void worksheet_number(struct worksheet_query *query, int64_t number)
{
	if (query)
		fail(query->worksheet,
		     sqlite3_bind_int64(query->statement, ++query->bound, number));
}

bool worksheet_next(struct worksheet_query *query)
{
	int code;

	if (!query || query->worksheet->failure != SQLITE_OK)
		return false;
	code = sqlite3_step(query->statement);
	if (code == SQLITE_ROW)
		return true;
	if (code != SQLITE_DONE)
		fail(query->worksheet, code);
	sqlite3_reset(query->statement);
	return false;
}

void worksheet_run(struct worksheet_query *query)
{
	while (worksheet_next(query))
		;
}

struct slice worksheet_column(struct worksheet_query *query, int column)
{
	const char *text = (const char *)sqlite3_column_text(query->statement, column);

	if (!text && sqlite3_column_type(query->statement, column) != SQLITE_NULL)
		fail(query->worksheet, SQLITE_NOMEM);
	return (struct slice){text,
	                      text ? (size_t)sqlite3_column_bytes(query->statement, column) : 0};
}

int64_t worksheet_integer(struct worksheet_query *query, int column)
{
	return sqlite3_column_int64(query->statement, column);
}

int worksheet_write(struct worksheet *worksheet, FILE *stream, struct error *error)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes;

	worksheet_run(worksheet_ask(worksheet, "COMMIT"));
	bytes = sqlite3_serialize(worksheet->db, "main", &size, 0);
	if (!bytes)
		return error_nomem(error);
	fwrite(bytes, 1, (size_t)size, stream);
	sqlite3_free(bytes);
	return 0;
}

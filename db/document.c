/*
 * document.c - SQLite makes each row of the document.
 */
#include "db/document.h"

#include <limits.h>
#include <stdlib.h>

#include "db/base/escape.h"
#include "db/base/unicode.h"
#include "db/sql.h"

#define JSON_GROWS 8 /* at most; a byte may become \u001b, or \\x1b */
#define ARRAYS     5 /* in the document */

/*
 * The SQL functions shown(text) and shown(text, bytes): escape_unless_text() of @text, or of its
 * first bytes.
 */
static void show(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct slice text = {(const char *)sqlite3_value_text(values[0]),
	                     (size_t)sqlite3_value_bytes(values[0])};
	char *room = NULL;

	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (text.ptr && count > 1)
		text = slice_first(text, utf8_cut(text, (size_t)sqlite3_value_int(values[1])));
	text = escape_unless_text(text, &room);
	if (room)
		sqlite3_result_text64(context, room, text.len, free, SQLITE_UTF8);
	else if (text.ptr)
		sqlite3_result_text64(context, text.ptr, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		sqlite3_result_error_nomem(context);
}

int document_write(struct reader *reader, FILE *stream, size_t *rows, struct error *error)
{
	sqlite3 *db = reader->sql.db;
	int most = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1), table = 0, code;
	const char *between = "";
	sqlite3_stmt *statement;
	size_t spent = 0;

	code = sqlite3_create_function_v2(db, "shown", -1,
	                                  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
	                                  NULL, show, NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return sql_error(&reader->sql, code, error);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH,
	              most < INT_MAX / JSON_GROWS ? JSON_GROWS * most : INT_MAX);
	statement = sql_get(&reader->sql, document_rows);
	*rows = 0;
	fputs("[[", stream);
	while ((code = sql_step(&reader->sql, statement, error)) > 0) {
		struct slice row = sql_column(statement, 1);

		for (; table < sqlite3_column_int(statement, 0); table++, between = "")
			fputs("],[", stream);
		if (slice_is_null(row) || !sql_affords(&reader->sql, row.len, &spent))
			return sql_damaged(&reader->sql, error);
		fputs(between, stream);
		fwrite(row.ptr, 1, row.len, stream);
		between = ",";
		++*rows;
	}
	for (; table < ARRAYS - 1; table++)
		fputs("],[", stream);
	fputs("]]", stream);
	sqlite3_reset(statement);
	return code;
}

/*
 * bare.h - the baseline of all look-ups: one prepared statement on the published file, opened as
 * immutable, that returns exactly what a caller needs.
 */
#ifndef BARE_H
#define BARE_H

#include <sqlite3.h>

#include "bench.h"

#define BARE_COLUMNS 7

static const char bare_statement[] =
        "SELECT e.value, e.module, e.attr, e.extras, d.name, d.version, r.path "
        "FROM entry_point e CROSS JOIN distribution d ON d.id = e.distribution "
        "CROSS JOIN root r ON r.id = d.root WHERE e.group_name = ?1 AND e.name = ?2";

static inline sqlite3 *bare_open(const char *file)
{
	char *uri = bench_print("file:%s?mode=ro&immutable=1", file);
	sqlite3 *db;

	if (sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
	                    NULL) != SQLITE_OK)
		bench_fail("%s: cannot open", file);
	free(uri);
	return db;
}

static inline sqlite3_stmt *bare_prepare(sqlite3 *db, const char *text)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
	    SQLITE_OK)
		bench_fail("%s: %s", text, sqlite3_errmsg(db));
	return statement;
}

/* Bind, step, read, reset; returns the number of rows. */
static inline size_t bare_select(sqlite3_stmt *statement, const char *group, size_t group_length,
                                 const char *name, size_t name_length)
{
	size_t count = 0;

	sqlite3_bind_text(statement, 1, group, (int)group_length, SQLITE_STATIC);
	sqlite3_bind_text(statement, 2, name, (int)name_length, SQLITE_STATIC);
	for (; sqlite3_step(statement) == SQLITE_ROW; count++)
		for (int i = 0; i < BARE_COLUMNS; i++) {
			const char *text = (const char *)sqlite3_column_text(statement, i);

			bench_use(text, (size_t)sqlite3_column_bytes(statement, i));
		}
	sqlite3_reset(statement);
	return count;
}

#endif

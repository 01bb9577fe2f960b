/*
 * sql.h - the few SQLite calls that reader, writer and JSON share.
 *
 * Private to db/: nobody else includes <sqlite3.h>.
 */
#ifndef DB_SQL_H
#define DB_SQL_H

#include <sqlite3.h>
#include <stdint.h>

#include "error.h"
#include "record.h"

/* The schema of schema.sql, and the two numbers that it writes into the file's header. */
extern const char sql_schema[];
#define SQL_APPLICATION_ID 1162888265u
#define SQL_USER_VERSION   1u

/* Every statement of the project; the texts stand in sql_statements.c. */
enum sql_id {
	SQL_ROOT_BY_PATH,
	SQL_ROOTS,
	SQL_DISTRIBUTIONS,
	SQL_ENTRY_POINTS,
	SQL_SELECT_GROUP_NAME,
	SQL_SELECT_GROUP,
	SQL_SELECT_NAME,
	SQL_SELECT_ALL,
	SQL_HOLDERS,
	SQL_BROKEN,
	SQL_TARGET,
	SQL_EVENTS,
	SQL_PUT_ROOT,
	SQL_DROP_ROOT,
	SQL_DROP_ROOT_DISTRIBUTIONS,
	SQL_DROP_ROOT_ENTRY_POINTS,
	SQL_DROP_ROOT_TARGETS,
	SQL_LAST_ROOT,
	SQL_LAST_DISTRIBUTION,
	SQL_PUT_DISTRIBUTION,
	SQL_MOVE_DISTRIBUTION,
	SQL_DROP_DISTRIBUTION,
	SQL_PUT_ENTRY_POINT,
	SQL_DROP_ENTRY_POINTS,
	SQL_PUT_TARGET,
	SQL_DROP_TARGETS,
	SQL_PUT_EVENT,
	SQL_CONTEST,
	SQL_CONTEST_NAME,
	SQL_CONTEST_NAME_OF,
	SQL_COUNT,
};

extern const char *const sql_statements[SQL_COUNT];

/* An open file and the statements prepared on it so far. */
struct sql {
	sqlite3 *db;
	char *file; /* for messages */
	sqlite3_stmt *prepared[SQL_COUNT];
	int allowed, left; /* see sql_limit(); allowed is 0 without limit */
};

/*
 * From now on, let no statement run for more steps than a sound file of @size bytes
 * could ask for: ERROR_FORMAT. In a damaged file pages may contain each other, and
 * rows be without end.
 */
void sql_limit(struct sql *sql, int64_t size);

/* Finalize what was prepared, close the file; accepts a half-opened or empty one. */
void sql_close(struct sql *sql);

/*
 * The statement, reset and without bindings from before, prepared at first use.
 * NULL on failure, with @error filled; it stays the property of @sql.
 */
sqlite3_stmt *sql_get(struct sql *sql, enum sql_id id, struct error *error);

/* Step: 1 for a row, 0 at the end, or a negative code with @error filled. */
int sql_step(struct sql *sql, sqlite3_stmt *statement, struct error *error);

/* Step a statement that returns no rows, and reset it. */
int sql_run(struct sql *sql, sqlite3_stmt *statement, struct error *error);

/* Translate SQLite's @code; the message names the file and repeats SQLite's words. */
int sql_error(const struct sql *sql, int code, struct error *error);

/* The code of what SQLite failed in last, such as a sql_get() that gave NULL. */
int sql_code(const struct sql *sql);

/* ERROR_FORMAT, for rows that no writer of ours would write. */
int sql_damaged(const struct sql *sql, struct error *error);

/* Bind a slice as text; the bytes must stay until the statement is stepped. Null binds NULL. */
void sql_bind(sqlite3_stmt *statement, int index, struct slice text);

/* The text of a column; valid until the next step. NULL gives the null slice. */
struct slice sql_column(sqlite3_stmt *statement, int index);

/*
 * Look at the header of the open file. Returns 0 for a database of ours, else
 * ERROR_FORMAT with a message that tells a foreign file from another version.
 */
int sql_check_header(const struct sql *sql, struct error *error);

/* Read the columns of SQL_ROOT_BY_PATH or SQL_ROOTS; the path is left to the caller. */
void sql_read_root(sqlite3_stmt *statement, struct root_record *root);

/* Call @each for every root, by id; a non-zero answer ends the walk and is returned. */
int sql_read_roots(struct sql *sql, root_each *each, void *payload, struct error *error);

/*
 * Fill @root, whose id is set, with its distributions in order of position, into its
 * arena; @entry_points: with their entry points and targets, too.
 */
int sql_read_distributions(struct sql *sql, struct root_record *root, bool entry_points,
                           struct error *error);

#endif

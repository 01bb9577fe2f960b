/*
 * sql.c - prepared statements, and precautions against hostile files.
 */
#include "db/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/libc.h"

#define STEPS_PER_BYTE  8       /* VM instructions; a row takes about 30, and 20 bytes */
#define STEPS_MIN       1000000 /* allowed for any size */
#define STEPS_BETWEEN   1000
#define STEPS_PER_PAGE  16 /* a value may be as long as the file, and share its pages */
#define MEMORY_PER_BYTE 32 /* bytes of all rows read; see row_size() */
#define MEMORY_MIN      (1 << 20)
#define SIZE_COUNTED    (32 << 20) /* bytes; a file's holes cost its owner nothing */
#define ROW_MAX                                                                                    \
	(64 << 20)   /* bytes; the largest row that is written, of an entry_points.txt of 16 MiB */
#define ROW_MIN 4096 /* bytes; rows of this size are always accepted */

/* A cached statement. */
struct sql_prepared {
	const char *text;
	sqlite3_stmt *statement;
};

/* --- failures --- */

/*
 * SQLITE_TOOBIG under a read limit means that we did not write the row; otherwise the row that we
 * are writing is too large.
 */
static int code_of_sqlite(const struct sql *sql, int code)
{
	if (code == SQLITE_IOERR_NOMEM)
		return ERROR_NOMEM;
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return ERROR_NOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* a table or column that should be there is not */
		return sql->vfs.errnum ? ERROR_IO : ERROR_FORMAT;
	case SQLITE_PERM:
	case SQLITE_READONLY:
		return ERROR_PERMISSION;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERROR_BUSY;
	case SQLITE_TOOBIG:
		return sql->allowed ? ERROR_FORMAT : ERROR_LIMIT;
	default:
		return ERROR_IO;
	}
}

int sql_error(const struct sql *sql, int code, struct error *error)
{
	const char *why = sql->db ? sqlite3_errmsg(sql->db) : sqlite3_errstr(code);
	int errnum = sql->db ? sqlite3_system_errno(sql->db) : 0;

	/* SQLite describes every error in SQL, unless it is out of memory for the text. */
	if (code == SQLITE_NOMEM ||
	    (code == SQLITE_ERROR && strcmp(why, sqlite3_errstr(SQLITE_ERROR)) == 0))
		return error_nomem(error);
	if ((code & 0xff) == SQLITE_IOERR && errnum)
		return error_set(error, code_of_sqlite(sql, code), "%s: %s: %s", sql->file, why,
		                 errno_text(errnum));
	return error_set(error, code_of_sqlite(sql, code), "%s: %s", sql->file, why);
}

/* A file that could not be read is not known to be damaged. */
int sql_damaged(const struct sql *sql, struct error *error)
{
	if (sql->vfs.errnum)
		return error_errno(error, sql->vfs.errnum, "cannot read %s", sql->file);
	return error_set(error, ERROR_FORMAT, "%s: the database is damaged", sql->file);
}

/* --- opening --- */

/* The largest sizes in our statements and schema. */
static const struct {
	int what, most;
} limits[] = {
        {SQLITE_LIMIT_SQL_LENGTH, 16384},   {SQLITE_LIMIT_COLUMN, 32},
        {SQLITE_LIMIT_EXPR_DEPTH, 64},      {SQLITE_LIMIT_COMPOUND_SELECT, 5},
        {SQLITE_LIMIT_VDBE_OP, 16384},      {SQLITE_LIMIT_FUNCTION_ARG, 9},
        {SQLITE_LIMIT_ATTACHED, 0},         {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 16},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 32}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},   {SQLITE_LIMIT_LENGTH, ROW_MAX},
};

/* https://www.sqlite.org/security.html */
static const struct {
	int what, on;
} precautions[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, /* ours are for users */
};

static const char private_copy[] =
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
        "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;";

int sql_open(struct sql *sql, int fd, enum file_use use, const char *file, struct error *error)
{
	int code;

	sql->file = strdup(file);
	if (!sql->file)
		return error_nomem(error);
	code = file_vfs_open(&sql->vfs, fd, use, &sql->db);
	if (code != SQLITE_OK)
		return sql_error(sql, code, error);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		sqlite3_limit(sql->db, limits[i].what, limits[i].most);
	/* Before the precautions, which forbid the journal mode OFF. */
	code = use == FILE_WRITE ? sql_execute(sql, private_copy, error) : 0;
	for (size_t i = 0; i < sizeof(precautions) / sizeof(*precautions); i++)
		sqlite3_db_config(sql->db, precautions[i].what, precautions[i].on, NULL);
	return code;
}

void sql_close(struct sql *sql)
{
	for (size_t i = 0; i < sql->count; i++)
		sqlite3_finalize(sql->prepared[i].statement);
	free(sql->prepared);
	sqlite3_close(sql->db);
	free(sql->file);
	*sql = (struct sql){0};
}

/* --- limits --- */

/* The pages that statements have used since the last call. */
static int64_t count_pages(sqlite3 *db)
{
	int hits = 0, misses = 0, most;

	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &most, true);
	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, true);
	return (int64_t)hits + misses;
}

/*
 * Progress handler, called every STEPS_BETWEEN instructions: non-zero interrupts. At the first call
 * of a step, earlier statements' pages are among those counted.
 */
static int spend(void *payload)
{
	struct sql *sql = payload;
	int64_t pages = count_pages(sql->db), left = (int64_t)sql->left - STEPS_BETWEEN;

	if (sql->left < sql->allowed)
		left -= pages * STEPS_PER_PAGE;
	sql->left = left < 0 ? -1 : (int)left;
	return (sql->allowed && left < 0) || (sql->stopped && sql->stopped());
}

void sql_limit(struct sql *sql, int64_t size)
{
	int bytes = size < SIZE_COUNTED ? (int)size : SIZE_COUNTED;

	sql->allowed = bytes * STEPS_PER_BYTE + STEPS_MIN;
	sql->memory = (size_t)bytes * MEMORY_PER_BYTE + MEMORY_MIN;
	sqlite3_progress_handler(sql->db, STEPS_BETWEEN, spend, sql);
	sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH,
	              size > ROW_MAX   ? ROW_MAX
	              : size < ROW_MIN ? ROW_MIN
	                               : (int)size);
}

void sql_unlimit(struct sql *sql)
{
	sql->allowed = 0;
	sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH, ROW_MAX);
}

void sql_stop(struct sql *sql, bool (*stopped)(void))
{
	sql->stopped = stopped;
	sqlite3_progress_handler(sql->db, STEPS_BETWEEN, spend, sql);
}

/* Has the statement, over all its rows, exceeded its limit? */
static bool is_endless(const struct sql *sql, sqlite3_stmt *statement)
{
	return sql->allowed &&
	       sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0) > sql->allowed;
}

/* --- statements --- */

int sql_execute(struct sql *sql, const char *text, struct error *error)
{
	int code;

	sql->left = sql->allowed;
	code = sqlite3_exec(sql->db, text, NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : sql_error(sql, code, error);
}

static sqlite3_stmt *prepare(struct sql *sql, const char *text)
{
	sqlite3_stmt *statement = NULL;

	sql->left = sql->allowed;
	sql->code = array_grow(&sql->prepared, sql->count, sizeof(*sql->prepared), &sql->room)
	                    ? sqlite3_prepare_v3(sql->db, text, -1, SQLITE_PREPARE_PERSISTENT,
	                                         &statement, NULL)
	                    : SQLITE_NOMEM;
	if (statement)
		sql->prepared[sql->count++] = (struct sql_prepared){text, statement};
	return statement;
}

sqlite3_stmt *sql_get(struct sql *sql, const char *text)
{
	for (size_t i = 0; i < sql->count; i++) {
		if (sql->prepared[i].text != text)
			continue;
		sqlite3_reset(sql->prepared[i].statement);
		sqlite3_stmt_status(sql->prepared[i].statement, SQLITE_STMTSTATUS_VM_STEP, 1);
		return sql->prepared[i].statement;
	}
	return prepare(sql, text);
}

sqlite3_stmt *sql_get_of(struct sql *sql, const char *text, int64_t key)
{
	sqlite3_stmt *statement = sql_get(sql, text);

	if (statement)
		sqlite3_bind_int64(statement, 1, key);
	return statement;
}

/* SQLite calls the progress handler only in long statements. */
static int check_stopped(const struct sql *sql, struct error *error)
{
	if (sql->stopped && sql->stopped())
		return error_set(error, ERROR_IO, "%s: interrupted; nothing was changed",
		                 sql->file);
	return 0;
}

int sql_step(struct sql *sql, sqlite3_stmt *statement, struct error *error)
{
	int code = sql->code;

	sql->code = SQLITE_OK;
	if (code != SQLITE_OK)
		return sql_error(sql, code, error);
	if (check_stopped(sql, error) < 0)
		return ERROR_IO;
	sql->left = sql->allowed;
	code = sqlite3_step(statement);
	if (code == SQLITE_INTERRUPT || (code == SQLITE_ROW && is_endless(sql, statement))) {
		sqlite3_reset(statement);
		return check_stopped(sql, error) < 0 ? ERROR_IO : sql_damaged(sql, error);
	}
	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	return sql_error(sql, code, error);
}

int sql_single(struct sql *sql, sqlite3_stmt *statement, int64_t *number, struct error *error)
{
	int code = sql_step(sql, statement, error);

	if (code > 0 && number && sqlite3_column_type(statement, 0) != SQLITE_NULL)
		*number = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return code < 0 ? code : 0;
}

void sql_bind(struct sql *sql, sqlite3_stmt *statement, int index, struct slice text)
{
	int code = SQLITE_OK;

	if (statement)
		code = slice_is_null(text)
		               ? sqlite3_bind_null(statement, index)
		               : sqlite3_bind_text64(statement, index, text.ptr, text.len,
		                                     SQLITE_STATIC, SQLITE_UTF8);
	if (code != SQLITE_OK)
		sql->code = code;
}

struct slice sql_column(sqlite3_stmt *statement, int index)
{
	const char *text = (const char *)sqlite3_column_text(statement, index);

	return (struct slice){text, text ? (size_t)sqlite3_column_bytes(statement, index) : 0};
}

int sql_check_row(const struct sql *sql, struct error *error)
{
	return (sqlite3_errcode(sql->db) & 0xff) == SQLITE_NOMEM ? error_nomem(error) : 0;
}

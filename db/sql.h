/*
 * sql.h - the SQLite interface shared by reader and writer.
 *
 * Private to db/: nothing else includes <sqlite3.h>.
 */
#ifndef DB_SQL_H
#define DB_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "db/base/error.h"
#include "db/base/slice.h"
#include "db/base/trust.h"

/* schema.sql as a string, and the two numbers that it stores in the file's header. */
extern const char sql_schema[];
#define SQL_APPLICATION_ID 1162888265u
#define SQL_USER_VERSION   1u

/* --- SQLite on an open descriptor: file_vfs.c --- */

enum file_use {
	FILE_READ,  /* an immutable file */
	FILE_WRITE, /* a private file, for journal_mode OFF and temp_store MEMORY */
};

/* Must not be moved while the database is open. */
struct file_vfs {
	sqlite3_vfs base; /* must be first: the part that SQLite knows */
	char name[32];
	int fd;
	enum file_use use;
	int errnum; /* of the last failed system call; SQLite's later errors may follow from it */
};

/*
 * Open a database on @fd, for one thread at a time. Returns an SQLite code. As with
 * sqlite3_open_v2(), *db may have to be closed after a failure, too.
 */
int file_vfs_open(struct file_vfs *vfs, int fd, enum file_use use, sqlite3 **db);

/* --- statements --- */

/* An open database and its prepared statements; must not be moved. */
struct sql {
	sqlite3 *db;
	struct file_vfs vfs;
	char *file; /* for messages */
	struct sql_prepared *prepared;
	size_t count, room;    /* of these */
	int allowed, left;     /* see sql_limit(); allowed is 0 without a limit */
	size_t memory;         /* see sql_affords() */
	bool (*stopped)(void); /* see sql_stop() */
	int code;              /* SQLite's code of a failure since the last step */
};

/* A database open for reading: a published one, or a writer's copy. */
struct reader {
	struct sql sql;
	struct stat opened; /* the published file */
	enum trust_way way; /* to it */
	int fd;
	sqlite3_stmt *selection;
	size_t spent; /* for its rows */
};

/*
 * Open the database on @fd, which the caller owns (file_vfs.c), for one thread at a time; @file:
 * its name, for messages. Hardened against hostile files: no triggers and views of the file run,
 * its schema cannot be written, and sizes are limited. Do not trust its content before identity.h
 * has checked it.
 */
int sql_open(struct sql *sql, int fd, enum file_use use, const char *file, struct error *error);

/*
 * Limit each statement to the steps, and each row to the size, that a sound file of @size bytes
 * could need; beyond, ERROR_FORMAT. In a damaged file, pages may form cycles and rows may be
 * endless.
 */
void sql_limit(struct sql *sql, int64_t size);

/* Remove the limit: the file was found sound. */
void sql_unlimit(struct sql *sql);

/*
 * Add @bytes to *spent, the memory for the rows of a query. False if a sound file cannot hold so
 * many rows: they share pages.
 */
static inline bool sql_affords(const struct sql *sql, size_t bytes, size_t *spent)
{
	*spent += bytes;
	return !sql->allowed || *spent <= sql->memory;
}

/* Call @stopped periodically: if it returns true, the running statement ends with ERROR_IO. */
void sql_stop(struct sql *sql, bool (*stopped)(void));

/* Finalize all statements and close the database; accepts an empty or partly opened one. */
void sql_close(struct sql *sql);

/* Run statements that return no rows. */
int sql_execute(struct sql *sql, const char *text, struct error *error);

/*
 * The prepared statement for @text, reset; prepared at first use and cached by the address of
 * @text, a literal. Bind every parameter each time. NULL on failure, which the functions below
 * accept and sql_step() reports. @sql owns it.
 */
sqlite3_stmt *sql_get(struct sql *sql, const char *text);

/* sql_get() with @key bound to ?1. */
sqlite3_stmt *sql_get_of(struct sql *sql, const char *text, int64_t key);

/* Step: 1 for a row, 0 at the end, or a negative code. */
int sql_step(struct sql *sql, sqlite3_stmt *statement, struct error *error);

/*
 * Run a statement that returns at most one row, and reset it. *number (@number may be NULL) is set
 * to its first column, unless there is no row or it is NULL.
 */
int sql_single(struct sql *sql, sqlite3_stmt *statement, int64_t *number, struct error *error);

/* Translate SQLite's @code; the message names the file and repeats SQLite's text. */
int sql_error(const struct sql *sql, int code, struct error *error);

/* ERROR_FORMAT for invalid rows; or the errno of a failed read, if there was one. */
int sql_damaged(const struct sql *sql, struct error *error);

/*
 * Bind a slice as text; null binds NULL. The bytes must be valid until the statement is stepped,
 * which reports a failure.
 */
void sql_bind(struct sql *sql, sqlite3_stmt *statement, int index, struct slice text);

/*
 * The text of a column; valid until the next step. NULL gives the null slice, and so does a lack of
 * memory: after reading the columns of a row, check sql_check_row() or step to the end.
 */
struct slice sql_column(sqlite3_stmt *statement, int index);

/* 0, or ERROR_NOMEM if memory ran out for a column of the row. */
int sql_check_row(const struct sql *sql, struct error *error);

#endif

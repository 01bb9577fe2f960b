/*
 * sql.h - the few SQLite calls that reader and writer share.
 *
 * Private to db/: nobody else includes <sqlite3.h>.
 */
#ifndef DB_SQL_H
#define DB_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "db/base/error.h"
#include "db/base/slice.h"

/* The schema of schema.sql, and the two numbers that it writes into the file's header. */
extern const char sql_schema[];
#define SQL_APPLICATION_ID 1162888265u
#define SQL_USER_VERSION   1u

/* --- SQLite on a descriptor that is open already: file_vfs.c --- */

enum file_use {
	FILE_READ,  /* a file that never changes: SQLite looks at it once */
	FILE_WRITE, /* one that nobody else sees: for journal_mode OFF, temp_store MEMORY */
};

/* Must stay where it is for as long as the database is open. */
struct file_vfs {
	sqlite3_vfs base; /* first: SQLite knows no more of it */
	char name[32];
	int fd;
	enum file_use use;
	int errnum; /* of a system call that failed; what SQLite says since may follow from it */
};

/*
 * Open a database on @fd; an SQLite code. As with sqlite3_open_v2(), *@db may have to
 * be closed after a failure, too. For one thread at a time.
 */
int file_vfs_open(struct file_vfs *vfs, int fd, enum file_use use, sqlite3 **db);

/* --- statements --- */

/* An open file and the statements prepared on it so far; it stays where it is. */
struct sql {
	sqlite3 *db;
	struct file_vfs vfs;
	char *file; /* for messages */
	struct sql_prepared *prepared;
	size_t count, room;    /* of these */
	int allowed, left;     /* see sql_limit(); allowed is 0 without limit */
	bool (*stopped)(void); /* see sql_stop() */
	int code;              /* SQLite's, of what has failed since the last step */
};

/* A database that is open for reading: a published one, or the copy of a writer. */
struct reader {
	struct sql sql;
	struct stat opened; /* the published file */
	int fd;
	sqlite3_stmt *selection;
};

/*
 * Open the database on @fd, which stays the caller's (file_vfs.c), for one thread at a
 * time; @file: its name, for messages. Whatever the file says, SQLite then runs none
 * of its triggers and views, writes no table of its schema, and makes nothing that is
 * larger than we ever do. The file may be hostile until identity.h has looked at it.
 */
int sql_open(struct sql *sql, int fd, enum file_use use, const char *file, struct error *error);

/*
 * From now on, let no statement run for more steps than a sound file of @size bytes
 * could ask for, nor read a row larger than that file: ERROR_FORMAT. In a damaged file
 * pages may contain each other, and rows be without end.
 */
void sql_limit(struct sql *sql, int64_t size);

/* Take that limit back: the file has been found sound. */
void sql_unlimit(struct sql *sql);

/* Ask @stopped now and then: a statement that runs when it answers true ends as ERROR_IO. */
void sql_stop(struct sql *sql, bool (*stopped)(void));

/* Finalize what was prepared, close the database; accepts a half-opened or empty one. */
void sql_close(struct sql *sql);

/* Run statements that give no rows, such as the schema. */
int sql_execute(struct sql *sql, const char *text, struct error *error);

/*
 * The statement, reset, prepared at first use and known by where @text stands: a literal. Each of
 * its parameters is to be bound, each time. NULL on failure, which the functions below accept and
 * sql_step() reports; it stays the property of @sql.
 */
sqlite3_stmt *sql_get(struct sql *sql, const char *text);

/* The same with @key bound to ?1. */
sqlite3_stmt *sql_get_of(struct sql *sql, const char *text, int64_t key);

/* Step: 1 for a row, 0 at the end, or a negative code with @error filled. */
int sql_step(struct sql *sql, sqlite3_stmt *statement, struct error *error);

/*
 * Run a statement that returns one row at most, and reset it. *@number: its first column, or
 * untouched where there is none, or NULL; it may be NULL.
 */
int sql_single(struct sql *sql, sqlite3_stmt *statement, int64_t *number, struct error *error);

/* Translate SQLite's @code; the message names the file and repeats SQLite's words. */
int sql_error(const struct sql *sql, int code, struct error *error);

/*
 * ERROR_FORMAT, for rows that no writer of ours would write; but what the system said
 * if it has refused to read the file.
 */
int sql_damaged(const struct sql *sql, struct error *error);

/*
 * Bind a slice as text; the bytes must stay until the statement is stepped, which
 * reports it if they could not be bound. Null binds NULL.
 */
void sql_bind(struct sql *sql, sqlite3_stmt *statement, int index, struct slice text);

/*
 * The text of a column; valid until the next step. NULL gives the null slice; so does
 * a want of memory, which must not be taken for NULL: when the columns of a row have
 * been asked for, ask sql_check_row(), or step on to the end.
 */
struct slice sql_column(sqlite3_stmt *statement, int index);

/* 0, or ERROR_NOMEM if a column of the row could not be given. */
int sql_check_row(const struct sql *sql, struct error *error);

#endif

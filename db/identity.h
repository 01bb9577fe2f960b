/*
 * identity.h - is this file a database of ours?
 *
 * The header tells whether it claims to be. Whether it is, its schema tells: views,
 * triggers and expressions of others are programs, which SQLite would run. So the
 * tables, indexes and views of the file are compared with schema.sql, word by word,
 * and a file that has one more, one less or another one is nobody's to trust.
 */
#ifndef DB_IDENTITY_H
#define DB_IDENTITY_H

#include <stdint.h>

#include "db/sql.h"

/*
 * Look at the header of the file that is open as @fd; @file is its name, for messages.
 * 0 for a database of ours, ERROR_INVALID for one of somebody else's, ERROR_FORMAT for
 * what is none, is damaged, or is of another version. *@version: that of its schema, or 0 where it
 * does not claim to be ours; or NULL.
 */
int identity_check_header(int fd, const char *file, uint32_t *version, struct error *error);

/*
 * Undo the one change of the header that people make with sqlite3 and that does no
 * harm, the journal mode WAL, in a private copy: 1 if it was so, 0 if it was not.
 */
int identity_leave_wal(int fd, const char *file, struct error *error);

/*
 * ERROR_FORMAT if the schema is not, word by word, ours. @only: the beginning of the statements
 * that must be there, whatever else there is; "": all of them, and nothing else.
 */
int identity_check_schema(struct sql *sql, const char *only, struct error *error);

/*
 * Before a database is changed, what is damaged in it must be found, not after half of the
 * changes. ERROR_FORMAT: pages, indexes, or rows that belong to nothing, are. For pages the
 * schema may be any.
 */
int identity_check_pages(struct sql *sql, struct error *error);
int identity_check_rows(struct sql *sql, struct error *error);

#endif

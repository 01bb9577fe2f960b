/*
 * identity.h - checks that a file is an undamaged database of entrydb.
 *
 * The header only claims to be one. Views, triggers and expressions in a foreign schema are
 * programs that SQLite would run: so the tables, indexes and views are compared with schema.sql
 * word by word, and a file with one more, one fewer or a different one is rejected.
 */
#ifndef DB_IDENTITY_H
#define DB_IDENTITY_H

#include <stdint.h>

#include "db/sql.h"

/*
 * Check the header of the file @fd; @file is its name, for messages. 0 if it is a database of
 * entrydb; ERROR_INVALID if of another application; ERROR_FORMAT if it is not a database, damaged,
 * or of another version. *version (@version may be NULL) is set to its schema version, or left
 * alone if it is not a database of entrydb.
 */
int identity_check_header(int fd, const char *file, uint32_t *version, struct error *error);

/*
 * Undo journal mode WAL, the one harmless change that users make with sqlite3, in the header of a
 * private copy. 1 if it was set, else 0.
 */
int identity_leave_wal(int fd, const char *file, struct error *error);

/*
 * ERROR_FORMAT unless the schema equals schema.sql. @only: a prefix of the statements that must be
 * present, whatever else there is; "": all of them, and nothing else.
 */
int identity_check_schema(struct sql *sql, const char *only, struct error *error);

/*
 * Before a database is changed, check it for damage. ERROR_FORMAT: damaged pages or indexes (of any
 * schema); rows without their parents.
 */
int identity_check_pages(struct sql *sql, struct error *error);
int identity_check_rows(struct sql *sql, struct error *error);

#endif

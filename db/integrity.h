/*
 * integrity.h - is a database that is to be changed, and published again, sound?
 */
#ifndef DB_INTEGRITY_H
#define DB_INTEGRITY_H

#include "db/sql.h"

/*
 * Look at every page, index and row of the database that @sql has open, whose schema is
 * ours. 0: sound; ERROR_FORMAT: damaged; else it could not be found out.
 */
int integrity_check(struct sql *sql, struct error *error);

/* The same for pages and indexes alone, whatever the schema is. */
int integrity_check_pages(struct sql *sql, struct error *error);

#endif

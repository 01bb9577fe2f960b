/*
 * reader_state.h - a database that is open, for what is in it (reader_rows.c), and for a writer,
 * which reads its own copy in the same way.
 */
#ifndef DB_READER_STATE_H
#define DB_READER_STATE_H

#include <sys/stat.h>

#include "db/sql.h"

struct reader {
	struct sql sql;
	struct stat opened; /* the published file */
	int fd;
	sqlite3_stmt *selection;
};

#endif

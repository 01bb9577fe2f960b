/*
 * carry_over.c - a file that cannot be used gives its audit trail to the one that replaces it.
 */
#include "db/carry_over.h"

#include <errno.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/identity.h"
#include "db/tables.h"

/* 1: the event was copied, or makes no sense; 0: there are no more. */
static int copy_event(struct sql *sql, struct sql *old, sqlite3_stmt *from, struct error *error)
{
	sqlite3_stmt *to = sql_get(sql, SQL_PUT_EVENT, error);
	struct event_record event;
	bool whole;
	int code;

	if (!to)
		return sql_code(sql);
	code = sql_step(old, from, error);
	if (code <= 0)
		return code;
	whole = row_read(from, 0, &event_table, &event);
	if (sql_check_row(old, error) < 0)
		return ERROR_NOMEM;
	if (!whole)
		return 1;
	row_bind(sql, to, 1, &event_table, &event);
	code = sql_run(sql, to, error);
	return code < 0 ? code : 1;
}

static int copy_events(struct sql *sql, struct sql *old, struct error *error)
{
	sqlite3_stmt *from;
	int code = identity_check_table(old, "event", error);

	if (code < 0)
		return code;
	from = sql_get(old, SQL_EVENTS, error);
	code = from ? 1 : sql_code(old);
	while (code > 0)
		code = copy_event(sql, old, from, error);
	return code;
}

int carry_over_events(struct sql *sql, int fd, const char *path, bool (*stopped)(void),
                      struct error *error)
{
	CLEANUP(sql_close) struct sql old = {0};
	struct error why = {0};
	struct stat status;
	int code;

	if (fd < 0)
		return 0;
	if (fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", path);
	code = sql_open(&old, fd, FILE_READ, path, &why);
	if (code == 0) {
		sql_stop(&old, stopped);
		sql_limit(&old, status.st_size);
		code = copy_events(sql, &old, &why);
	}
	if (code != ERROR_FORMAT)
		return error_move(error, &why);
	error_clear(&why);
	return 0;
}

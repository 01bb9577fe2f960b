/*
 * carry_over.c - see carry_over.h.
 */
#include "db/carry_over.h"

#include <errno.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/columns.h"
#include "db/identity.h"
#include "db/rows.h"

/* 1: the event was copied, or makes no sense; 0: there are no more. */
static int copy_event(struct sql *sql, struct sql *old, sqlite3_stmt *from, struct error *error)
{
	sqlite3_stmt *to = sql_get(sql, SQL_PUT_EVENT, error);
	int code;

	if (!to)
		return sql_code(sql);
	code = sql_step(old, from, error);
	if (code <= 0)
		return code;
	for (int i = EVENT_ACTION; i <= EVENT_COMMAND; i++)
		sql_bind(sql, to, PARAMETER(i), sql_column(from, i));
	sqlite3_bind_int64(to, PARAMETER(EVENT_TIME), sqlite3_column_int64(from, EVENT_TIME));
	sqlite3_bind_int64(to, PARAMETER(EVENT_UID), sqlite3_column_int64(from, EVENT_UID));
	if (sql_check_row(old, error) < 0)
		return ERROR_NOMEM;
	if (slice_is_null(sql_column(from, EVENT_ACTION)) ||
	    slice_is_null(sql_column(from, EVENT_ROOT)))
		return 1;
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

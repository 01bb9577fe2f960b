/*
 * integrity.c - looks for damage before a file is copied and written to.
 */
#include "db/integrity.h"

/*
 * What is damaged must be found now, not after half of the changes: all pages are read,
 * and each index is compared with its table, which would be published again.
 */
int integrity_check_pages(struct sql *sql, struct error *error)
{
	sqlite3_stmt *statement = sql_get(sql, SQL_CHECK, error);
	int code = statement ? sql_step(sql, statement, error) : sql_code(sql);

	if (code > 0 && slice_equal(sql_column(statement, 0), SLICE("ok")))
		code = 0;
	else if (code >= 0)
		code = sql_check_row(sql, error) < 0 ? ERROR_NOMEM : sql_damaged(sql, error);
	sqlite3_reset(statement);
	return code;
}

/*
 * A row whose parent is missing, or that its root does not count, would never be dropped,
 * and would stay in the way of other rows.
 */
static int check_rows(struct sql *sql, struct error *error)
{
	sqlite3_stmt *statement = sql_get(sql, SQL_IS_COHERENT, error);
	int code = statement ? sql_step(sql, statement, error) : sql_code(sql);

	if (code > 0)
		code = sqlite3_column_int(statement, 0) ? 0 : sql_damaged(sql, error);
	sqlite3_reset(statement);
	return code;
}

int integrity_check(struct sql *sql, struct error *error)
{
	int code = integrity_check_pages(sql, error);

	return code < 0 ? code : check_rows(sql, error);
}

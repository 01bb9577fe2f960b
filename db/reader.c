/*
 * reader.c - answers from one published file. What is opened for a single question must be cheap:
 * one open, one read of the header, and no statement prepared before its use.
 */
#include "db/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "db/identity.h"
#include "db/publish.h"
#include "db/reader_state.h"
#include "db/tables.h"

#define READ_AHEAD ((off_t)1 << 20) /* bytes */
#define JSON_GROWS 8                /* times, at most: a byte may become \u001b, or \\x1b */
#define DOCUMENT   5                /* tables that SQL_DOCUMENT takes rows of */

/*
 * Is the descriptor not the file any more? A daemon may close all that it does not know,
 * and open something else under the same number.
 */
static bool lost_file(const struct reader *reader)
{
	struct stat status;

	return fstat(reader->fd, &status) != 0 || !safe_same_file(&status, &reader->opened);
}

/* Without following a link, nor waiting for the other end of a FIFO. */
static int open_file(struct reader *reader, const char *file, struct error *error)
{
	CLEANUP(cleanup_close) int fd = safe_fd(file_open(AT_FDCWD, file, O_NOFOLLOW));

	reader->fd = -1;
	if (fd < 0 && errno == ELOOP)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: not believed: it is a symbolic link; name the file itself",
		                 file);
	if (fd < 0 || fstat(fd, &reader->opened) != 0)
		return error_errno(error, errno, "%s", file);
	/* A question reads pages here and there: over a network, each a request of its own. */
	posix_fadvise(fd, 0, READ_AHEAD, POSIX_FADV_WILLNEED);
	reader->fd = take_fd(&fd);
	return 0;
}

static int open_database(struct reader *reader, const char *file, struct error *error)
{
	int code = identity_check_header(reader->fd, file, error);

	if (code == 0)
		code = sql_open(&reader->sql, reader->fd, FILE_READ, file, error);
	if (code < 0)
		return code;
	sql_limit(&reader->sql, reader->opened.st_size);
	return identity_check_schema(&reader->sql, "", error);
}

int reader_open(const char *file, uid_t owner, struct reader **out, struct error *error)
{
	CLEANUP(cleanup_reader) struct reader *reader = calloc(1, sizeof(*reader));
	int code;

	if (!reader)
		return error_nomem(error);
	code = open_file(reader, file, error);
	if (code == 0)
		code = trust_check(file, reader->fd, &reader->opened, owner, error);
	if (code == 0)
		code = open_database(reader, file, error);
	if (code == 0)
		*out = take(reader);
	return code;
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	sql_close(&reader->sql);
	/* What a daemon has put in its place is somebody else's. */
	if (reader->fd >= 0 && !lost_file(reader))
		close(reader->fd);
	free(reader);
}

bool reader_is_current(const struct reader *reader)
{
	const struct stat *a = &reader->opened;
	struct stat b;

	return stat(reader->sql.file, &b) == 0 && safe_same_file(a, &b) &&
	       a->st_size == b.st_size && a->st_ctim.tv_sec == b.st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b.st_ctim.tv_nsec && !lost_file(reader);
}

struct reader_status reader_status(const struct reader *reader)
{
	return (struct reader_status){
	        .owner = reader->opened.st_uid,
	        .mode = reader->opened.st_mode & 07777,
	        .is_marked_stale = publish_is_marked(&reader->opened),
	};
}

int reader_carried(struct reader *reader, struct carried *out, struct error *error)
{
	struct publication_record said;
	int found = reader_publication(reader, &said, error);

	if (found > 0)
		*out = carried_of(&said, &reader->opened);
	return found;
}

/* The statement for any group and name, for any group, for any name, for both. */
typedef const enum sql_id selections[2][2];

static int start_selection(struct reader *reader, selections ids, struct slice group,
                           struct slice name, struct error *error)
{
	bool by_group = !slice_is_null(group), by_name = !slice_is_null(name);

	reader->selection = sql_get(&reader->sql, ids[by_group][by_name], error);
	if (by_group)
		sql_bind(&reader->sql, reader->selection, 1, group);
	if (by_name)
		sql_bind(&reader->sql, reader->selection, 2, name);
	return reader->selection ? 0 : sql_step(&reader->sql, NULL, error);
}

int reader_select(struct reader *reader, struct slice group, struct slice name, struct error *error)
{
	static selections ids = {
	        {SQL_SELECT_ALL, SQL_SELECT_NAME},
	        {SQL_SELECT_GROUP, SQL_SELECT_GROUP_NAME},
	};

	return start_selection(reader, ids, group, name, error);
}

int reader_select_plugins(struct reader *reader, struct slice kind, struct slice name,
                          struct error *error)
{
	static selections ids = {
	        {SQL_SELECT_PLUGINS, SQL_SELECT_PLUGIN_NAME},
	        {SQL_SELECT_PLUGIN_KIND, SQL_SELECT_PLUGIN_KIND_NAME},
	};

	return start_selection(reader, ids, kind, name, error);
}

int reader_next(struct reader *reader, struct reader_row *row, struct error *error)
{
	int code = row_next(&reader->sql, reader->selection, &selected_table, row, error);

	if (code <= 0)
		return code;
	row->root = row->id >> (ENTRY_POINT_ID_SHIFT + DISTRIBUTION_ID_SHIFT);
	row->ordinal = (uint32_t)(row->id & (ENTRY_POINTS_MAX - 1));
	return 1;
}

static int each_row(struct reader *reader, sqlite3_stmt *row, const struct table *table,
                    reader_each *each, void *payload, struct error *error)
{
	struct distribution_record record = {0};
	int code;

	while ((code = row_next(&reader->sql, row, table, &record, error)) > 0 &&
	       (code = each(payload, &record)) == 0)
		;
	sqlite3_reset(row);
	return code;
}

int reader_holders(struct reader *reader, struct slice normalized_name, reader_each *each,
                   void *payload, struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SQL_HOLDERS, error);

	sql_bind(&reader->sql, row, 1, normalized_name);
	return each_row(reader, row, &holder_table, each, payload, error);
}

int reader_called(struct reader *reader, int64_t root, struct slice normalized_name,
                  reader_each *each, void *payload, struct error *error)
{
	sqlite3_stmt *row = sql_get_of(&reader->sql, SQL_CALLED, root, error);

	sql_bind(&reader->sql, row, 2, normalized_name);
	return each_row(reader, row, &holder_table, each, payload, error);
}

int reader_broken(struct reader *reader, int64_t root, reader_each *each, void *payload,
                  struct error *error)
{
	int code = sql_execute(&reader->sql, "PRAGMA temp_store = MEMORY", error);

	if (code < 0)
		return code;
	return each_row(reader, sql_get_of(&reader->sql, SQL_BROKEN, root, error), &problem_table,
	                each, payload, error);
}

int reader_target(struct reader *reader, int64_t entry_point, struct target_record *out,
                  struct error *error)
{
	return row_next(&reader->sql, sql_get_of(&reader->sql, SQL_TARGET, entry_point, error),
	                &target_table, out, error);
}

int reader_events(struct reader *reader,
                  int (*each)(void *payload, const struct event_record *event), void *payload,
                  struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SQL_EVENTS, error);
	struct event_record event;
	int code;

	while ((code = row_next(&reader->sql, row, &event_table, &event, error)) > 0 &&
	       (code = each(payload, &event)) == 0)
		;
	sqlite3_reset(row);
	return code;
}

/* --- a document --- */

/* shown(text), shown(text, bytes): as escape_unless_text(), and of the first of these bytes. */
static void show(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct slice text = {(const char *)sqlite3_value_text(values[0]),
	                     (size_t)sqlite3_value_bytes(values[0])};
	char *room = NULL;

	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (text.ptr && count > 1)
		text = slice_first(text, utf8_cut(text, (size_t)sqlite3_value_int(values[1])));
	text = escape_unless_text(text, &room);
	if (room)
		sqlite3_result_text64(context, room, text.len, free, SQLITE_UTF8);
	else if (text.ptr)
		sqlite3_result_text64(context, text.ptr, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		sqlite3_result_error_nomem(context);
}

static sqlite3_stmt *begin_document(struct reader *reader, struct error *error)
{
	sqlite3 *db = reader->sql.db;
	int most = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1);
	int code = sqlite3_create_function_v2(
	        db, "shown", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, show,
	        NULL, NULL, NULL);

	if (code != SQLITE_OK) {
		sql_error(&reader->sql, code, error);
		return NULL;
	}
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH,
	              most < INT_MAX / JSON_GROWS ? JSON_GROWS * most : INT_MAX);
	return sql_get(&reader->sql, SQL_DOCUMENT, error);
}

int reader_document(struct reader *reader, FILE *stream, size_t *rows, struct error *error)
{
	sqlite3_stmt *statement = begin_document(reader, error);
	const char *between = "";
	int table = 0, code;

	*rows = 0;
	fputs("[[", stream);
	while ((code = sql_step(&reader->sql, statement, error)) > 0) {
		struct slice row = sql_column(statement, 1);

		for (; table < sqlite3_column_int(statement, 0); table++, between = "")
			fputs("],[", stream);
		if (slice_is_null(row))
			return sql_damaged(&reader->sql, error);
		fputs(between, stream);
		fwrite(row.ptr, 1, row.len, stream);
		between = ",";
		++*rows;
	}
	for (; table < DOCUMENT - 1; table++)
		fputs("],[", stream);
	fputs("]]", stream);
	sqlite3_reset(statement);
	return code;
}

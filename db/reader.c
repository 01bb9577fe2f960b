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
#include "db/base/safe_path.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "db/identity.h"
#include "db/publish.h"
#include "db/rows.h"
#include "db/tables.h"

#define READ_AHEAD ((off_t)1 << 20) /* bytes */
#define JSON_GROWS 8                /* times, at most: a byte may become \u001b, or \\x1b */
#define DOCUMENT   5                /* tables that SQL_DOCUMENT takes rows of */

struct reader {
	struct sql sql;
	struct stat opened;
	int fd;
	sqlite3_stmt *selection;
};

/*
 * Is the descriptor not the file any more? A daemon may close all that it does not know,
 * and open something else under the same number.
 */
static bool lost_file(const struct reader *reader)
{
	struct stat status;

	return fstat(reader->fd, &status) != 0 || !safe_same_file(&status, &reader->opened);
}

/* A file that somebody else may write could say anything. */
static int check_trust(const char *file, uid_t owner, int fd, const struct stat *status,
                       struct error *error)
{
	enum trust trust = trust_of(fd, status, owner);

	if (!S_ISREG(status->st_mode))
		return error_set(error, ERROR_FORMAT, "%s: not a regular file", file);
	if (trust == TRUST_FOREIGN)
		return error_set(
		        error, ERROR_PERMISSION,
		        "%s: not believed: it belongs to user %u, who is neither root, nor "
		        "you, nor the owner of what it describes",
		        file, status->st_uid);
	if (trust == TRUST_WRITABLE)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: not believed: %s may write it; chmod %s it", file,
		                 status->st_mode & S_IWOTH ? "everybody" : "a group",
		                 status->st_mode & S_IWOTH ? "o-w" : "g-w");
	return 0;
}

/* Without following a link, nor waiting for the other end of a FIFO. */
static int open_file(struct reader *reader, const char *file, struct error *error)
{
	CLEANUP(cleanup_close) int fd = safe_openat(AT_FDCWD, file, O_RDONLY | O_NONBLOCK, 0);

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
	return identity_check_schema(&reader->sql, error);
}

int reader_open(const char *file, uid_t owner, struct reader **out, struct error *error)
{
	CLEANUP(cleanup_reader) struct reader *reader = calloc(1, sizeof(*reader));
	int code;

	if (!reader)
		return error_nomem(error);
	code = open_file(reader, file, error);
	if (code == 0)
		code = check_trust(file, owner, reader->fd, &reader->opened, error);
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

int reader_publication(struct reader *reader, struct publication_record *out, struct error *error)
{
	return rows_publication(&reader->sql, out, error);
}

int reader_carried(struct reader *reader, struct carried *out, struct error *error)
{
	struct publication_record said;
	int found = reader_publication(reader, &said, error);

	if (found > 0)
		*out = carried_of(&said, &reader->opened);
	return found;
}

int reader_root(struct reader *reader, struct slice path, struct root_record *out,
                struct error *error)
{
	return rows_root(&reader->sql, path, out, error);
}

int reader_roots(struct reader *reader, root_each *each, void *payload, struct error *error)
{
	return rows_roots(&reader->sql, each, payload, error);
}

int reader_distributions(struct reader *reader, struct root_record *root, bool entry_points,
                         struct error *error)
{
	return rows_distributions(&reader->sql, root, entry_points, error);
}

int reader_listed(struct reader *reader, struct root_record *root, struct error *error)
{
	return rows_listed(&reader->sql, root, error);
}

int reader_startups(struct reader *reader, struct root_record *root, struct error *error)
{
	return rows_startups(&reader->sql, root, error);
}

/* The statement for any group and name, for any group, for any name, for both. */
typedef const enum sql_id selections[2][2];

static int start_selection(struct reader *reader, selections ids, struct slice group,
                           struct slice name, struct error *error)
{
	bool by_group = !slice_is_null(group), by_name = !slice_is_null(name);
	sqlite3_stmt *statement = sql_get(&reader->sql, ids[by_group][by_name], error);

	if (!statement)
		return sql_code(&reader->sql);
	if (by_group)
		sql_bind(&reader->sql, statement, 1, group);
	if (by_name)
		sql_bind(&reader->sql, statement, 2, name);
	reader->selection = statement;
	return 0;
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
	int code = sql_step(&reader->sql, reader->selection, error);

	if (code > 0) {
		bool whole = row_read(reader->selection, 0, &selected_table, row);

		row->root = row->id >> (ENTRY_POINT_ID_SHIFT + DISTRIBUTION_ID_SHIFT);
		row->ordinal = (uint32_t)(row->id & (ENTRY_POINTS_MAX - 1));
		code = sql_check_row(&reader->sql, error);
		if (code == 0 && whole)
			return 1;
		if (code == 0)
			code = sql_damaged(&reader->sql, error);
	}
	sqlite3_reset(reader->selection);
	return code;
}

static int each_holder(struct reader *reader, sqlite3_stmt *statement,
                       void (*each)(void *payload, const struct reader_holder *holder),
                       void *payload, struct error *error)
{
	int code;

	while ((code = sql_step(&reader->sql, statement, error)) > 0) {
		struct reader_holder holder;

		if (!row_read(statement, 0, &holder_table, &holder)) {
			code = sql_damaged(&reader->sql, error);
			break;
		}
		each(payload, &holder);
	}
	sqlite3_reset(statement);
	return code;
}

int reader_holders(struct reader *reader, struct slice normalized_name,
                   void (*each)(void *payload, const struct reader_holder *holder), void *payload,
                   struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_HOLDERS, error);

	if (!statement)
		return sql_code(&reader->sql);
	sql_bind(&reader->sql, statement, 1, normalized_name);
	return each_holder(reader, statement, each, payload, error);
}

int reader_called(struct reader *reader, int64_t root, struct slice normalized_name,
                  void (*each)(void *payload, const struct reader_holder *holder), void *payload,
                  struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_CALLED, error);

	if (!statement)
		return sql_code(&reader->sql);
	sqlite3_bind_int64(statement, 1, root);
	sql_bind(&reader->sql, statement, 2, normalized_name);
	return each_holder(reader, statement, each, payload, error);
}

int reader_broken(struct reader *reader, int64_t root,
                  int (*each)(void *payload, const struct reader_problem *problem), void *payload,
                  struct error *error)
{
	sqlite3_stmt *statement;
	int code = sql_execute(&reader->sql, "PRAGMA temp_store = MEMORY", error), answer = 0;

	if (code < 0)
		return code;
	statement = sql_get(&reader->sql, SQL_BROKEN, error);
	if (!statement)
		return sql_code(&reader->sql);
	sqlite3_bind_int64(statement, 1, root);
	while (answer == 0 && (code = sql_step(&reader->sql, statement, error)) != 0) {
		struct reader_problem problem;

		if (code < 0)
			return code;
		if (!row_read(statement, 0, &problem_table, &problem))
			return sql_damaged(&reader->sql, error);
		answer = each(payload, &problem);
	}
	sqlite3_reset(statement);
	return answer;
}

int reader_target(struct reader *reader, int64_t entry_point, struct target_record *out,
                  struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_TARGET, error);
	bool is_whole;
	int code;

	if (!statement)
		return sql_code(&reader->sql);
	sqlite3_bind_int64(statement, 1, entry_point);
	code = sql_step(&reader->sql, statement, error);
	if (code <= 0)
		return code;
	is_whole = row_read(statement, 0, &target_table, out);
	if (sql_check_row(&reader->sql, error) < 0)
		return ERROR_NOMEM;
	return is_whole ? 1 : sql_damaged(&reader->sql, error);
}

int reader_events(struct reader *reader,
                  int (*each)(void *payload, const struct event_record *event), void *payload,
                  struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_EVENTS, error);
	int code, answer = 0;

	if (!statement)
		return sql_code(&reader->sql);
	while (answer == 0 && (code = sql_step(&reader->sql, statement, error)) != 0) {
		struct event_record event;

		if (code < 0)
			return code;
		if (!row_read(statement, 0, &event_table, &event))
			return sql_damaged(&reader->sql, error);
		answer = each(payload, &event);
	}
	sqlite3_reset(statement);
	return answer;
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
	if (!statement)
		return sql_code(&reader->sql);
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

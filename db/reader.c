/*
 * reader.c - see reader.h. What is opened for a single question must be cheap:
 * one open, one read of the header, and no statement prepared before its use.
 */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"
#include "sql.h"

struct reader {
	struct sql sql;
	struct stat opened;
	int fd; /* SQLite's; -1: not known */
	sqlite3_stmt *selection;
};

/* Characters that end or escape the path of a file: URI. */
static bool must_be_escaped(char c)
{
	return c == '%' || c == '?' || c == '#';
}

/* https://www.sqlite.org/uri.html */
static char *uri_of(const char *file)
{
	static const char head[] = "file:", tail[] = "?mode=ro&immutable=1";
	char *uri = malloc(sizeof(head) + 3 * strlen(file) + sizeof(tail) + 2);
	char *at = uri;

	if (!uri)
		return NULL;
	at = stpcpy(at, head);
	if (file[0] == '/' && file[1] == '/')
		at = stpcpy(at, "//"); /* or it would begin an authority */
	for (; *file; file++) {
		if (must_be_escaped(*file))
			at += sprintf(at, "%%%02x", (unsigned)*file);
		else
			*at++ = *file;
	}
	stpcpy(at, tail);
	return uri;
}

/* The facts of the file, and the descriptor that the next one to open a file will get. */
static int look_at(const char *file, struct stat *status, int *next, struct error *error)
{
	CLEANUP(cleanup_close) int fd = open(file, O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, status) != 0)
		return error_errno(error, errno, "%s", file);
	*next = fd;
	return 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/*
 * Is SQLite's descriptor still the file? A daemon may close all that it does not know,
 * and open something else under the same number. SQLite does not tell which it has: it
 * is the one that was free before, unless another thread was in between.
 */
static bool has_file(const struct reader *reader, int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && is_same_file(&status, &reader->opened);
}

static bool lost_file(const struct reader *reader)
{
	return reader->fd >= 0 && !has_file(reader, reader->fd);
}

/* A file that somebody else may write could say anything. */
static int check_trust(const char *file, uid_t owner, const struct stat *status,
                       struct error *error)
{
	if (!S_ISREG(status->st_mode))
		return error_set(error, ERROR_FORMAT, "%s: not a regular file", file);
	if (status->st_uid != 0 && status->st_uid != geteuid() && status->st_uid != owner)
		return error_set(
		        error, ERROR_PERMISSION,
		        "%s: not believed: it belongs to user %u, who is neither root, nor "
		        "you, nor the owner of what it describes",
		        file, status->st_uid);
	if (status->st_mode & S_IWOTH)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: not believed: everybody may write it; chmod o-w it", file);
	return 0;
}

static int open_database(struct reader *reader, const char *file, struct error *error)
{
	CLEANUP(cleanup_free) char *uri = uri_of(file);
	int code;

	reader->sql.file = strdup(file);
	if (!uri || !reader->sql.file)
		return error_nomem(error);
	code = sqlite3_open_v2(uri, &reader->sql.db,
	                       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return sql_error(&reader->sql, code, error);
	sql_limit(&reader->sql, reader->opened.st_size);
	return sql_check_header(&reader->sql, error);
}

static void cleanup_reader(struct reader **reader)
{
	reader_close(*reader);
}

int reader_open(const char *file, uid_t owner, struct reader **out, struct error *error)
{
	CLEANUP(cleanup_reader) struct reader *reader = calloc(1, sizeof(*reader));
	int next = -1, code;

	if (!reader)
		return error_nomem(error);
	reader->fd = -1;
	code = look_at(file, &reader->opened, &next, error);
	if (code == 0)
		code = check_trust(file, owner, &reader->opened, error);
	if (code == 0)
		code = open_database(reader, file, error);
	if (code == 0 && has_file(reader, next))
		reader->fd = next;
	if (code == 0)
		*out = take(reader);
	return code;
}

void reader_close(struct reader *reader)
{
	/* What SQLite would close is somebody else's: better its memory is lost. */
	if (reader && !lost_file(reader))
		sql_close(&reader->sql);
	free(reader);
}

bool reader_is_current(const struct reader *reader)
{
	const struct stat *a = &reader->opened;
	struct stat b;

	return stat(reader->sql.file, &b) == 0 && is_same_file(a, &b) && a->st_size == b.st_size &&
	       a->st_ctim.tv_sec == b.st_ctim.tv_sec && a->st_ctim.tv_nsec == b.st_ctim.tv_nsec &&
	       !lost_file(reader);
}

int reader_root(struct reader *reader, struct slice path, struct root_record *out,
                struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_ROOT_BY_PATH, error);
	int code;

	if (!statement)
		return sql_code(&reader->sql);
	sql_bind(statement, 1, path);
	code = sql_step(&reader->sql, statement, error);
	if (code > 0) {
		*out = (struct root_record){.path = path};
		sql_read_root(statement, out);
	}
	sqlite3_reset(statement);
	return code;
}

int reader_roots(struct reader *reader, root_each *each, void *payload, struct error *error)
{
	return sql_read_roots(&reader->sql, each, payload, error);
}

int reader_distributions(struct reader *reader, struct root_record *root, bool entry_points,
                         struct error *error)
{
	return sql_read_distributions(&reader->sql, root, entry_points, error);
}

int reader_select(struct reader *reader, struct slice group, struct slice name, struct error *error)
{
	static const enum sql_id ids[2][2] = {
	        {SQL_SELECT_ALL, SQL_SELECT_NAME},
	        {SQL_SELECT_GROUP, SQL_SELECT_GROUP_NAME},
	};
	bool by_group = !slice_is_null(group), by_name = !slice_is_null(name);
	sqlite3_stmt *statement = sql_get(&reader->sql, ids[by_group][by_name], error);

	if (!statement)
		return sql_code(&reader->sql);
	if (by_group)
		sql_bind(statement, 1, group);
	if (by_name)
		sql_bind(statement, 2, name);
	reader->selection = statement;
	return 0;
}

static void read_row(sqlite3_stmt *statement, struct reader_row *row)
{
	row->id = sqlite3_column_int64(statement, 0);
	row->root = row->id >> (ENTRY_POINT_ID_SHIFT + DISTRIBUTION_ID_SHIFT);
	row->ordinal = (uint32_t)(row->id & (ENTRY_POINTS_MAX - 1));
	row->group = sql_column(statement, 1);
	row->name = sql_column(statement, 2);
	row->value = sql_column(statement, 3);
	row->module = sql_column(statement, 4);
	row->attr = sql_column(statement, 5);
	row->extras = sql_column(statement, 6);
	row->position = (uint32_t)sqlite3_column_int(statement, 7);
	row->contested = sqlite3_column_int(statement, 8) != 0;
	row->has_metadata = sqlite3_column_int(statement, 9) != 0;
	row->normalized_name = sql_column(statement, 10);
	row->distribution = sql_column(statement, 11);
	row->version = sql_column(statement, 12);
	row->directory = sql_column(statement, 13);
}

static bool is_complete(const struct reader_row *row)
{
	return !slice_is_null(row->group) && !slice_is_null(row->name) &&
	       !slice_is_null(row->value) && !slice_is_null(row->directory);
}

int reader_next(struct reader *reader, struct reader_row *row, struct error *error)
{
	int code = sql_step(&reader->sql, reader->selection, error);

	if (code > 0) {
		read_row(reader->selection, row);
		if (is_complete(row))
			return 1;
		code = sql_damaged(&reader->sql, error);
	}
	sqlite3_reset(reader->selection);
	return code;
}

int reader_holders(struct reader *reader, struct slice normalized_name,
                   void (*each)(void *payload, const struct reader_holder *holder), void *payload,
                   struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_HOLDERS, error);
	int code;

	if (!statement)
		return sql_code(&reader->sql);
	sql_bind(statement, 1, normalized_name);
	while ((code = sql_step(&reader->sql, statement, error)) > 0) {
		struct reader_holder holder = {
		        .root = sqlite3_column_int64(statement, 0),
		        .position = (uint32_t)sqlite3_column_int64(statement, 1),
		        .has_metadata = sqlite3_column_int(statement, 2) != 0,
		        .directory = sql_column(statement, 3),
		};

		if (slice_is_null(holder.directory)) {
			code = sql_damaged(&reader->sql, error);
			break;
		}
		each(payload, &holder);
	}
	sqlite3_reset(statement);
	return code;
}

int reader_broken(struct reader *reader, int64_t root,
                  int (*each)(void *payload, const struct reader_problem *problem), void *payload,
                  struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_BROKEN, error);
	int code, answer = 0;

	if (!statement)
		return sql_code(&reader->sql);
	sqlite3_bind_int64(statement, 1, root);
	while (answer == 0 && (code = sql_step(&reader->sql, statement, error)) != 0) {
		struct reader_problem problem;

		if (code < 0)
			return code;
		problem.position = (uint32_t)sqlite3_column_int64(statement, 0);
		problem.has_metadata = sqlite3_column_int(statement, 1) != 0;
		problem.normalized_name = sql_column(statement, 2);
		problem.directory = sql_column(statement, 3);
		problem.error = sql_column(statement, 4);
		if (slice_is_null(problem.directory))
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
	int code;

	if (!statement)
		return sql_code(&reader->sql);
	sqlite3_bind_int64(statement, 1, entry_point);
	code = sql_step(&reader->sql, statement, error);
	if (code > 0) {
		*out = (struct target_record){
		        .kind = sql_column(statement, 0),
		        .state = sql_column(statement, 1),
		        .object = sql_column(statement, 2),
		        .symbol = sql_column(statement, 3),
		        .machine = sqlite3_column_int(statement, 4),
		        .build_id = sql_column(statement, 5),
		        .sha256 = sql_column(statement, 6),
		};
		if (slice_is_null(out->kind) || slice_is_null(out->state))
			code = sql_damaged(&reader->sql, error);
	}
	return code;
}

int reader_events(struct reader *reader,
                  int (*each)(void *payload, const struct reader_event *event), void *payload,
                  struct error *error)
{
	sqlite3_stmt *statement = sql_get(&reader->sql, SQL_EVENTS, error);
	int code, answer = 0;

	if (!statement)
		return sql_code(&reader->sql);
	while (answer == 0 && (code = sql_step(&reader->sql, statement, error)) != 0) {
		struct reader_event event;

		if (code < 0)
			return code;
		event.time = sqlite3_column_int64(statement, 0);
		event.action = sql_column(statement, 1);
		event.root = sql_column(statement, 2);
		event.distribution = sql_column(statement, 3);
		event.old_version = sql_column(statement, 4);
		event.version = sql_column(statement, 5);
		event.detail = sql_column(statement, 6);
		event.command = sql_column(statement, 7);
		event.uid = sqlite3_column_int64(statement, 8);
		answer = each(payload, &event);
	}
	sqlite3_reset(statement);
	return answer;
}

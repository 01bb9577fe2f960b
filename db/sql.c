/*
 * sql.c - see sql.h.
 */
#include "sql.h"

#include <stdlib.h>

#define STEPS_PER_BYTE 32        /* instructions of SQLite; one row takes about 30, and 20 bytes */
#define STEPS_MIN      1000000   /* and so many in any case */
#define STEPS_MAX      (1 << 30) /* and so many at most */
#define STEPS_BETWEEN  100000

#define HEADER_SIZE         100 /* bytes; https://www.sqlite.org/fileformat.html, 1.3 */
#define HEADER_USER_VERSION 60
#define HEADER_APPLICATION  68

static int code_of_sqlite(int code)
{
	if (code == SQLITE_IOERR_NOMEM)
		return ERROR_NOMEM;
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return ERROR_NOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* a table or column that should be there is not */
		return ERROR_FORMAT;
	case SQLITE_PERM:
	case SQLITE_READONLY:
		return ERROR_PERMISSION;
	case SQLITE_CANTOPEN:
		return ERROR_NOTFOUND;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERROR_BUSY;
	case SQLITE_TOOBIG:
		return ERROR_LIMIT;
	default:
		return ERROR_IO;
	}
}

int sql_error(const struct sql *sql, int code, struct error *error)
{
	const char *why = sql->db ? sqlite3_errmsg(sql->db) : sqlite3_errstr(code);

	return error_set(error, code_of_sqlite(code), "%s: %s", sql->file, why);
}

int sql_code(const struct sql *sql)
{
	return code_of_sqlite(sqlite3_errcode(sql->db));
}

int sql_damaged(const struct sql *sql, struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: the database is damaged", sql->file);
}

void sql_close(struct sql *sql)
{
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(sql->prepared[i]);
	sqlite3_close(sql->db);
	free(sql->file);
	*sql = (struct sql){0};
}

sqlite3_stmt *sql_get(struct sql *sql, enum sql_id id, struct error *error)
{
	sqlite3_stmt **statement = &sql->prepared[id];
	int code;

	if (*statement) {
		sqlite3_reset(*statement);
		sqlite3_stmt_status(*statement, SQLITE_STMTSTATUS_VM_STEP, 1);
		return *statement;
	}
	code = sqlite3_prepare_v3(sql->db, sql_statements[id], -1, SQLITE_PREPARE_PERSISTENT,
	                          statement, NULL);
	if (code != SQLITE_OK)
		sql_error(sql, code, error);
	return *statement;
}

/* Called by SQLite after every STEPS_BETWEEN of its instructions: non-zero interrupts it. */
static int spend(void *payload)
{
	struct sql *sql = payload;

	sql->left -= STEPS_BETWEEN;
	return sql->left < 0;
}

void sql_limit(struct sql *sql, int64_t size)
{
	sql->allowed = size < STEPS_MAX / STEPS_PER_BYTE ? (int)size * STEPS_PER_BYTE : STEPS_MAX;
	sql->allowed += STEPS_MIN;
	sqlite3_progress_handler(sql->db, STEPS_BETWEEN, spend, sql);
}

/* Has the statement, over all its rows, done more than could be needed? */
static bool is_endless(const struct sql *sql, sqlite3_stmt *statement)
{
	return sql->allowed &&
	       sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0) > sql->allowed;
}

int sql_step(struct sql *sql, sqlite3_stmt *statement, struct error *error)
{
	int code;

	sql->left = sql->allowed;
	code = sqlite3_step(statement);
	if (code == SQLITE_INTERRUPT || (code == SQLITE_ROW && is_endless(sql, statement))) {
		sqlite3_reset(statement);
		return sql_damaged(sql, error);
	}
	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	return sql_error(sql, code, error);
}

int sql_run(struct sql *sql, sqlite3_stmt *statement, struct error *error)
{
	int code = sql_step(sql, statement, error);

	sqlite3_reset(statement);
	return code;
}

void sql_bind(sqlite3_stmt *statement, int index, struct slice text)
{
	if (slice_is_null(text))
		sqlite3_bind_null(statement, index);
	else
		sqlite3_bind_text64(statement, index, text.ptr, text.len, SQLITE_STATIC,
		                    SQLITE_UTF8);
}

struct slice sql_column(sqlite3_stmt *statement, int index)
{
	const char *text = (const char *)sqlite3_column_text(statement, index);

	return (struct slice){text, text ? (size_t)sqlite3_column_bytes(statement, index) : 0};
}

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       (uint32_t)bytes[3];
}

/* Two PRAGMAs would do the same, at ten times the price of this one read. */
int sql_check_header(const struct sql *sql, struct error *error)
{
	unsigned char header[HEADER_SIZE] = {0};
	sqlite3_file *file = NULL;
	uint32_t version;
	int code = sqlite3_file_control(sql->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (code == SQLITE_OK)
		code = file->pMethods->xRead(file, header, HEADER_SIZE, 0);
	if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
		return sql_error(sql, code, error);
	if (memcmp(header, "SQLite format 3", 16) == 0 && code == SQLITE_IOERR_SHORT_READ)
		return error_set(error, ERROR_FORMAT, "%s: the database is cut off", sql->file);
	if (memcmp(header, "SQLite format 3", 16) != 0)
		return error_set(error, ERROR_FORMAT, "%s: not a SQLite database", sql->file);
	if (big_endian(header + HEADER_APPLICATION) != SQL_APPLICATION_ID)
		return error_set(error, ERROR_INVALID,
		                 "%s: a SQLite database, but not one of entrydb", sql->file);
	version = big_endian(header + HEADER_USER_VERSION);
	if (version != SQL_USER_VERSION)
		return error_set(error, ERROR_FORMAT,
		                 "%s: version %u of the database, this program reads version %u; "
		                 "'entrydb update' rebuilds it",
		                 sql->file, version, SQL_USER_VERSION);
	return 0;
}

static enum root_kind kind_of(struct slice name)
{
	if (slice_equal(name, SLICE("directory")))
		return ROOT_DIRECTORY;
	if (slice_equal(name, SLICE("zip")))
		return ROOT_ZIP;
	return slice_equal(name, SLICE("archive")) ? ROOT_ARCHIVE : ROOT_ABSENT;
}

void sql_read_root(sqlite3_stmt *statement, struct root_record *root)
{
	root->id = sqlite3_column_int64(statement, 0);
	root->kind = kind_of(sql_column(statement, 2));
	root->stamp.mtime = sqlite3_column_int64(statement, 3);
	root->stamp.ctime = sqlite3_column_int64(statement, 4);
	root->stamp.dev = sqlite3_column_int64(statement, 5);
	root->settled = sqlite3_column_int(statement, 6) != 0;
	root->distribution_count = (size_t)sqlite3_column_int64(statement, 7);
	root->broken = (uint32_t)sqlite3_column_int64(statement, 8);
	root->watched = (uint32_t)sqlite3_column_int64(statement, 9);
}

int sql_read_roots(struct sql *sql, root_each *each, void *payload, struct error *error)
{
	sqlite3_stmt *statement = sql_get(sql, SQL_ROOTS, error);
	int64_t last = INT64_MIN;
	int code, answer = 0;

	if (!statement)
		return sql_code(sql);
	while (answer == 0 && (code = sql_step(sql, statement, error)) != 0) {
		struct root_record root = {.path = sql_column(statement, 1)};

		if (code < 0)
			return code;
		sql_read_root(statement, &root);
		if (root.id <= last || slice_is_null(root.path))
			return sql_damaged(sql, error);
		last = root.id;
		answer = each(payload, &root);
	}
	sqlite3_reset(statement);
	return answer;
}

/* False for a row that lacks what it must have. */
static bool read_distribution(sqlite3_stmt *statement, struct arena *arena,
                              struct distribution_record *out, bool *failed)
{
	struct slice *const texts[] = {&out->normalized_name, &out->name, &out->version,
	                               &out->error, &out->record_sha256};

	*out = (struct distribution_record){
	        .id = sqlite3_column_int64(statement, 0),
	        .directory = arena_copy(arena, sql_column(statement, 1), failed),
	        .position = (uint32_t)sqlite3_column_int64(statement, 2),
	        .has_metadata = sqlite3_column_int(statement, 8) != 0,
	        .watched = sqlite3_column_int(statement, 9) != 0,
	        .has_headers = true,
	        .settled = sqlite3_column_int(statement, 10) != 0,
	        .directory_stamp = sqlite3_column_int64(statement, 11),
	        .files_stamp = sqlite3_column_int64(statement, 12),
	};
	for (int i = 0; i < (int)(sizeof(texts) / sizeof(*texts)); i++)
		*texts[i] = arena_copy(arena, sql_column(statement, 3 + i), failed);
	return *failed || !slice_is_null(out->directory);
}

/* Sorting here is cheaper than in SQL, which would copy every row once more. Room is made for as
 * many as the root row announces. */
static int read_distribution_rows(struct sql *sql, struct root_record *root, struct error *error)
{
	sqlite3_stmt *statement = sql_get(sql, SQL_DISTRIBUTIONS, error);
	size_t room = root->distribution_count, count = 0;
	bool failed = false;
	int code;

	root->distribution_count = 0;
	if (!statement)
		return sql_code(sql);
	if (room > DISTRIBUTIONS_MAX)
		return sql_damaged(sql, error);
	root->distributions = arena_calloc(&root->arena, room, sizeof(*root->distributions));
	if (!root->distributions)
		return error_nomem(error);
	sqlite3_bind_int64(statement, 1, root->id);
	while (count < room && (code = sql_step(sql, statement, error)) != 0) {
		if (code < 0)
			return code;
		if (!read_distribution(statement, &root->arena, &root->distributions[count++],
		                       &failed))
			return sql_damaged(sql, error);
	}
	sqlite3_reset(statement);
	root->distribution_count = count;
	root_record_sort(root);
	return failed ? error_nomem(error) : 0;
}

static const struct target_record *read_target(sqlite3_stmt *statement, struct arena *arena,
                                               bool *failed)
{
	struct target_record *target;

	if (sqlite3_column_type(statement, 7) == SQLITE_NULL)
		return NULL;
	target = arena_calloc(arena, 1, sizeof(*target));
	if (!target) {
		*failed = true;
		return NULL;
	}
	target->kind = arena_copy(arena, sql_column(statement, 7), failed);
	target->state = arena_copy(arena, sql_column(statement, 8), failed);
	target->object = arena_copy(arena, sql_column(statement, 9), failed);
	target->symbol = arena_copy(arena, sql_column(statement, 10), failed);
	target->machine = sqlite3_column_int(statement, 11);
	target->build_id = arena_copy(arena, sql_column(statement, 12), failed);
	target->sha256 = arena_copy(arena, sql_column(statement, 13), failed);
	return target;
}

/* False for a row that lacks what it must have. */
static bool read_entry_point(sqlite3_stmt *statement, struct arena *arena,
                             struct entry_point_record *out, bool *failed)
{
	struct slice *const texts[] = {&out->group,  &out->name, &out->value,
	                               &out->module, &out->attr, &out->extras};

	for (int i = 0; i < (int)(sizeof(texts) / sizeof(*texts)); i++)
		*texts[i] = arena_copy(arena, sql_column(statement, 1 + i), failed);
	out->target = read_target(statement, arena, failed);
	if (*failed)
		return true;
	return !slice_is_null(out->group) && !slice_is_null(out->name) &&
	       !slice_is_null(out->value) && (!out->target || !slice_is_null(out->target->state));
}

#define NUMBER_OF(id) ((size_t)((id) & (DISTRIBUTIONS_MAX - 1)))

/* The distributions by the number in their identifiers; NULL where there is none. */
static struct distribution_record **by_number(const struct root_record *root, size_t *room)
{
	struct distribution_record **table;

	*room = 0;
	for (size_t i = 0; i < root->distribution_count; i++)
		if (NUMBER_OF(root->distributions[i].id) >= *room)
			*room = NUMBER_OF(root->distributions[i].id) + 1;
	table = calloc(*room + 1, sizeof(struct distribution_record *));
	for (size_t i = 0; table && i < root->distribution_count; i++)
		table[NUMBER_OF(root->distributions[i].id)] = &root->distributions[i];
	return table;
}

/* Entry points come ordered by distribution: each group of them is one array. */
struct entry_point_rows {
	struct entry_point_record *rows;
	size_t count, room;
	struct distribution_record *owner;
	struct distribution_record **by_number;
	size_t numbers;
};

static bool grow(struct entry_point_rows *all)
{
	size_t room = all->room ? all->room * 2 : 256;
	struct entry_point_record *rows;

	if (all->count < all->room)
		return true;
	rows = realloc(all->rows, room * sizeof(*rows));
	if (!rows)
		return false;
	all->rows = rows;
	all->room = room;
	return true;
}

static bool give_to_owner(struct entry_point_rows *all, struct arena *arena)
{
	size_t count = all->count;
	struct entry_point_record *rows;

	all->count = 0;
	if (!all->owner || count == 0)
		return true;
	rows = arena_alloc(arena, count * sizeof(*rows));
	if (!rows)
		return false;
	memcpy(rows, all->rows, count * sizeof(*rows));
	all->owner->entry_points = rows;
	all->owner->entry_point_count = count;
	return true;
}

static int read_entry_point_rows(struct sql *sql, struct root_record *root,
                                 struct entry_point_rows *all, struct error *error)
{
	sqlite3_stmt *statement = sql_get(sql, SQL_ENTRY_POINTS, error);
	bool failed = false;
	int code;

	if (!statement)
		return sql_code(sql);
	sqlite3_bind_int64(statement, 1, root->id);
	while ((code = sql_step(sql, statement, error)) > 0) {
		int64_t owner = sqlite3_column_int64(statement, 0) >> ENTRY_POINT_ID_SHIFT;

		if (!all->owner || all->owner->id != owner) {
			failed |= !give_to_owner(all, &root->arena);
			all->owner = NUMBER_OF(owner) < all->numbers
			                     ? all->by_number[NUMBER_OF(owner)]
			                     : NULL;
		}
		if (failed || !grow(all))
			return error_nomem(error);
		if (all->owner &&
		    !read_entry_point(statement, &root->arena, &all->rows[all->count++], &failed))
			return sql_damaged(sql, error);
	}
	sqlite3_reset(statement);
	failed |= !give_to_owner(all, &root->arena);
	return failed && code == 0 ? error_nomem(error) : code;
}

int sql_read_distributions(struct sql *sql, struct root_record *root, bool entry_points,
                           struct error *error)
{
	struct entry_point_rows all = {0};
	int code = read_distribution_rows(sql, root, error);

	if (code < 0 || !entry_points)
		return code;
	all.by_number = by_number(root, &all.numbers);
	if (!all.by_number)
		return error_nomem(error);
	code = read_entry_point_rows(sql, root, &all, error);
	free(all.by_number);
	free(all.rows);
	return code;
}

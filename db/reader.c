/*
 * reader.c - queries of one published file. Opening it for a single query must be cheap: one open,
 * one read of the header, and no statement prepared before its use.
 */
#include "db/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/trust.h"
#include "db/identity.h"
#include "db/publish.h"
#include "db/tables.h"

#define READ_AHEAD ((off_t)1 << 20) /* bytes */

/*
 * Was the descriptor closed and reused? A daemon may close all descriptors that it does not know,
 * and open another file under the same number.
 */
static bool lost_file(const struct reader *reader)
{
	struct stat status;

	return fstat(reader->fd, &status) != 0 || !safe_same_file(&status, &reader->opened);
}

/* Does not follow a link or block on a FIFO. */
static int open_file(struct reader *reader, const char *file, struct error *error)
{
	CLEANUP(cleanup_close)
	int fd = safe_fd(file_open(AT_FDCWD, file, O_NOFOLLOW | FILE_OWN_NAME));

	reader->fd = -1;
	if (fd < 0 && errno == ELOOP)
		return error_set(
		        error, ERROR_PERMISSION,
		        "%s: not trusted: it is a symbolic link; give the path of the file itself",
		        file);
	if (fd < 0 || fstat(fd, &reader->opened) != 0)
		return error_errno(error, errno, "%s", file);
	/* A query reads scattered pages: on a network file system, each is a request. */
	posix_fadvise(fd, 0, READ_AHEAD, POSIX_FADV_WILLNEED);
	reader->fd = take_fd(&fd);
	return 0;
}

static int open_database(struct reader *reader, const char *file, struct error *error)
{
	int code = identity_check_header(reader->fd, file, NULL, error);

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
	/* If it was reused, it is not ours to close. */
	if (reader->fd >= 0 && !lost_file(reader))
		close(reader->fd);
	free(reader);
}

bool reader_is_current(struct reader *reader)
{
	const struct stat *a = &reader->opened;
	struct stat b;
	int found = file_status_again(reader->sql.file, &reader->way, &b, NULL);

	if (lost_file(reader))
		return false;
	return found < 0 || /* it cannot be known now, and another cannot be opened */
	       (found > 0 && safe_same_file(a, &b) && a->st_size == b.st_size &&
	        a->st_ctim.tv_sec == b.st_ctim.tv_sec && a->st_ctim.tv_nsec == b.st_ctim.tv_nsec);
}

struct reader_status reader_status(const struct reader *reader)
{
	return (struct reader_status){
	        .owner = reader->opened.st_uid,
	        .mode = reader->opened.st_mode & 07777,
	        .is_marked_stale = publish_is_marked(&reader->opened),
	};
}

bool reader_must_narrow(const struct reader *reader, mode_t mode)
{
	return reader->opened.st_mode & (S_IRGRP | S_IROTH) & ~mode;
}

int reader_publication(struct reader *reader, struct publication_record *out, struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SELECT_FROM(PUBLICATION_COLUMNS) "publication");
	int code = row_next(&reader->sql, row, &publication_table, out, error);

	sqlite3_reset(row);
	return code;
}

int reader_carried(struct reader *reader, struct carried *out, struct error *error)
{
	struct publication_record recorded;
	int found = reader_publication(reader, &recorded, error);

	if (found > 0)
		*out = carried_of(&recorded, &reader->opened);
	return found;
}

/* --- roots --- */

int reader_root(struct reader *reader, struct slice path, struct root_record *out,
                struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SELECT_FROM(ROOT_COLUMNS) "root WHERE path = ?1");
	struct root_record root = {0};
	int code;

	sql_bind(&reader->sql, row, 1, path);
	code = row_next(&reader->sql, row, &root_table, &root, error);
	sqlite3_reset(row);
	if (code > 0) {
		*out = root;
		out->path = path;
	}
	return code;
}

int reader_root_of(struct reader *reader, int64_t id, struct root_record *out, struct error *error)
{
	sqlite3_stmt *row =
	        sql_get_of(&reader->sql, SELECT_FROM(ROOT_COLUMNS) "root WHERE id = ?1", id);

	*out = (struct root_record){0};
	return row_next(&reader->sql, row, &root_table, out, error);
}

int reader_roots(struct reader *reader, root_each *each, void *payload, struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SELECT_FROM(ROOT_COLUMNS) "root ORDER BY id");
	struct root_record root = {0};
	int64_t last = 0; /* ids start at 1 */
	int code;

	while ((code = row_next(&reader->sql, row, &root_table, &root, error)) > 0) {
		if (root.id <= last || slice_is_null(root.path))
			code = sql_damaged(&reader->sql, error);
		else
			code = each(payload, &root);
		if (code != 0)
			break;
		last = root.id;
	}
	sqlite3_reset(row);
	return code;
}

/* --- arrays --- */

/*
 * A kind of rows that are read into an array; ?1 of the statement is the id of a root or a
 * distribution.
 */
struct kind {
	const char *statement;
	const struct table *table;
	size_t size; /* of one record */
	/* For entry points: the offsets of their count and array in distribution_record; else 0. */
	size_t count, array;
	bool has_targets; /* the target's columns follow; NULL for none */
};

struct reading {
	const struct kind *kind;
	struct arena *arena;
	struct distribution_record *owner, *end; /* the rows' distributions, by id */
	char *items;
	size_t count, room, spent;
	int64_t last;      /* id; they start at 1 */
	bool failed;       /* no memory */
	struct slice name; /* for ?2, or null */
};

static void reading_free(struct reading *reading)
{
	free(reading->items);
}

static void *at_offset(struct distribution_record *distribution, size_t offset)
{
	return (char *)distribution + offset;
}

/* Rows and distributions are both sorted by id. False for a row without a distribution. */
static bool find_owner(sqlite3_stmt *row, struct reading *reading)
{
	int64_t id = sqlite3_column_int64(row, 0) >> ENTRY_POINT_ID_SHIFT;

	while (reading->owner < reading->end && reading->owner->id < id)
		reading->owner++;
	if (reading->owner == reading->end || reading->owner->id != id)
		return false;
	++*(size_t *)at_offset(reading->owner, reading->kind->count);
	return true;
}

/* Copy the record's texts; false if there are too many. */
static bool keep_record(const struct sql *sql, const struct table *table, void *record,
                        struct reading *reading)
{
	if (!sql_affords(sql, row_size(table, record), &reading->spent))
		return false;
	row_keep(table, record, reading->arena, &reading->failed);
	return true;
}

/*
 * False if a required column is missing, or the rows are too many, or not sorted: of a table whose
 * pages are shared, they come again.
 */
static bool read_record(const struct sql *sql, sqlite3_stmt *row, struct reading *reading)
{
	const struct kind *kind = reading->kind;
	void *record = reading->items + reading->count * kind->size;
	int next = 1 + kind->table->count;
	struct target_record *target;
	int64_t id = sqlite3_column_int64(row, 0);

	if (id <= reading->last)
		return false;
	reading->last = id;
	if (kind->count && !find_owner(row, reading))
		return true;
	reading->count++;
	memset(record, 0, kind->size);
	if (!row_read(row, 0, kind->table, record) ||
	    !keep_record(sql, kind->table, record, reading))
		return false;
	if (!kind->has_targets || sqlite3_column_type(row, next) == SQLITE_NULL)
		return true;
	((struct entry_point_record *)record)->target = target =
	        arena_calloc(reading->arena, 1, sizeof(*target));
	reading->failed |= !target;
	if (!target)
		return true;
	return row_read(row, next, &target_table, target) &&
	       keep_record(sql, &target_table, target, reading);
}

/* Read all rows into the arena; *out is unchanged if there are none. */
static int read_rows(struct reader *reader, int64_t key, struct reading *reading, void **out,
                     struct error *error)
{
	struct sql *sql = &reader->sql;
	sqlite3_stmt *row = sql_get_of(sql, reading->kind->statement, key);
	size_t size = reading->kind->size;
	int code;

	if (!slice_is_null(reading->name))
		sql_bind(sql, row, 2, reading->name);
	while ((code = sql_step(sql, row, error)) > 0) {
		bool whole = true;

		reading->failed =
		        !array_grow(&reading->items, reading->count, size, &reading->room);
		if (!reading->failed)
			whole = read_record(sql, row, reading);
		if (reading->failed || sql_check_row(sql, NULL) < 0)
			return error_nomem(error);
		if (!whole)
			return sql_damaged(sql, error);
	}
	if (code < 0 || reading->count == 0)
		return code;
	*out = arena_alloc(reading->arena, reading->count * size);
	if (!*out)
		return error_nomem(error);
	memcpy(*out, reading->items, reading->count * size);
	return 0;
}

/* Their number must be the one in the root's row. */
static int read_distributions(struct reader *reader, const struct kind *kind,
                              struct root_record *root, struct error *error)
{
	CLEANUP(reading_free) struct reading reading = {.kind = kind, .arena = &root->arena};
	size_t announced = root->distribution_count;
	void *all = NULL;
	int code;

	if (announced <= DISTRIBUTIONS_MAX)
		reading.items = reallocarray(NULL, announced, kind->size);
	reading.room = reading.items ? announced : 0;
	code = read_rows(reader, root->id, &reading, &all, error);
	if (code == 0 && reading.count != announced)
		code = sql_damaged(&reader->sql, error);
	root->distributions = all;
	root->distribution_count = code == 0 ? reading.count : 0;
	for (size_t i = 0; i < root->distribution_count; i++)
		root->distributions[i].has_headers = true;
	return code;
}

static int read_belongings(struct reader *reader, const struct kind *kind, int64_t key,
                           struct distribution_record *owners, size_t count, struct arena *arena,
                           struct error *error)
{
	CLEANUP(reading_free)
	struct reading reading = {
	        .kind = kind, .arena = arena, .owner = owners, .end = owners + count};
	void *all = NULL;
	int code = read_rows(reader, key, &reading, &all, error);
	char *next = all;

	for (size_t i = 0; code == 0 && next && i < count; i++) {
		memcpy(at_offset(&owners[i], kind->array), &next, sizeof(next));
		next += kind->size * *(size_t *)at_offset(&owners[i], kind->count);
	}
	return code;
}

/* Read each of @kinds, a NULL-terminated list, distributions first; sort by position. */
static int read_root(struct reader *reader, struct root_record *root,
                     const struct kind *const *kinds, struct error *error)
{
	int code = read_distributions(reader, *kinds, root, error);

	while (code == 0 && *++kinds)
		code = read_belongings(reader, *kinds, root->id, root->distributions,
		                       root->distribution_count, &root->arena, error);
	root_record_sort(root); /* cheaper than in SQL, which would copy every row */
	return code;
}

#define BY_ID   " ORDER BY id"
#define IN_ROOT DISTRIBUTIONS_OF_ROOT BY_ID
#define WITH_TARGETS(list)                                                                         \
	"SELECT " COLUMNS("id", list) ", " COLUMNS("entry_point", TARGET_COLUMNS) " FROM "
#define SELECT_ENTRY_POINTS                                                                        \
	WITH_TARGETS(ENTRY_POINT_COLUMNS)                                                          \
	"entry_point LEFT JOIN target ON target.entry_point = entry_point.id WHERE id "
#define OF_NONE(table, record) &table, sizeof(struct record), 0, 0, false
#define BELONGING(count, array)                                                                    \
	sizeof(struct entry_point_record), offsetof(struct distribution_record, count),            \
	        offsetof(struct distribution_record, array)
#define OF_ENTRY_POINTS &entry_point_table, BELONGING(entry_point_count, entry_points)

int reader_distributions(struct reader *reader, struct root_record *root, bool belongings,
                         struct error *error)
{
	static const struct kind all = {
	        SELECT_FROM(DISTRIBUTION_COLUMNS) "distribution WHERE id " IN_ROOT,
	        OF_NONE(distribution_table, distribution_record)};
	static const struct kind entry_points = {SELECT_ENTRY_POINTS ENTRY_POINTS_OF_ROOT BY_ID,
	                                         OF_ENTRY_POINTS, true};
	static const struct kind plugins = {
	        WITH_TARGETS(PLUGIN_COLUMNS) "plugin CROSS JOIN target ON entry_point = id WHERE "
	                                     "id " ENTRY_POINTS_OF_ROOT BY_ID,
	        &plugin_table, BELONGING(plugin_count, plugins), true};
	const struct kind *kinds[] = {&all, belongings ? &entry_points : NULL, &plugins, NULL};

	return read_root(reader, root, kinds, error);
}

int reader_listed(struct reader *reader, struct root_record *root, struct error *error)
{
	static const struct kind all = {
	        SELECT_FROM(LISTED_COLUMNS) "distribution WHERE id " IN_ROOT,
	        OF_NONE(listed_table, distribution_record)};
	static const struct kind lines = {
	        SELECT_FROM(ENTRY_POINT_COLUMNS) "entry_point WHERE id " ENTRY_POINTS_OF_ROOT BY_ID,
	        OF_ENTRY_POINTS, false};

	return read_root(reader, root, (const struct kind *[]){&all, &lines, NULL}, error);
}

int reader_entry_points(struct reader *reader, struct distribution_record *distribution,
                        struct arena *arena, struct error *error)
{
	static const struct kind all = {SELECT_ENTRY_POINTS ENTRY_POINTS_OF_DISTRIBUTION BY_ID,
	                                OF_ENTRY_POINTS, true};

	distribution->entry_point_count = 0;
	return read_belongings(reader, &all, distribution->id, distribution, 1, arena, error);
}

int reader_startups(struct reader *reader, struct root_record *root, struct error *error)
{
	static const struct kind all = {SELECT_FROM(STARTUP_COLUMNS) "startup WHERE id " IN_ROOT,
	                                OF_NONE(startup_table, startup_record)};
	CLEANUP(reading_free) struct reading reading = {.kind = &all, .arena = &root->arena};
	void *read = NULL;
	int code = read_rows(reader, root->id, &reading, &read, error);

	if (code == 0 && reading.count > STARTUPS_MAX)
		code = sql_damaged(&reader->sql, error);
	root->startups = read;
	root->startup_count = code == 0 ? reading.count : 0;
	return code;
}

int reader_project(struct reader *reader, int64_t root, struct slice normalized_name,
                   struct root_record *out, struct error *error)
{
	static const struct kind rows = {
	        SELECT_FROM(SOURCE_COLUMNS) "distribution WHERE normalized_name = ?2 AND root = ?1 "
	                                    "ORDER BY id",
	        OF_NONE(source_table, distribution_record)};
	CLEANUP(reading_free)
	struct reading reading = {.kind = &rows, .arena = &out->arena, .name = normalized_name};
	void *all = NULL;
	int code = read_rows(reader, root, &reading, &all, error);

	out->distributions = all;
	out->distribution_count = code == 0 ? reading.count : 0;
	return code;
}

/* --- selections --- */

/* row_next(), with the memory of all rows so far in *spent. */
static int next_of_many(struct reader *reader, sqlite3_stmt *row, const struct table *table,
                        void *record, size_t *spent, struct error *error)
{
	int code = row_next(&reader->sql, row, table, record, error);

	return code > 0 && !sql_affords(&reader->sql, row_size(table, record), spent)
	               ? sql_damaged(&reader->sql, error)
	               : code;
}

#define SELECT                                                                                     \
	"SELECT " COLUMNS("e.id",                                                                  \
	                  SELECTED_COLUMNS) " FROM entry_point e "                                 \
	                                    "CROSS JOIN distribution d ON d.id = e.distribution "

/* Plugins in the form of entry points, with the kind as group. */
#define SELECT_PLUGINS                                                                             \
	"SELECT " COLUMNS(                                                                         \
	        "e.id",                                                                            \
	        SELECTED_COLUMNS) " FROM (SELECT p.id, p.distribution, "                           \
	                          "p.plugin_kind AS group_name, p.name, t.object || ':' || "       \
	                          "t.symbol AS value, "                                            \
	                          "t.object AS module, t.symbol AS attr, NULL AS extras "          \
	                          "FROM plugin p CROSS JOIN target t ON t.entry_point = p.id) e "  \
	                          "CROSS JOIN distribution d ON d.id = e.distribution "

/* Indexed by whether group and name are given. */
#define SELECTIONS(select)                                                                         \
	{                                                                                          \
		{select, select "WHERE e.name = ?2"},                                              \
		        {select "WHERE e.group_name = ?1",                                         \
		         select "WHERE e.group_name = ?1 AND e.name = ?2"},                        \
	}

int reader_select(struct reader *reader, bool plugins, struct slice group, struct slice name,
                  struct error *error)
{
	static const char *const texts[2][2][2] = {SELECTIONS(SELECT), SELECTIONS(SELECT_PLUGINS)};
	bool by_group = !slice_is_null(group), by_name = !slice_is_null(name);

	reader->selection = sql_get(&reader->sql, texts[plugins][by_group][by_name]);
	reader->spent = 0;
	if (by_group)
		sql_bind(&reader->sql, reader->selection, 1, group);
	if (by_name)
		sql_bind(&reader->sql, reader->selection, 2, name);
	return reader->selection ? 0 : sql_step(&reader->sql, NULL, error);
}

int reader_next(struct reader *reader, struct reader_row *row, struct error *error)
{
	int code = next_of_many(reader, reader->selection, &selected_table, row, &reader->spent,
	                        error);

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
	size_t spent = 0;
	int code;

	while ((code = next_of_many(reader, row, table, &record, &spent, error)) > 0 &&
	       (code = each(payload, &record)) == 0)
		;
	sqlite3_reset(row);
	return code;
}

int reader_named(struct reader *reader, struct slice normalized_name, reader_each *each,
                 void *payload, struct error *error)
{
	sqlite3_stmt *row =
	        sql_get(&reader->sql,
	                SELECT_FROM(HOLDER_COLUMNS) "distribution WHERE normalized_name = ?1");

	sql_bind(&reader->sql, row, 1, normalized_name);
	return each_row(reader, row, &holder_table, each, payload, error);
}

int reader_candidates(struct reader *reader, int64_t root, struct slice normalized_name,
                      reader_each *each, void *payload, struct error *error)
{
	/* Directories with other suffixes may have another name in METADATA. */
	sqlite3_stmt *row = sql_get_of(
	        &reader->sql,
	        SELECT_FROM(HOLDER_COLUMNS) "distribution WHERE id " DISTRIBUTIONS_OF_ROOT
	                                    " AND (normalized_name = ?2 OR ?2 IS NULL OR "
	                                    "directory NOT GLOB '*.dist-info' AND "
	                                    "directory NOT GLOB '*.egg-info')",
	        root);

	sql_bind(&reader->sql, row, 2, normalized_name);
	return each_row(reader, row, &holder_table, each, payload, error);
}

int reader_broken(struct reader *reader, int64_t root, reader_each *each, void *payload,
                  struct error *error)
{
	static const char text[] =
	        SELECT_FROM(PROBLEM_COLUMNS) "distribution WHERE error IS NOT NULL AND "
	                                     "id " DISTRIBUTIONS_OF_ROOT " ORDER BY position";
	int code = sql_execute(&reader->sql, "PRAGMA temp_store = MEMORY", error);

	return code < 0 ? code
	                : each_row(reader, sql_get_of(&reader->sql, text, root), &problem_table,
	                           each, payload, error);
}

int reader_target(struct reader *reader, int64_t entry_point, struct target_record *out,
                  struct error *error)
{
	sqlite3_stmt *row =
	        sql_get_of(&reader->sql,
	                   "SELECT " COLUMNS("entry_point",
	                                     TARGET_COLUMNS) " FROM target WHERE entry_point = ?1",
	                   entry_point);

	return row_next(&reader->sql, row, &target_table, out, error);
}

int reader_events(struct reader *reader,
                  int (*each)(void *payload, const struct event_record *event), void *payload,
                  struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SELECT_EVENTS);
	struct event_record event;
	size_t spent = 0;
	int code;

	while ((code = next_of_many(reader, row, &event_table, &event, &spent, error)) > 0 &&
	       (code = each(payload, &event)) == 0)
		;
	sqlite3_reset(row);
	return code;
}

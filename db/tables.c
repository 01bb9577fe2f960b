/*
 * tables.c - how rows become records, and records rows.
 */
#include "db/tables.h"

#include <stddef.h>

/* --- maps --- */

/* How a column is kept in its member. */
enum column_type {
	COLUMN_TEXT,   /* a slice, null for NULL */
	COLUMN_NEEDED, /* the same, never NULL */
	COLUMN_INT64,
	COLUMN_UINT32,
	COLUMN_SIZE, /* size_t */
	COLUMN_BOOL,
	COLUMN_KNOWN, /* int64_t; 0 stands for NULL, what is not known */
	COLUMN_KNOWN32,
	COLUMN_ROOT_KIND, /* enums, as words */
	COLUMN_TARGET_KIND,
	COLUMN_TARGET_STATE,
	COLUMN_STARTUP_KIND,
	COLUMN_WATCHED,      /* of a distribution_record; the member is its first */
	COLUMN_OUTLINE_SIZE, /* struct outline; both NULL where it does not exist */
	COLUMN_OUTLINE_TIME,
};

struct column {
	enum column_type type;
	size_t offset;
};

#define COLUMN_MAP(text, type, member) {COLUMN_##type, offsetof(MAPPED, member)},
#define TABLE(map)                                                                                 \
	{                                                                                          \
		map, sizeof(map) / sizeof(*(map))                                                  \
	}

#define MAPPED struct root_record
static const struct column root_columns[] = {ROOT_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table root_table = TABLE(root_columns);
#undef MAPPED

#define MAPPED struct distribution_record
static const struct column distribution_columns[] = {DISTRIBUTION_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table distribution_table = TABLE(distribution_columns);
#undef MAPPED

#define MAPPED struct distribution_record
static const struct column anchored_columns[] = {ANCHORED_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table anchored_table = TABLE(anchored_columns);
#undef MAPPED

#define MAPPED struct distribution_record
static const struct column listed_columns[] = {LISTED_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table listed_table = TABLE(listed_columns);
#undef MAPPED

#define MAPPED struct entry_point_record
static const struct column entry_point_columns[] = {ENTRY_POINT_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table entry_point_table = TABLE(entry_point_columns);
#undef MAPPED

#define MAPPED struct plugin_record
static const struct column plugin_columns[] = {PLUGIN_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table plugin_table = TABLE(plugin_columns);
#undef MAPPED

#define MAPPED struct target_record
static const struct column target_columns[] = {TARGET_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table target_table = TABLE(target_columns);
#undef MAPPED

#define MAPPED struct publication_record
static const struct column publication_columns[] = {PUBLICATION_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table publication_table = TABLE(publication_columns);
#undef MAPPED

#define MAPPED struct startup_record
static const struct column startup_columns[] = {STARTUP_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table startup_table = TABLE(startup_columns);
#undef MAPPED

#define MAPPED struct event_record
static const struct column event_columns[] = {EVENT_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table event_table = TABLE(event_columns);
#undef MAPPED

#define MAPPED struct reader_row
static const struct column selected_columns[] = {SELECTED_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table selected_table = TABLE(selected_columns);
#undef MAPPED

#define MAPPED struct reader_holder
static const struct column holder_columns[] = {HOLDER_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table holder_table = TABLE(holder_columns);
#undef MAPPED

#define MAPPED struct reader_problem
static const struct column problem_columns[] = {PROBLEM_COLUMNS(COLUMN_MAP, COLUMN_MAP)};
const struct table problem_table = TABLE(problem_columns);
#undef MAPPED

/* --- rows --- */

static bool read_column(sqlite3_stmt *row, int at, enum column_type type, void *member)
{
	struct outline *outline = member;

	switch (type) {
	case COLUMN_TEXT:
		*(struct slice *)member = sql_column(row, at);
		return true;
	case COLUMN_NEEDED:
		*(struct slice *)member = sql_column(row, at);
		return !slice_is_null(*(struct slice *)member);
	case COLUMN_INT64:
	case COLUMN_KNOWN:
		*(int64_t *)member = sqlite3_column_int64(row, at);
		return true;
	case COLUMN_UINT32:
		*(uint32_t *)member = (uint32_t)sqlite3_column_int64(row, at);
		return true;
	case COLUMN_SIZE:
		*(size_t *)member = (size_t)sqlite3_column_int64(row, at);
		return true;
	case COLUMN_BOOL:
		*(bool *)member = sqlite3_column_int(row, at) != 0;
		return true;
	case COLUMN_KNOWN32:
		*(int *)member = sqlite3_column_int(row, at);
		return true;
	case COLUMN_ROOT_KIND:
		root_kind_find(sql_column(row, at), member);
		return true;
	case COLUMN_TARGET_KIND:
		return target_kind_find(sql_column(row, at), member);
	case COLUMN_TARGET_STATE:
		return target_state_find(sql_column(row, at), member);
	case COLUMN_STARTUP_KIND:
		return startup_kind_find(sql_column(row, at), member);
	case COLUMN_WATCHED:
		distribution_set_watched(member, sqlite3_column_int(row, at));
		return true;
	case COLUMN_OUTLINE_SIZE:
		outline->exists = sqlite3_column_type(row, at) != SQLITE_NULL;
		outline->size = sqlite3_column_int64(row, at);
		return true;
	case COLUMN_OUTLINE_TIME:
		outline->mtime = sqlite3_column_int64(row, at);
		return true;
	}
	return false;
}

bool row_read(sqlite3_stmt *row, int first, const struct table *table, void *record)
{
	bool whole = true;

	for (int i = 0; i < table->count; i++)
		whole &= read_column(row, first + i, table->columns[i].type,
		                     (char *)record + table->columns[i].offset);
	return whole;
}

void row_keep(const struct table *table, void *record, struct arena *arena, bool *failed)
{
	for (int i = 0; i < table->count; i++) {
		struct slice *text = (void *)((char *)record + table->columns[i].offset);

		if (table->columns[i].type <= COLUMN_NEEDED)
			*text = arena_copy(arena, *text, failed);
	}
}

static void bind_number(sqlite3_stmt *statement, int at, bool is_known, int64_t number)
{
	if (is_known)
		sqlite3_bind_int64(statement, at, number);
	else
		sqlite3_bind_null(statement, at);
}

static void bind_column(struct sql *sql, sqlite3_stmt *statement, int at, enum column_type type,
                        const void *member)
{
	const struct outline *outline = member;
	int64_t number = 0;

	switch (type) {
	case COLUMN_TEXT:
	case COLUMN_NEEDED:
		sql_bind(sql, statement, at, *(const struct slice *)member);
		return;
	case COLUMN_ROOT_KIND:
		sql_bind(sql, statement, at,
		         slice_of(root_kind_name(*(const enum root_kind *)member)));
		return;
	case COLUMN_TARGET_KIND:
		sql_bind(sql, statement, at,
		         slice_of(target_kind_name(*(const enum target_kind *)member)));
		return;
	case COLUMN_TARGET_STATE:
		sql_bind(sql, statement, at,
		         slice_of(target_state_name(*(const enum target_state *)member)));
		return;
	case COLUMN_STARTUP_KIND:
		sql_bind(sql, statement, at,
		         slice_of(startup_kind_name(*(const enum startup_kind *)member)));
		return;
	case COLUMN_OUTLINE_SIZE:
		bind_number(statement, at, outline->exists, outline->size);
		return;
	case COLUMN_OUTLINE_TIME:
		bind_number(statement, at, outline->exists, outline->mtime);
		return;
	case COLUMN_INT64:
	case COLUMN_KNOWN:
		number = *(const int64_t *)member;
		break;
	case COLUMN_UINT32:
		number = *(const uint32_t *)member;
		break;
	case COLUMN_SIZE:
		number = (int64_t) * (const size_t *)member;
		break;
	case COLUMN_BOOL:
		number = *(const bool *)member;
		break;
	case COLUMN_KNOWN32:
		number = *(const int *)member;
		break;
	case COLUMN_WATCHED:
		number = distribution_watched(member);
		break;
	}
	bind_number(statement, at, number || (type != COLUMN_KNOWN && type != COLUMN_KNOWN32),
	            number);
}

void row_bind(struct sql *sql, sqlite3_stmt *statement, int first, const struct table *table,
              const void *record)
{
	for (int i = 0; i < table->count; i++)
		bind_column(sql, statement, first + i, table->columns[i].type,
		            (const char *)record + table->columns[i].offset);
}

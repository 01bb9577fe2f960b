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
	COLUMN_WATCHED,      /* of a distribution_record; the member is its first */
	COLUMN_OUTLINE_SIZE, /* struct outline; both NULL where it does not exist */
	COLUMN_OUTLINE_TIME,
	COLUMN_ROOT_KIND, /* enums, as words */
	COLUMN_TARGET_KIND,
	COLUMN_TARGET_STATE,
	COLUMN_STARTUP_KIND,
};

static const struct words *const words_of[] = {
        [COLUMN_ROOT_KIND] = &root_kinds,
        [COLUMN_TARGET_KIND] = &target_kinds,
        [COLUMN_TARGET_STATE] = &target_states,
        [COLUMN_STARTUP_KIND] = &startup_kinds,
};

struct column {
	enum column_type type;
	size_t offset;
};

#define COLUMN_MAP(of, text, type, member) {COLUMN_##type, offsetof(struct of, member)},
#define TABLE(list, of)                                                                            \
	{                                                                                          \
		(const struct column[]){list(COLUMN_MAP, COLUMN_MAP, of)},                         \
		        sizeof((struct column[]){list(COLUMN_MAP, COLUMN_MAP, of)}) /              \
		                sizeof(struct column)                                              \
	}

const struct table root_table = TABLE(ROOT_COLUMNS, root_record);
const struct table distribution_table = TABLE(DISTRIBUTION_COLUMNS, distribution_record);
const struct table anchored_table = TABLE(ANCHORED_COLUMNS, distribution_record);
const struct table listed_table = TABLE(LISTED_COLUMNS, distribution_record);
const struct table entry_point_table = TABLE(ENTRY_POINT_COLUMNS, entry_point_record);
const struct table plugin_table = TABLE(PLUGIN_COLUMNS, plugin_record);
const struct table target_table = TABLE(TARGET_COLUMNS, target_record);
const struct table publication_table = TABLE(PUBLICATION_COLUMNS, publication_record);
const struct table startup_table = TABLE(STARTUP_COLUMNS, startup_record);
const struct table event_table = TABLE(EVENT_COLUMNS, event_record);
const struct table selected_table = TABLE(SELECTED_COLUMNS, reader_row);
const struct table holder_table = TABLE(HOLDER_COLUMNS, distribution_record);
const struct table problem_table = TABLE(PROBLEM_COLUMNS, distribution_record);

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
		break;
	case COLUMN_UINT32:
		*(uint32_t *)member = (uint32_t)sqlite3_column_int64(row, at);
		break;
	case COLUMN_SIZE:
		*(size_t *)member = (size_t)sqlite3_column_int64(row, at);
		break;
	case COLUMN_BOOL:
		*(bool *)member = sqlite3_column_int(row, at) != 0;
		break;
	case COLUMN_KNOWN32:
		*(int *)member = sqlite3_column_int(row, at);
		break;
	case COLUMN_WATCHED:
		distribution_set_watched(member, sqlite3_column_int(row, at));
		break;
	case COLUMN_OUTLINE_SIZE:
		outline->exists = sqlite3_column_type(row, at) != SQLITE_NULL;
		outline->size = sqlite3_column_int64(row, at);
		break;
	case COLUMN_OUTLINE_TIME:
		outline->mtime = sqlite3_column_int64(row, at);
		break;
	case COLUMN_ROOT_KIND:
	case COLUMN_TARGET_KIND:
	case COLUMN_TARGET_STATE:
	case COLUMN_STARTUP_KIND:
		return words_find(words_of[type], sql_column(row, at), member);
	}
	return true;
}

/* Never a copy in its callers, each with calls of read_column(): a third of a selection's time. */
__attribute__((noinline)) bool row_read(sqlite3_stmt *row, int first, const struct table *table,
                                        void *record)
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

static void bind_column(struct sql *sql, sqlite3_stmt *statement, int at, enum column_type type,
                        const void *member)
{
	const struct outline *outline = member;
	bool is_known = true;
	int64_t number = 0;

	switch (type) {
	case COLUMN_TEXT:
	case COLUMN_NEEDED:
		sql_bind(sql, statement, at, *(const struct slice *)member);
		return;
	case COLUMN_INT64:
		number = *(const int64_t *)member;
		break;
	case COLUMN_KNOWN:
		number = *(const int64_t *)member;
		is_known = number != 0;
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
		is_known = number != 0;
		break;
	case COLUMN_WATCHED:
		number = distribution_watched(member);
		break;
	case COLUMN_OUTLINE_SIZE:
		number = outline->size;
		is_known = outline->exists;
		break;
	case COLUMN_OUTLINE_TIME:
		number = outline->mtime;
		is_known = outline->exists;
		break;
	default:
		sql_bind(sql, statement, at,
		         slice_of(words_of[type]->all[*(const unsigned *)member]));
		return;
	}
	if (is_known)
		sqlite3_bind_int64(statement, at, number);
	else
		sqlite3_bind_null(statement, at);
}

void row_bind(struct sql *sql, sqlite3_stmt *statement, int first, const struct table *table,
              const void *record)
{
	for (int i = 0; i < table->count; i++)
		bind_column(sql, statement, first + i, table->columns[i].type,
		            (const char *)record + table->columns[i].offset);
}

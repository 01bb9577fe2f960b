/*
 * tables.c - converts rows to records and records to rows.
 */
#include "db/tables.h"

#include <stddef.h>

#define RECORD_SIZE 256 /* bytes */

/* --- maps --- */

/* How a column is stored in its member. */
enum column_type {
	COLUMN_TEXT,         /* a slice, null for NULL */
	COLUMN_NEEDED,       /* the same, never NULL */
	COLUMN_NUMBER,       /* an integer of any size, or a bool */
	COLUMN_KNOWN,        /* the same; 0 for NULL, unknown */
	COLUMN_OUTLINE_SIZE, /* struct outline; both NULL if it does not exist */
	COLUMN_OUTLINE_TIME,
	COLUMN_ROOT_KIND, /* enums, by name */
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
	unsigned size, offset;
};

#define COLUMN_MAP(of, text, type, member)                                                         \
	{COLUMN_##type, sizeof(((struct of *)0)->member), offsetof(struct of, member)},
#define TABLE(list, of, has_id)                                                                    \
	{                                                                                          \
		(const struct column[]){list(COLUMN_MAP, of)},                                     \
		        sizeof((struct column[]){list(COLUMN_MAP, of)}) / sizeof(struct column),   \
		        has_id                                                                     \
	}

const struct table root_table = TABLE(ROOT_COLUMNS, root_record, true);
const struct table distribution_table = TABLE(DISTRIBUTION_COLUMNS, distribution_record, true);
const struct table anchored_table = TABLE(ANCHORED_COLUMNS, distribution_record, true);
const struct table listed_table = TABLE(LISTED_COLUMNS, distribution_record, true);
const struct table entry_point_table = TABLE(ENTRY_POINT_COLUMNS, entry_point_record, false);
const struct table plugin_table = TABLE(PLUGIN_COLUMNS, entry_point_record, false);
const struct table target_table = TABLE(TARGET_COLUMNS, target_record, false);
const struct table publication_table = TABLE(PUBLICATION_COLUMNS, publication_record, false);
const struct table startup_table = TABLE(STARTUP_COLUMNS, startup_record, false);
const struct table event_table = TABLE(EVENT_COLUMNS, event_record, false);
const struct table selected_table = TABLE(SELECTED_COLUMNS, reader_row, true);
const struct table holder_table = TABLE(HOLDER_COLUMNS, distribution_record, true);
const struct table source_table = TABLE(SOURCE_COLUMNS, distribution_record, true);
const struct table problem_table = TABLE(PROBLEM_COLUMNS, distribution_record, true);

/* --- rows --- */

static void set_number(void *member, unsigned size, int64_t number)
{
	if (size == sizeof(int64_t))
		*(int64_t *)member = number;
	else if (size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)number;
	else
		*(bool *)member = number != 0;
}

static int64_t get_number(const void *member, unsigned size)
{
	if (size == sizeof(int64_t))
		return *(const int64_t *)member;
	return size == sizeof(uint32_t) ? *(const uint32_t *)member : *(const bool *)member;
}

static bool read_column(sqlite3_stmt *row, int at, const struct column *column, void *member)
{
	struct outline *outline = member;

	switch (column->type) {
	case COLUMN_TEXT:
	case COLUMN_NEEDED:
		*(struct slice *)member = sql_column(row, at);
		return column->type == COLUMN_TEXT || !slice_is_null(*(struct slice *)member);
	case COLUMN_NUMBER:
	case COLUMN_KNOWN:
		set_number(member, column->size, sqlite3_column_int64(row, at));
		return true;
	case COLUMN_OUTLINE_SIZE:
		outline->exists = sqlite3_column_type(row, at) != SQLITE_NULL;
		outline->size = sqlite3_column_int64(row, at);
		return true;
	case COLUMN_OUTLINE_TIME:
		outline->mtime = sqlite3_column_int64(row, at);
		return true;
	default:
		return words_find(words_of[column->type], sql_column(row, at), member);
	}
}

/*
 * Inlined into its callers, it would call read_column() out of line and take a third longer in a
 * selection.
 */
__attribute__((noinline)) bool row_read(sqlite3_stmt *row, int first, const struct table *table,
                                        void *record)
{
	bool whole = true;

	if (table->has_id)
		*(int64_t *)record = sqlite3_column_int64(row, first);
	for (int i = 0; i < table->count; i++)
		whole &= read_column(row, first + 1 + i, &table->columns[i],
		                     (char *)record + table->columns[i].offset);
	return whole;
}

int row_next(struct sql *sql, sqlite3_stmt *row, const struct table *table, void *record,
             struct error *error)
{
	int code = sql_step(sql, row, error);

	if (code > 0) {
		bool whole = row_read(row, 0, table, record);

		code = sql_check_row(sql, error);
		if (code == 0)
			code = whole ? 1 : sql_damaged(sql, error);
	}
	if (code < 0)
		sqlite3_reset(row);
	return code;
}

size_t row_size(const struct table *table, const void *record)
{
	size_t size = RECORD_SIZE;

	for (int i = 0; i < table->count; i++)
		if (table->columns[i].type <= COLUMN_NEEDED)
			size += ((const struct slice *)(const void *)((const char *)record +
			                                              table->columns[i].offset))
			                ->len;
	return size;
}

void row_keep(const struct table *table, void *record, struct arena *arena, bool *failed)
{
	for (int i = 0; i < table->count; i++) {
		struct slice *text = (void *)((char *)record + table->columns[i].offset);

		if (table->columns[i].type <= COLUMN_NEEDED)
			*text = arena_copy(arena, *text, failed);
	}
}

static void bind_column(struct sql *sql, sqlite3_stmt *statement, int at,
                        const struct column *column, const void *member)
{
	const struct outline *outline = member;
	bool is_known = true;
	int64_t number;

	switch (column->type) {
	case COLUMN_TEXT:
	case COLUMN_NEEDED:
		sql_bind(sql, statement, at, *(const struct slice *)member);
		return;
	case COLUMN_NUMBER:
	case COLUMN_KNOWN:
		number = get_number(member, column->size);
		is_known = number != 0 || column->type == COLUMN_NUMBER;
		break;
	case COLUMN_OUTLINE_SIZE:
	case COLUMN_OUTLINE_TIME:
		number = column->type == COLUMN_OUTLINE_SIZE ? outline->size : outline->mtime;
		is_known = outline->exists;
		break;
	default:
		sql_bind(sql, statement, at,
		         slice_of(words_of[column->type]->all[*(const unsigned *)member]));
		return;
	}
	if (is_known)
		sqlite3_bind_int64(statement, at, number);
	else
		sqlite3_bind_null(statement, at);
}

void row_bind(struct sql *sql, sqlite3_stmt *statement, const struct table *table,
              const void *record)
{
	for (int i = 0; i < table->count; i++)
		bind_column(sql, statement, 2 + i, &table->columns[i],
		            (const char *)record + table->columns[i].offset);
}

/*
 * reader_rows.c - makes roots, with all that belongs to them, of rows.
 */
#include "db/reader.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/reader_state.h"
#include "db/tables.h"

/* --- roots --- */

int reader_root(struct reader *reader, struct slice path, struct root_record *out,
                struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SQL_ROOT_BY_PATH, error);
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

int reader_roots(struct reader *reader, root_each *each, void *payload, struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SQL_ROOTS, error);
	struct root_record root = {0};
	int64_t last = 0; /* they begin with 1 */
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

int reader_publication(struct reader *reader, struct publication_record *out, struct error *error)
{
	sqlite3_stmt *row = sql_get(&reader->sql, SQL_PUBLICATION, error);
	int code = row_next(&reader->sql, row, &publication_table, out, error);

	sqlite3_reset(row);
	return code;
}

/* --- arrays --- */

/* The rows of a statement, whose ?1 is the identifier of a root or of a distribution. */
struct kind {
	enum sql_id statement;
	const struct table *table;
	size_t size; /* of one record */
	/*
	 * Of what belongs to distributions, and has its own identifier, which begins with that of
	 * the distribution, in its first column: where the distribution keeps count and array.
	 */
	bool belongs;
	size_t count, array; /* offsets */
	/* Where the columns behind those of the table are to go; NULL: there is nothing in them. */
	struct target_record *(*target)(sqlite3_stmt *row, struct arena *arena, void *record,
	                                bool *failed);
};

/* They become one array. */
struct reading {
	const struct kind *kind;
	struct arena *arena;
	struct distribution_record *owner, *end; /* to which the rows may belong, by identifier */
	char *items;
	size_t count, room;
	bool failed; /* no memory */
};

static void reading_free(struct reading *reading)
{
	free(reading->items);
}

static void *at_offset(struct distribution_record *distribution, size_t offset)
{
	return (char *)distribution + offset;
}

/* Both come by identifier. A row without a distribution belongs to none. */
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

static bool read_columns(sqlite3_stmt *row, int first, const struct table *table,
                         struct reading *reading, void *record)
{
	bool whole = row_read(row, first, table, record);

	row_keep(table, record, reading->arena, &reading->failed);
	return whole;
}

/* False for a row that lacks what it must have. */
static bool read_record(sqlite3_stmt *row, struct reading *reading)
{
	const struct kind *kind = reading->kind;
	struct target_record *target = NULL;
	char *record = reading->items + reading->count * kind->size;

	if (kind->belongs && !find_owner(row, reading))
		return true;
	reading->count++;
	memset(record, 0, kind->size);
	if (!read_columns(row, kind->belongs, kind->table, reading, record))
		return false;
	if (kind->target)
		target = kind->target(row, reading->arena, record, &reading->failed);
	return !target || read_columns(row, kind->belongs + kind->table->count, &target_table,
	                               reading, target);
}

/* All of them, in the arena; *@out stays where there are none. */
static int read_rows(struct reader *reader, int64_t key, struct reading *reading, void **out,
                     struct error *error)
{
	struct sql *sql = &reader->sql;
	sqlite3_stmt *row = sql_get_of(sql, reading->kind->statement, key, error);
	size_t size = reading->kind->size;
	int code;

	while ((code = sql_step(sql, row, error)) > 0) {
		bool whole = true;

		reading->failed =
		        !array_grow(&reading->items, reading->count, size, &reading->room);
		if (!reading->failed)
			whole = read_record(row, reading);
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

/* --- distributions --- */

/* There must be as many as the root row announces. */
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

/* --- what belongs to distributions --- */

static struct target_record *entry_point_target(sqlite3_stmt *row, struct arena *arena,
                                                void *record, bool *failed)
{
	struct target_record *target = NULL;

	if (sqlite3_column_type(row, 1 + entry_point_table.count) != SQLITE_NULL) {
		target = arena_calloc(arena, 1, sizeof(*target));
		*failed |= !target;
	}
	((struct entry_point_record *)record)->target = target;
	return target;
}

static struct target_record *plugin_target(sqlite3_stmt *row, struct arena *arena, void *record,
                                           bool *failed)
{
	(void)row;
	(void)arena;
	(void)failed;
	return &((struct plugin_record *)record)->target;
}

#define OF_ENTRY_POINTS                                                                            \
	&entry_point_table, sizeof(struct entry_point_record), true,                               \
	        offsetof(struct distribution_record, entry_point_count),                           \
	        offsetof(struct distribution_record, entry_points)

static const struct kind entry_points = {SQL_ENTRY_POINTS, OF_ENTRY_POINTS, entry_point_target};
static const struct kind entry_points_of = {SQL_ENTRY_POINTS_OF, OF_ENTRY_POINTS,
                                            entry_point_target};
static const struct kind lines = {SQL_LISTED_ENTRY_POINTS, OF_ENTRY_POINTS, NULL};
static const struct kind plugins = {SQL_PLUGINS,
                                    &plugin_table,
                                    sizeof(struct plugin_record),
                                    true,
                                    offsetof(struct distribution_record, plugin_count),
                                    offsetof(struct distribution_record, plugins),
                                    plugin_target};

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

/* With what each of @kinds says, until a NULL; then in order of position. */
static int read_root(struct reader *reader, struct root_record *root,
                     const struct kind *const *kinds, struct error *error)
{
	int code = read_distributions(reader, *kinds, root, error);

	while (code == 0 && *++kinds)
		code = read_belongings(reader, *kinds, root->id, root->distributions,
		                       root->distribution_count, &root->arena, error);
	root_record_sort(root); /* cheaper than in SQL, which would copy every row once more */
	return code;
}

int reader_distributions(struct reader *reader, struct root_record *root, bool belongings,
                         struct error *error)
{
	static const struct kind all = {.statement = SQL_DISTRIBUTIONS,
	                                .table = &distribution_table,
	                                .size = sizeof(struct distribution_record)};
	const struct kind *kinds[] = {&all, belongings ? &entry_points : NULL, &plugins, NULL};

	return read_root(reader, root, kinds, error);
}

int reader_listed(struct reader *reader, struct root_record *root, struct error *error)
{
	static const struct kind all = {.statement = SQL_LISTED,
	                                .table = &listed_table,
	                                .size = sizeof(struct distribution_record)};

	return read_root(reader, root, (const struct kind *[]){&all, &lines, NULL}, error);
}

int reader_entry_points(struct reader *reader, struct distribution_record *distribution,
                        struct arena *arena, struct error *error)
{
	distribution->entry_point_count = 0;
	return read_belongings(reader, &entry_points_of, distribution->id, distribution, 1, arena,
	                       error);
}

/* --- start-up code --- */

int reader_startups(struct reader *reader, struct root_record *root, struct error *error)
{
	static const struct kind all = {.statement = SQL_STARTUPS,
	                                .table = &startup_table,
	                                .size = sizeof(struct startup_record)};
	CLEANUP(reading_free) struct reading reading = {.kind = &all, .arena = &root->arena};
	void *read = NULL;
	int code = read_rows(reader, root->id, &reading, &read, error);

	if (code == 0 && reading.count > STARTUPS_MAX)
		code = sql_damaged(&reader->sql, error);
	root->startups = read;
	root->startup_count = code == 0 ? reading.count : 0;
	return code;
}

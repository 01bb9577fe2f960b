/*
 * rows.c - roots with all that belongs to them, from rows.
 */
#include "db/rows.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/tables.h"

/* --- roots --- */

int rows_root(struct sql *sql, struct slice path, struct root_record *out, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, SQL_ROOT_BY_PATH, error);
	struct root_record root = {.path = path};
	int code;

	if (!row)
		return sql_code(sql);
	sql_bind(sql, row, 1, path);
	code = sql_step(sql, row, error);
	if (code > 0) {
		row_read(row, 0, &root_table, &root);
		root.path = path;
		code = sql_check_row(sql, error);
		if (code == 0) {
			*out = root;
			code = 1;
		}
	}
	sqlite3_reset(row);
	return code;
}

int rows_roots(struct sql *sql, root_each *each, void *payload, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, SQL_ROOTS, error);
	int64_t last = 0; /* they begin with 1 */
	int code, answer = 0;

	if (!row)
		return sql_code(sql);
	while (answer == 0 && (code = sql_step(sql, row, error)) != 0) {
		struct root_record root = {0};

		if (code < 0)
			return code;
		row_read(row, 0, &root_table, &root);
		if (sql_check_row(sql, error) < 0)
			return ERROR_NOMEM;
		if (root.id <= last || slice_is_null(root.path))
			return sql_damaged(sql, error);
		last = root.id;
		answer = each(payload, &root);
	}
	sqlite3_reset(row);
	return answer;
}

int rows_publication(struct sql *sql, struct publication_record *out, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, SQL_PUBLICATION, error);
	int code;

	if (!row)
		return sql_code(sql);
	code = sql_step(sql, row, error);
	if (code > 0)
		row_read(row, 0, &publication_table, out);
	sqlite3_reset(row);
	return code;
}

/* --- distributions --- */

/* There must be as many as the root row announces. */
static int read_distributions(struct sql *sql, enum sql_id statement, const struct table *table,
                              struct root_record *root, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, statement, error);
	size_t room = root->distribution_count, count = 0;
	bool failed = false;
	int code;

	root->distribution_count = 0;
	if (!row)
		return sql_code(sql);
	if (room > DISTRIBUTIONS_MAX)
		return sql_damaged(sql, error);
	root->distributions = arena_calloc(&root->arena, room, sizeof(*root->distributions));
	if (!root->distributions)
		return error_nomem(error);
	sqlite3_bind_int64(row, 1, root->id);
	while ((code = sql_step(sql, row, error)) != 0) {
		struct distribution_record *out = &root->distributions[count];
		bool whole;

		if (code < 0)
			return code;
		if (count++ == room)
			return sql_damaged(sql, error);
		whole = row_read(row, 0, table, out);
		row_keep(table, out, &root->arena, &failed);
		out->has_headers = true;
		if (failed || sql_check_row(sql, NULL) < 0)
			return error_nomem(error);
		if (!whole)
			return sql_damaged(sql, error);
	}
	sqlite3_reset(row);
	if (count < room)
		return sql_damaged(sql, error);
	root->distribution_count = count;
	return 0;
}

/* --- entry points and targets --- */

static bool read_kept(sqlite3_stmt *row, int first, const struct table *table, struct arena *arena,
                      void *record, bool *failed)
{
	bool whole = row_read(row, first, table, record);

	row_keep(table, record, arena, failed);
	return whole;
}

/* Without its target. False for a row that lacks what it must have. */
static bool read_line(sqlite3_stmt *row, struct arena *arena, void *item, bool *failed)
{
	((struct entry_point_record *)item)->target = NULL;
	return read_kept(row, 1, &entry_point_table, arena, item, failed);
}

static bool read_entry_point(sqlite3_stmt *row, struct arena *arena, void *item, bool *failed)
{
	int first = 1 + entry_point_table.count;
	struct entry_point_record *out = item;
	struct target_record *target;

	if (!read_line(row, arena, out, failed))
		return false;
	if (sqlite3_column_type(row, first) == SQLITE_NULL)
		return true;
	out->target = target = arena_calloc(arena, 1, sizeof(*target));
	*failed |= !target;
	return !target || read_kept(row, first, &target_table, arena, target, failed);
}

static void give_entry_points(struct distribution_record *owner, void *items, size_t count)
{
	owner->entry_points = items;
	owner->entry_point_count = count;
}

/* --- plugins --- */

static bool read_plugin(sqlite3_stmt *row, struct arena *arena, void *item, bool *failed)
{
	struct plugin_record *out = item;

	return read_kept(row, 1, &plugin_table, arena, out, failed) &&
	       read_kept(row, 1 + plugin_table.count, &target_table, arena, &out->target, failed) &&
	       !slice_is_null(out->target.object) && !slice_is_null(out->target.symbol);
}

static void give_plugins(struct distribution_record *owner, void *items, size_t count)
{
	owner->plugins = items;
	owner->plugin_count = count;
}

/* --- what belongs to a distribution --- */

/* The rows of one table, whose identifiers begin with those of distributions. */
struct belongings {
	enum sql_id statement; /* its first column: the identifier */
	size_t size;           /* of one record */
	bool (*read)(sqlite3_stmt *row, struct arena *arena, void *item, bool *failed);
	void (*give)(struct distribution_record *owner, void *items, size_t count);
};

static const struct belongings entry_points = {SQL_ENTRY_POINTS, sizeof(struct entry_point_record),
                                               read_entry_point, give_entry_points};
static const struct belongings lines = {SQL_LISTED_ENTRY_POINTS, sizeof(struct entry_point_record),
                                        read_line, give_entry_points};
static const struct belongings plugins = {SQL_PLUGINS, sizeof(struct plugin_record), read_plugin,
                                          give_plugins};

/* They come ordered by distribution: each group of them is one array. */
struct group {
	const struct belongings *kind;
	char *items;
	size_t count, room;
	struct distribution_record *owner;
};

static bool give_to_owner(struct group *group, struct arena *arena)
{
	size_t count = group->count;
	void *items;

	group->count = 0;
	if (!group->owner || count == 0)
		return true;
	items = arena_alloc(arena, count * group->kind->size);
	if (!items)
		return false;
	memcpy(items, group->items, count * group->kind->size);
	group->kind->give(group->owner, items, count);
	return true;
}

static int read_item(struct sql *sql, sqlite3_stmt *row, struct group *group, struct arena *arena,
                     struct error *error)
{
	bool failed = false, whole = true;

	if (!array_grow(&group->items, group->count, group->kind->size, &group->room))
		return error_nomem(error);
	if (group->owner)
		whole = group->kind->read(
		        row, arena, group->items + group->count++ * group->kind->size, &failed);
	if (failed || sql_check_row(sql, NULL) < 0)
		return error_nomem(error);
	return whole ? 0 : sql_damaged(sql, error);
}

/* Both come by identifier; a row without a distribution is read, but belongs to none. */
static int read_groups(struct sql *sql, struct root_record *root, struct group *group,
                       struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, group->kind->statement, error);
	struct distribution_record *next = root->distributions;
	const struct distribution_record *end = next + root->distribution_count;
	int code, read;

	if (!row)
		return sql_code(sql);
	sqlite3_bind_int64(row, 1, root->id);
	while ((code = sql_step(sql, row, error)) > 0) {
		int64_t id = sqlite3_column_int64(row, 0) >> ENTRY_POINT_ID_SHIFT;
		struct distribution_record *owner;

		while (next < end && next->id < id)
			next++;
		owner = next < end && next->id == id ? next : NULL;
		if (owner != group->owner && !give_to_owner(group, &root->arena))
			return error_nomem(error);
		group->owner = owner;
		read = read_item(sql, row, group, &root->arena, error);
		if (read < 0)
			return read;
	}
	sqlite3_reset(row);
	if (code == 0 && !give_to_owner(group, &root->arena))
		return error_nomem(error);
	return code;
}

static int read_belongings(struct sql *sql, struct root_record *root, const struct belongings *kind,
                           struct error *error)
{
	struct group group = {.kind = kind};
	int code = read_groups(sql, root, &group, error);

	free(group.items);
	return code;
}

static int read_entry_points(struct sql *sql, struct group *group, struct arena *arena,
                             struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, SQL_ENTRY_POINTS_OF, error);
	int code, read = 0;

	if (!row)
		return sql_code(sql);
	sqlite3_bind_int64(row, 1, group->owner->id);
	while (read == 0 && (code = sql_step(sql, row, error)) > 0)
		read = read_item(sql, row, group, arena, error);
	sqlite3_reset(row);
	if (read < 0 || code < 0)
		return read < 0 ? read : code;
	return give_to_owner(group, arena) ? 0 : error_nomem(error);
}

int rows_entry_points(struct sql *sql, struct distribution_record *distribution,
                      struct arena *arena, struct error *error)
{
	struct group group = {.kind = &entry_points, .owner = distribution};
	int code = read_entry_points(sql, &group, arena, error);

	free(group.items);
	return code;
}

/* With what each of @kinds says, until a NULL; then in order of position. */
static int read_with(struct sql *sql, struct root_record *root,
                     const struct belongings *const *kinds, struct error *error)
{
	int code = 0;

	while (code == 0 && *kinds)
		code = read_belongings(sql, root, *kinds++, error);
	root_record_sort(root); /* cheaper than in SQL, which would copy every row once more */
	return code;
}

int rows_distributions(struct sql *sql, struct root_record *root, bool belongings,
                       struct error *error)
{
	static const struct belongings *const all[] = {&entry_points, &plugins, NULL};
	static const struct belongings *const none[] = {NULL};
	int code = read_distributions(sql, SQL_DISTRIBUTIONS, &distribution_table, root, error);

	return code < 0 ? code : read_with(sql, root, belongings ? all : none, error);
}

int rows_listed(struct sql *sql, struct root_record *root, struct error *error)
{
	static const struct belongings *const kinds[] = {&lines, NULL};
	int code = read_distributions(sql, SQL_LISTED, &listed_table, root, error);

	return code < 0 ? code : read_with(sql, root, kinds, error);
}

/* --- start-up code --- */

static int read_startups(struct sql *sql, sqlite3_stmt *row, struct root_record *root,
                         struct startup_record **rows, struct error *error)
{
	size_t room = 0;
	int code;

	while ((code = sql_step(sql, row, error)) > 0) {
		bool failed = !array_grow(rows, root->startup_count, sizeof(**rows), &room);
		bool whole = failed || read_kept(row, 0, &startup_table, &root->arena,
		                                 &(*rows)[root->startup_count++], &failed);

		if (failed || sql_check_row(sql, NULL) < 0)
			return error_nomem(error);
		if (!whole || root->startup_count > STARTUPS_MAX)
			return sql_damaged(sql, error);
	}
	sqlite3_reset(row);
	return code;
}

int rows_startups(struct sql *sql, struct root_record *root, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, SQL_STARTUPS, error);
	struct startup_record *rows = NULL;
	int code;

	root->startup_count = 0;
	if (!row)
		return sql_code(sql);
	sqlite3_bind_int64(row, 1, root->id);
	code = read_startups(sql, row, root, &rows, error);
	if (code == 0 && root->startup_count > 0) {
		root->startups = arena_alloc(&root->arena, root->startup_count * sizeof(*rows));
		code = root->startups ? 0 : error_nomem(error);
	}
	if (code == 0 && root->startup_count > 0)
		memcpy(root->startups, rows, root->startup_count * sizeof(*rows));
	free(rows);
	return code;
}

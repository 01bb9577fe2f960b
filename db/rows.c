/*
 * rows.c - see rows.h.
 */
#include "db/rows.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/columns.h"

/* --- roots --- */

static enum root_kind kind_of(struct slice name)
{
	if (slice_equal(name, SLICE("directory")))
		return ROOT_DIRECTORY;
	if (slice_equal(name, SLICE("zip")))
		return ROOT_ZIP;
	return slice_equal(name, SLICE("archive")) ? ROOT_ARCHIVE : ROOT_ABSENT;
}

static void read_root(sqlite3_stmt *row, struct root_record *root)
{
	root->id = sqlite3_column_int64(row, ROOT_ID);
	root->kind = kind_of(sql_column(row, ROOT_KIND));
	root->stamp.mtime = sqlite3_column_int64(row, ROOT_MTIME);
	root->stamp.ctime = sqlite3_column_int64(row, ROOT_CTIME);
	root->stamp.inode = sqlite3_column_int64(row, ROOT_INODE);
	root->size = sqlite3_column_int64(row, ROOT_SIZE);
	root->settled = sqlite3_column_int(row, ROOT_SETTLED) != 0;
	root->distribution_count = (size_t)sqlite3_column_int64(row, ROOT_DISTRIBUTIONS);
	root->broken = (uint32_t)sqlite3_column_int64(row, ROOT_BROKEN);
	root->watched = (uint32_t)sqlite3_column_int64(row, ROOT_WATCHED);
	root->kinds = sqlite3_column_int64(row, ROOT_KINDS);
}

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
		read_root(row, &root);
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
		struct root_record root = {.path = sql_column(row, ROOT_PATH)};

		if (code < 0)
			return code;
		read_root(row, &root);
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
		*out = (struct publication_record){
		        .inode = sqlite3_column_int64(row, PUBLICATION_INODE),
		        .time = sqlite3_column_int64(row, PUBLICATION_TIME),
		        .sealed = sqlite3_column_int(row, PUBLICATION_SEALED) != 0,
		};
	sqlite3_reset(row);
	return code;
}

/* --- distributions --- */

static struct outline read_outline(sqlite3_stmt *row, int size, int mtime)
{
	return (struct outline){
	        .exists = sqlite3_column_type(row, size) != SQLITE_NULL,
	        .size = sqlite3_column_int64(row, size),
	        .mtime = sqlite3_column_int64(row, mtime),
	};
}

/* False for a row that lacks what it must have. */
static bool read_distribution(sqlite3_stmt *row, struct arena *arena,
                              struct distribution_record *out, bool *failed)
{
	const struct {
		struct slice *text;
		enum distribution_column column;
	} texts[] = {
	        {&out->directory, DISTRIBUTION_DIRECTORY},
	        {&out->normalized_name, DISTRIBUTION_NORMALIZED_NAME},
	        {&out->name, DISTRIBUTION_NAME},
	        {&out->version, DISTRIBUTION_VERSION},
	        {&out->error, DISTRIBUTION_ERROR},
	        {&out->record_sha256, DISTRIBUTION_RECORD_SHA256},
	};

	*out = (struct distribution_record){
	        .id = sqlite3_column_int64(row, DISTRIBUTION_ID),
	        .position = (uint32_t)sqlite3_column_int64(row, DISTRIBUTION_POSITION),
	        .has_metadata = sqlite3_column_int(row, DISTRIBUTION_HAS_METADATA) != 0,
	        .has_headers = true,
	        .settled = sqlite3_column_int(row, DISTRIBUTION_SETTLED) != 0,
	        .directory_stamp = sqlite3_column_int64(row, DISTRIBUTION_DIRECTORY_STAMP),
	        .files_stamp = sqlite3_column_int64(row, DISTRIBUTION_FILES_STAMP),
	        .entry_points_txt = read_outline(row, DISTRIBUTION_ENTRY_POINTS_SIZE,
	                                         DISTRIBUTION_ENTRY_POINTS_MTIME),
	        .metadata =
	                read_outline(row, DISTRIBUTION_METADATA_SIZE, DISTRIBUTION_METADATA_MTIME),
	};
	distribution_set_watched(out, sqlite3_column_int(row, DISTRIBUTION_WATCHED));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i].text = arena_copy(arena, sql_column(row, (int)texts[i].column), failed);
	return !slice_is_null(out->directory);
}

static bool read_listed(sqlite3_stmt *row, struct arena *arena, struct distribution_record *out,
                        bool *failed)
{
	*out = (struct distribution_record){
	        .id = sqlite3_column_int64(row, LISTED_ID),
	        .directory = arena_copy(arena, sql_column(row, LISTED_DIRECTORY), failed),
	        .position = (uint32_t)sqlite3_column_int64(row, LISTED_POSITION),
	        .name = arena_copy(arena, sql_column(row, LISTED_NAME), failed),
	        .version = arena_copy(arena, sql_column(row, LISTED_VERSION), failed),
	        .error = arena_copy(arena, sql_column(row, LISTED_ERROR), failed),
	        .has_headers = true,
	};
	return !slice_is_null(out->directory);
}

/* From a row of a statement; false for one that lacks what it must have. */
typedef bool distribution_reader(sqlite3_stmt *row, struct arena *arena,
                                 struct distribution_record *out, bool *failed);

/* There must be as many as the root row announces. */
static int read_distributions(struct sql *sql, enum sql_id statement, distribution_reader *read,
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
		bool whole;

		if (code < 0)
			return code;
		if (count == room)
			return sql_damaged(sql, error);
		whole = read(row, &root->arena, &root->distributions[count++], &failed);
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

const int rows_target_columns[TARGET_TEXTS] = {
        TARGET_OBJECT,  TARGET_SYMBOL,       TARGET_BUILD_ID,  TARGET_SHA256,    TARGET_GLIBC,
        TARGET_GLIBCXX, TARGET_MISSING_LIST, TARGET_UNDEFINED, TARGET_PYTHON_BY,
};

bool rows_target(sqlite3_stmt *row, int first, struct target_record *out)
{
	struct slice *texts[TARGET_TEXTS];

	*out = (struct target_record){
	        .machine = sqlite3_column_int(row, first + TARGET_MACHINE),
	        .size = sqlite3_column_int64(row, first + TARGET_SIZE),
	};
	target_texts(out, texts);
	for (size_t i = 0; i < TARGET_TEXTS; i++)
		*texts[i] = sql_column(row, first + rows_target_columns[i]);
	return target_kind_find(sql_column(row, first + TARGET_KIND), &out->kind) &&
	       target_state_find(sql_column(row, first + TARGET_STATE), &out->state);
}

/* The same with texts that stay. */
static bool copy_target(sqlite3_stmt *row, int first, struct arena *arena,
                        struct target_record *out, bool *failed)
{
	struct slice *texts[TARGET_TEXTS];

	if (!rows_target(row, first, out))
		return false;
	target_texts(out, texts);
	for (size_t i = 0; i < TARGET_TEXTS; i++)
		*texts[i] = arena_copy(arena, *texts[i], failed);
	return true;
}

/* False where the words of the row are not known. */
static bool read_target(sqlite3_stmt *row, struct arena *arena, const struct target_record **out,
                        bool *failed)
{
	struct target_record *target;

	*out = NULL;
	if (sqlite3_column_type(row, ENTRY_POINT_END + TARGET_KIND) == SQLITE_NULL)
		return true;
	target = arena_calloc(arena, 1, sizeof(*target));
	if (!target) {
		*failed = true;
		return true;
	}
	*out = target;
	return copy_target(row, ENTRY_POINT_END, arena, target, failed);
}

/* Without its target. False for a row that lacks what it must have. */
static bool read_line(sqlite3_stmt *row, struct arena *arena, void *item, bool *failed)
{
	struct entry_point_record *out = item;
	const struct {
		struct slice *text;
		enum entry_point_column column;
	} texts[] = {
	        {&out->group, ENTRY_POINT_GROUP}, {&out->name, ENTRY_POINT_NAME},
	        {&out->value, ENTRY_POINT_VALUE}, {&out->module, ENTRY_POINT_MODULE},
	        {&out->attr, ENTRY_POINT_ATTR},   {&out->extras, ENTRY_POINT_EXTRAS},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i].text = arena_copy(arena, sql_column(row, (int)texts[i].column), failed);
	out->target = NULL;
	return !slice_is_null(out->group) && !slice_is_null(out->name) &&
	       !slice_is_null(out->value);
}

static bool read_entry_point(sqlite3_stmt *row, struct arena *arena, void *item, bool *failed)
{
	struct entry_point_record *out = item;

	return read_line(row, arena, out, failed) && read_target(row, arena, &out->target, failed);
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

	out->kind = arena_copy(arena, sql_column(row, PLUGIN_KIND), failed);
	out->name = arena_copy(arena, sql_column(row, PLUGIN_NAME), failed);
	return copy_target(row, PLUGIN_END, arena, &out->target, failed) &&
	       !slice_is_null(out->kind) && !slice_is_null(out->name) &&
	       !slice_is_null(out->target.object) && !slice_is_null(out->target.symbol);
}

static void give_plugins(struct distribution_record *owner, void *items, size_t count)
{
	owner->plugins = items;
	owner->plugin_count = count;
}

/* --- what belongs to a distribution --- */

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

/* Where the distributions of a root are, by their numbers. */
struct owners {
	struct distribution_record **by_number;
	size_t count;
};

static struct distribution_record *owner_of(const struct owners *owners, int64_t id)
{
	size_t number = NUMBER_OF(id >> ENTRY_POINT_ID_SHIFT);

	return number < owners->count ? owners->by_number[number] : NULL;
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

static int read_groups(struct sql *sql, struct root_record *root, const struct owners *owners,
                       struct group *group, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, group->kind->statement, error);
	int code, read;

	if (!row)
		return sql_code(sql);
	sqlite3_bind_int64(row, 1, root->id);
	while ((code = sql_step(sql, row, error)) > 0) {
		struct distribution_record *owner = owner_of(owners, sqlite3_column_int64(row, 0));

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

static int read_belongings(struct sql *sql, struct root_record *root, const struct owners *owners,
                           const struct belongings *kind, struct error *error)
{
	struct group group = {.kind = kind};
	int code = read_groups(sql, root, owners, &group, error);

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

/* With what each of @kinds says, until a NULL. In order of position. */
static int read_with(struct sql *sql, struct root_record *root,
                     const struct belongings *const *kinds, struct error *error)
{
	struct owners owners = {0};
	int code = 0;

	root_record_sort(root); /* cheaper than in SQL, which would copy every row once more */
	if (!*kinds)
		return 0;
	owners.by_number = by_number(root, &owners.count);
	if (!owners.by_number)
		return error_nomem(error);
	while (code == 0 && *kinds)
		code = read_belongings(sql, root, &owners, *kinds++, error);
	free(owners.by_number);
	return code;
}

int rows_distributions(struct sql *sql, struct root_record *root, bool belongings,
                       struct error *error)
{
	static const struct belongings *const all[] = {&entry_points, &plugins, NULL};
	static const struct belongings *const none[] = {NULL};
	int code = read_distributions(sql, SQL_DISTRIBUTIONS, read_distribution, root, error);

	return code < 0 ? code : read_with(sql, root, belongings ? all : none, error);
}

int rows_listed(struct sql *sql, struct root_record *root, struct error *error)
{
	static const struct belongings *const kinds[] = {&lines, NULL};
	int code = read_distributions(sql, SQL_LISTED, read_listed, root, error);

	return code < 0 ? code : read_with(sql, root, kinds, error);
}

/* --- start-up code --- */

static bool read_startup(sqlite3_stmt *row, struct arena *arena, struct startup_record *out,
                         bool *failed)
{
	*out = (struct startup_record){
	        .file = arena_copy(arena, sql_column(row, STARTUP_FILE), failed),
	        .code = arena_copy(arena, sql_column(row, STARTUP_CODE), failed),
	        .line = sqlite3_column_int64(row, STARTUP_LINE),
	};
	return startup_kind_find(sql_column(row, STARTUP_KIND), &out->kind) &&
	       !slice_is_null(out->file) && !slice_is_null(out->code);
}

static int read_startups(struct sql *sql, sqlite3_stmt *row, struct root_record *root,
                         struct startup_record **rows, struct error *error)
{
	size_t room = 0;
	int code;

	while ((code = sql_step(sql, row, error)) > 0) {
		bool failed = !array_grow(rows, root->startup_count, sizeof(**rows), &room);
		bool whole = failed || read_startup(row, &root->arena,
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

/*
 * writer_rows.c - the rows that a writer puts and drops; see writer.h. rows.c reads them.
 */
#include <unistd.h>

#include "db/columns.h"
#include "db/rows.h"
#include "db/writer_state.h"

/* The first column of the first row of a statement bound to @key; *number stays where it is NULL.
 */
static int single_number(struct writer *writer, enum sql_id id, int64_t key, int64_t *number,
                         struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, id, error);
	int code;

	if (!statement)
		return sql_code(&writer->sql);
	if (sqlite3_bind_parameter_count(statement) > 0)
		sqlite3_bind_int64(statement, 1, key);
	code = sql_step(&writer->sql, statement, error);
	if (code > 0 && sqlite3_column_type(statement, 0) != SQLITE_NULL)
		*number = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return code < 0 ? code : 0;
}

static int run_for_id(struct writer *writer, enum sql_id what, int64_t id, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, what, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, id);
	writer->changed = true;
	return sql_run(&writer->sql, statement, error);
}

static const char *kind_name(enum root_kind kind)
{
	static const char *const names[] = {
	        [ROOT_ABSENT] = "absent",
	        [ROOT_DIRECTORY] = "directory",
	        [ROOT_ZIP] = "zip",
	        [ROOT_ARCHIVE] = "archive",
	};

	return names[kind];
}

/* Zero stands for a number that is not known. */
static void bind_number(sqlite3_stmt *statement, int parameter, int64_t number)
{
	if (number)
		sqlite3_bind_int64(statement, parameter, number);
	else
		sqlite3_bind_null(statement, parameter);
}

static int give_root_id(struct writer *writer, struct root_record *root, struct error *error)
{
	int64_t last = 0;
	int code = single_number(writer, SQL_LAST_ROOT, 0, &last, error);

	if (code < 0)
		return code;
	if (last >= ROOTS_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "%s: more than %u directories were ever recorded here; remove it "
		                 "and update again",
		                 writer->publication.path, ROOTS_MAX);
	root->id = last + 1;
	return 0;
}

int writer_put_root(struct writer *writer, struct root_record *root, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_ROOT, error);

	if (!statement)
		return sql_code(&writer->sql);
	if (root->id == 0) {
		int code = give_root_id(writer, root, error);

		if (code < 0)
			return code;
	}
	sqlite3_bind_int64(statement, PARAMETER(ROOT_ID), root->id);
	sql_bind(&writer->sql, statement, PARAMETER(ROOT_PATH), root->path);
	sql_bind(&writer->sql, statement, PARAMETER(ROOT_KIND), slice_of(kind_name(root->kind)));
	sqlite3_bind_int64(statement, PARAMETER(ROOT_MTIME), root->stamp.mtime);
	sqlite3_bind_int64(statement, PARAMETER(ROOT_CTIME), root->stamp.ctime);
	sqlite3_bind_int64(statement, PARAMETER(ROOT_INODE), root->stamp.inode);
	bind_number(statement, PARAMETER(ROOT_SIZE), root->size);
	sqlite3_bind_int64(statement, PARAMETER(ROOT_SETTLED), root->settled);
	sqlite3_bind_int64(statement, PARAMETER(ROOT_DISTRIBUTIONS),
	                   (int64_t)root->distribution_count);
	sqlite3_bind_int64(statement, PARAMETER(ROOT_BROKEN), root->broken);
	sqlite3_bind_int64(statement, PARAMETER(ROOT_WATCHED), root->watched);
	sqlite3_bind_int64(statement, PARAMETER(ROOT_KINDS), root->kinds);
	writer->changed = true;
	return sql_run(&writer->sql, statement, error);
}

/* Identifiers are given in turn within a root; the last one is looked up once per root. */
static int give_id(struct writer *writer, const struct root_record *root,
                   struct distribution_record *distribution, struct error *error)
{
	int64_t base = root->id << DISTRIBUTION_ID_SHIFT;

	if (writer->last_owner != root->id) {
		int64_t last = base - 1;
		int code = single_number(writer, SQL_LAST_DISTRIBUTION, root->id, &last, error);

		if (code < 0)
			return code;
		writer->last_distribution = last;
		writer->last_owner = root->id;
	}
	if (writer->last_distribution >= base + DISTRIBUTIONS_MAX - 1)
		return error_set(error, ERROR_LIMIT,
		                 "%.*s: more than %u distributions were ever recorded here; "
		                 "'entrydb forget' it and update again",
		                 (int)root->path.len, root->path.ptr, DISTRIBUTIONS_MAX);
	distribution->id = ++writer->last_distribution;
	return 0;
}

static int put_target(struct writer *writer, int64_t id, const struct target_record *target,
                      struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_TARGET, error);
	struct target_record copy = *target;
	struct slice *texts[TARGET_TEXTS];

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, PARAMETER(TARGET_ENTRY_POINT), id);
	sql_bind(&writer->sql, statement, PARAMETER(TARGET_KIND),
	         slice_of(target_kind_name(target->kind)));
	sql_bind(&writer->sql, statement, PARAMETER(TARGET_STATE),
	         slice_of(target_state_name(target->state)));
	target_texts(&copy, texts);
	for (size_t i = 0; i < TARGET_TEXTS; i++)
		sql_bind(&writer->sql, statement, PARAMETER(rows_target_columns[i]), *texts[i]);
	bind_number(statement, PARAMETER(TARGET_MACHINE), target->machine);
	bind_number(statement, PARAMETER(TARGET_SIZE), target->size);
	return sql_run(&writer->sql, statement, error);
}

static int put_entry_point(struct writer *writer, int64_t id,
                           const struct entry_point_record *entry_point, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_ENTRY_POINT, error);
	int code;

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, PARAMETER(ENTRY_POINT_ID), id);
	sql_bind(&writer->sql, statement, PARAMETER(ENTRY_POINT_GROUP), entry_point->group);
	sql_bind(&writer->sql, statement, PARAMETER(ENTRY_POINT_NAME), entry_point->name);
	sql_bind(&writer->sql, statement, PARAMETER(ENTRY_POINT_VALUE), entry_point->value);
	sql_bind(&writer->sql, statement, PARAMETER(ENTRY_POINT_MODULE), entry_point->module);
	sql_bind(&writer->sql, statement, PARAMETER(ENTRY_POINT_ATTR), entry_point->attr);
	sql_bind(&writer->sql, statement, PARAMETER(ENTRY_POINT_EXTRAS), entry_point->extras);
	code = sql_run(&writer->sql, statement, error);
	if (code == 0 && entry_point->target)
		code = put_target(writer, id, entry_point->target, error);
	return code;
}

static int put_plugin(struct writer *writer, int64_t id, const struct plugin_record *plugin,
                      struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_PLUGIN, error);
	int code;

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, PARAMETER(PLUGIN_ID), id);
	sql_bind(&writer->sql, statement, PARAMETER(PLUGIN_KIND), plugin->kind);
	sql_bind(&writer->sql, statement, PARAMETER(PLUGIN_NAME), plugin->name);
	code = sql_run(&writer->sql, statement, error);
	return code < 0 ? code : put_target(writer, id, &plugin->target, error);
}

static void bind_outline(sqlite3_stmt *statement, int size, int mtime,
                         const struct outline *outline)
{
	if (!outline->exists)
		return;
	sqlite3_bind_int64(statement, size, outline->size);
	sqlite3_bind_int64(statement, mtime, outline->mtime);
}

static int put_distribution_row(struct writer *writer,
                                const struct distribution_record *distribution, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_DISTRIBUTION, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, PARAMETER(DISTRIBUTION_ID), distribution->id);
	sql_bind(&writer->sql, statement, PARAMETER(DISTRIBUTION_DIRECTORY),
	         distribution->directory);
	sqlite3_bind_int64(statement, PARAMETER(DISTRIBUTION_POSITION), distribution->position);
	sql_bind(&writer->sql, statement, PARAMETER(DISTRIBUTION_NORMALIZED_NAME),
	         distribution->normalized_name);
	sql_bind(&writer->sql, statement, PARAMETER(DISTRIBUTION_NAME), distribution->name);
	sql_bind(&writer->sql, statement, PARAMETER(DISTRIBUTION_VERSION), distribution->version);
	sql_bind(&writer->sql, statement, PARAMETER(DISTRIBUTION_ERROR), distribution->error);
	sql_bind(&writer->sql, statement, PARAMETER(DISTRIBUTION_RECORD_SHA256),
	         distribution->record_sha256);
	sqlite3_bind_int(statement, PARAMETER(DISTRIBUTION_HAS_METADATA),
	                 distribution->has_metadata);
	sqlite3_bind_int(statement, PARAMETER(DISTRIBUTION_WATCHED),
	                 distribution_watched(distribution));
	sqlite3_bind_int(statement, PARAMETER(DISTRIBUTION_SETTLED), distribution->settled);
	sqlite3_bind_int64(statement, PARAMETER(DISTRIBUTION_DIRECTORY_STAMP),
	                   distribution->directory_stamp);
	sqlite3_bind_int64(statement, PARAMETER(DISTRIBUTION_FILES_STAMP),
	                   distribution->files_stamp);
	bind_outline(statement, PARAMETER(DISTRIBUTION_ENTRY_POINTS_SIZE),
	             PARAMETER(DISTRIBUTION_ENTRY_POINTS_MTIME), &distribution->entry_points_txt);
	bind_outline(statement, PARAMETER(DISTRIBUTION_METADATA_SIZE),
	             PARAMETER(DISTRIBUTION_METADATA_MTIME), &distribution->metadata);
	return sql_run(&writer->sql, statement, error);
}

static int drop_entry_points(struct writer *writer, int64_t distribution, struct error *error)
{
	int code = run_for_id(writer, SQL_DROP_TARGETS, distribution, error);

	if (code == 0)
		code = run_for_id(writer, SQL_DROP_PLUGINS, distribution, error);
	return code < 0 ? code : run_for_id(writer, SQL_DROP_ENTRY_POINTS, distribution, error);
}

/* Correct the mark "contested" of those that share a name with what is added or dropped. */
static int contest_name(struct writer *writer, struct slice name, struct error *error)
{
	sqlite3_stmt *statement;

	if (slice_is_null(name) || writer->contests++ >= CONTESTS_ONE_BY_ONE)
		return 0;
	statement = sql_get(&writer->sql, SQL_CONTEST_NAME, error);
	if (!statement)
		return sql_code(&writer->sql);
	sql_bind(&writer->sql, statement, 1, name);
	return sql_run(&writer->sql, statement, error);
}

static int uncontest_name_of(struct writer *writer, int64_t id, struct error *error)
{
	if (writer->contests++ >= CONTESTS_ONE_BY_ONE)
		return 0;
	return run_for_id(writer, SQL_CONTEST_NAME_OF, id, error);
}

int writer_put_distribution(struct writer *writer, const struct root_record *root,
                            struct distribution_record *distribution, struct error *error)
{
	int64_t first;
	int code;

	if (distribution->id == 0)
		code = give_id(writer, root, distribution, error);
	else
		code = writer_drop_distribution(writer, distribution->id, error);
	if (code == 0)
		code = put_distribution_row(writer, distribution, error);
	if (code == 0)
		code = contest_name(writer, distribution->normalized_name, error);
	first = distribution->id << ENTRY_POINT_ID_SHIFT;
	for (size_t i = 0; code == 0 && i < distribution->entry_point_count; i++)
		code = put_entry_point(writer, first + (int64_t)i, &distribution->entry_points[i],
		                       error);
	first |= PLUGIN_ID_BIT;
	for (size_t i = 0; code == 0 && i < distribution->plugin_count; i++)
		code = put_plugin(writer, first + (int64_t)i, &distribution->plugins[i], error);
	writer->changed = true;
	return code;
}

int writer_anchor_distribution(struct writer *writer,
                               const struct distribution_record *distribution, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_ANCHOR_DISTRIBUTION, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, distribution->id);
	sqlite3_bind_int64(statement, 2, distribution->position);
	sqlite3_bind_int64(statement, 3, distribution->settled);
	sqlite3_bind_int64(statement, 4, distribution_watched(distribution));
	sqlite3_bind_int64(statement, 5, distribution->directory_stamp);
	sqlite3_bind_int64(statement, 6, distribution->files_stamp);
	bind_outline(statement, 7, 8, &distribution->entry_points_txt);
	bind_outline(statement, 9, 10, &distribution->metadata);
	writer->changed = true;
	return sql_run(&writer->sql, statement, error);
}

static int put_startup(struct writer *writer, int64_t id, const struct startup_record *startup,
                       struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_STARTUP, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, PARAMETER(STARTUP_ID), id);
	sql_bind(&writer->sql, statement, PARAMETER(STARTUP_FILE), startup->file);
	sqlite3_bind_int64(statement, PARAMETER(STARTUP_LINE), startup->line);
	sql_bind(&writer->sql, statement, PARAMETER(STARTUP_KIND),
	         slice_of(startup_kind_name(startup->kind)));
	sql_bind(&writer->sql, statement, PARAMETER(STARTUP_CODE), startup->code);
	return sql_run(&writer->sql, statement, error);
}

int writer_put_startups(struct writer *writer, const struct root_record *root, struct error *error)
{
	int64_t first = root->id << DISTRIBUTION_ID_SHIFT;
	int code = run_for_id(writer, SQL_DROP_ROOT_STARTUPS, root->id, error);

	for (size_t i = 0; code == 0 && i < root->startup_count; i++)
		code = put_startup(writer, first + (int64_t)i, &root->startups[i], error);
	return code;
}

int writer_drop_distribution(struct writer *writer, int64_t id, struct error *error)
{
	int code = drop_entry_points(writer, id, error);

	if (code == 0)
		code = uncontest_name_of(writer, id, error);
	return code < 0 ? code : run_for_id(writer, SQL_DROP_DISTRIBUTION, id, error);
}

int writer_drop_root(struct writer *writer, int64_t id, struct error *error)
{
	static const enum sql_id steps[] = {
	        SQL_DROP_ROOT_TARGETS,       SQL_DROP_ROOT_PLUGINS,  SQL_DROP_ROOT_ENTRY_POINTS,
	        SQL_DROP_ROOT_DISTRIBUTIONS, SQL_DROP_ROOT_STARTUPS, SQL_DROP_ROOT,
	};
	int code = 0;

	writer->contests += CONTESTS_ONE_BY_ONE + 1;
	for (size_t i = 0; code == 0 && i < sizeof(steps) / sizeof(*steps); i++)
		code = run_for_id(writer, steps[i], id, error);
	return code;
}

int writer_log(struct writer *writer, const struct event_record *event, struct error *error)
{
	sqlite3_stmt *statement;

	if (writer->sealed)
		return 0;
	statement = sql_get(&writer->sql, SQL_PUT_EVENT, error);
	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, PARAMETER(EVENT_TIME), writer->publication.began.tv_sec);
	sql_bind(&writer->sql, statement, PARAMETER(EVENT_ACTION), event->action);
	sql_bind(&writer->sql, statement, PARAMETER(EVENT_ROOT), event->root);
	sql_bind(&writer->sql, statement, PARAMETER(EVENT_DISTRIBUTION), event->distribution);
	sql_bind(&writer->sql, statement, PARAMETER(EVENT_OLD_VERSION), event->old_version);
	sql_bind(&writer->sql, statement, PARAMETER(EVENT_VERSION), event->version);
	sql_bind(&writer->sql, statement, PARAMETER(EVENT_DETAIL), event->detail);
	sql_bind(&writer->sql, statement, PARAMETER(EVENT_COMMAND), slice_of(writer->command));
	sqlite3_bind_int64(statement, PARAMETER(EVENT_UID), getuid());
	writer->changed = true;
	return sql_run(&writer->sql, statement, error);
}

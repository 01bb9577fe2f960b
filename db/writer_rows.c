/*
 * writer_rows.c - the rows that a writer puts and drops; reader_rows.c reads them.
 */
#include "db/writer.h"

#include <unistd.h>

#include "db/identity.h"
#include "db/tables.h"
#include "db/writer_state.h"

/* After more changes than this, all names are looked at once, when all is done. */
#define CONTESTS_ONE_BY_ONE 16

static int run_for_id(struct writer *writer, enum sql_id what, int64_t id, struct error *error)
{
	struct sql *sql = &writer->reader.sql;

	writer->changed = true;
	return sql_single(sql, sql_get_of(sql, what, id, error), NULL, error);
}

/* Put a row: its identifier first, unless that is 0, then the columns of @table. */
static int put(struct writer *writer, enum sql_id what, int64_t id, const struct table *table,
               const void *record, struct error *error)
{
	struct sql *sql = &writer->reader.sql;
	sqlite3_stmt *statement = id ? sql_get_of(sql, what, id, error) : sql_get(sql, what, error);

	if (statement)
		row_bind(sql, statement, 1 + (id != 0), table, record);
	writer->changed = true;
	return sql_single(sql, statement, NULL, error);
}

static int give_root_id(struct writer *writer, struct root_record *root, struct error *error)
{
	int64_t last = 0;
	struct sql *sql = &writer->reader.sql;
	int code = sql_single(sql, sql_get(sql, SQL_LAST_ROOT, error), &last, error);

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
	int code = root->id ? 0 : give_root_id(writer, root, error);

	return code < 0 ? code : put(writer, SQL_PUT_ROOT, 0, &root_table, root, error);
}

/* Identifiers are given in turn within a root; the last one is looked up once per root. */
static int give_id(struct writer *writer, const struct root_record *root,
                   struct distribution_record *distribution, struct error *error)
{
	int64_t base = root->id << DISTRIBUTION_ID_SHIFT;

	if (writer->last_owner != root->id) {
		struct sql *sql = &writer->reader.sql;
		int64_t last = base - 1;
		int code = sql_single(sql, sql_get_of(sql, SQL_LAST_DISTRIBUTION, root->id, error),
		                      &last, error);

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

static int put_entry_point(struct writer *writer, int64_t id,
                           const struct entry_point_record *entry_point, struct error *error)
{
	int code = put(writer, SQL_PUT_ENTRY_POINT, id, &entry_point_table, entry_point, error);

	if (code == 0 && entry_point->target)
		code = put(writer, SQL_PUT_TARGET, id, &target_table, entry_point->target, error);
	return code;
}

static int put_plugin(struct writer *writer, int64_t id, const struct plugin_record *plugin,
                      struct error *error)
{
	int code = put(writer, SQL_PUT_PLUGIN, id, &plugin_table, plugin, error);

	return code < 0 ? code
	                : put(writer, SQL_PUT_TARGET, id, &target_table, &plugin->target, error);
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
	struct sql *sql = &writer->reader.sql;
	sqlite3_stmt *statement;

	if (slice_is_null(name) || writer->contests++ >= CONTESTS_ONE_BY_ONE)
		return 0;
	statement = sql_get(sql, SQL_CONTEST_NAME, error);
	sql_bind(sql, statement, 1, name);
	return sql_single(sql, statement, NULL, error);
}

static int uncontest_name_of(struct writer *writer, int64_t id, struct error *error)
{
	if (writer->contests++ >= CONTESTS_ONE_BY_ONE)
		return 0;
	return run_for_id(writer, SQL_CONTEST_NAME_OF, id, error);
}

int writer_mark_contested(struct writer *writer, struct error *error)
{
	struct sql *sql = &writer->reader.sql;

	if (writer->contests <= CONTESTS_ONE_BY_ONE)
		return 0;
	return sql_single(sql, sql_get(sql, SQL_CONTEST, error), NULL, error);
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
		code = put(writer, SQL_PUT_DISTRIBUTION, 0, &distribution_table, distribution,
		           error);
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
	return put(writer, SQL_ANCHOR_DISTRIBUTION, distribution->id, &anchored_table, distribution,
	           error);
}

int writer_put_startups(struct writer *writer, const struct root_record *root, struct error *error)
{
	int64_t first = root->id << DISTRIBUTION_ID_SHIFT;
	int code = run_for_id(writer, SQL_DROP_ROOT_STARTUPS, root->id, error);

	for (size_t i = 0; code == 0 && i < root->startup_count; i++)
		code = put(writer, SQL_PUT_STARTUP, first + (int64_t)i, &startup_table,
		           &root->startups[i], error);
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
	struct event_record row = *event;

	if (writer->sealed)
		return 0;
	row.time = writer->publication.began.tv_sec;
	row.uid = getuid();
	row.command = slice_of(writer->command);
	return put(writer, SQL_PUT_EVENT, 0, &event_table, &row, error);
}

int writer_put_publication(struct writer *writer, const struct publication_record *said,
                           struct error *error)
{
	return put(writer, SQL_PUT_PUBLICATION, 1, &publication_table, said, error);
}

int writer_carry_over(struct writer *writer, struct sql *old, struct error *error)
{
	sqlite3_stmt *from;
	struct event_record event;
	int code = identity_check_schema(old, "CREATE TABLE event ", error);

	if (code < 0)
		return code;
	from = sql_get(old, SQL_EVENTS, error);
	while ((code = sql_step(old, from, error)) > 0) {
		bool whole = row_read(from, 0, &event_table, &event);

		if (sql_check_row(old, error) < 0)
			return ERROR_NOMEM;
		code = whole ? put(writer, SQL_PUT_EVENT, 0, &event_table, &event, error) : 0;
		if (code < 0)
			return code;
	}
	return code;
}

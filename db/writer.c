/*
 * writer.c - see writer.h. The copy is private until the rename: it needs no
 * journal and no synchronous writes; fsync comes once, in publication_finish().
 */
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "publish.h"
#include "sql.h"

#define PRIVATE_COPY                                                                               \
	"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "   \
	"PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; "

#define SET_ASIDE_SUFFIX "damaged"

/* After more changes than this, all names are looked at once, when all is done. */
#define CONTESTS_ONE_BY_ONE 16

struct writer {
	struct sql sql;
	struct publication publication;
	const char *command;
	struct error why_rebuilt;
	int64_t last_root;
	int64_t last_distribution; /* the id given last, and */
	int64_t last_owner;        /* the root that it was given in */
	unsigned contests;         /* changes that may have made a name contested, or uncontested */
	bool changed;
};

static int execute(struct writer *writer, const char *text, struct error *error)
{
	int code = sqlite3_exec(writer->sql.db, text, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : sql_error(&writer->sql, code, error);
}

static int open_copy(struct writer *writer, struct error *error)
{
	int code;

	writer->sql.file = strdup(writer->publication.path);
	if (!writer->sql.file)
		return error_nomem(error);
	code = sqlite3_open_v2(writer->publication.new_path, &writer->sql.db,
	                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return sql_error(&writer->sql, code, error);
	return 0;
}

static int create_schema(struct writer *writer, struct error *error)
{
	int code = open_copy(writer, error);

	if (code == 0)
		code = execute(writer, PRIVATE_COPY "BEGIN IMMEDIATE;", error);
	if (code == 0)
		code = execute(writer, sql_schema, error);
	writer->changed = true;
	return code;
}

/* A damaged page must be found now, not after half of the changes: all of them are read. */
static int check_pages(struct writer *writer, struct error *error)
{
	sqlite3_stmt *statement = NULL;
	int code =
	        sqlite3_prepare_v2(writer->sql.db, "PRAGMA quick_check(1)", -1, &statement, NULL);
	struct slice verdict = {0};

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		verdict = sql_column(statement, 0);
	if (code != SQLITE_ROW || slice_is_null(verdict))
		code = sql_error(&writer->sql, sqlite3_errcode(writer->sql.db), error);
	else if (slice_equal(verdict, SLICE("ok")))
		code = 0;
	else
		code = error_set(error, ERROR_FORMAT, "%s: the database is damaged",
		                 writer->sql.file);
	sqlite3_finalize(statement);
	return code;
}

static int open_published(struct writer *writer, struct error *error)
{
	struct stat status;
	int code = publication_copy(&writer->publication, error);

	if (code == 0 && stat(writer->publication.new_path, &status) == 0 && status.st_size == 0)
		code = error_set(error, ERROR_NOTFOUND, "%s: empty", writer->publication.path);
	if (code == 0)
		code = open_copy(writer, error);
	if (code == 0)
		code = sql_check_header(&writer->sql, error);
	if (code == 0)
		code = check_pages(writer, error);
	if (code == 0)
		code = execute(writer, PRIVATE_COPY "BEGIN IMMEDIATE;", error);
	return code;
}

/* 1: the event was copied, or cannot be; 0: no more that can be read. */
static int copy_event(struct writer *writer, sqlite3_stmt *from, struct error *error)
{
	sqlite3_stmt *to = sql_get(&writer->sql, SQL_PUT_EVENT, error);
	int code;

	if (!to)
		return sql_code(&writer->sql);
	if (sqlite3_step(from) != SQLITE_ROW)
		return 0;
	if (slice_is_null(sql_column(from, 1)) || slice_is_null(sql_column(from, 2)))
		return 1;
	sqlite3_bind_int64(to, 1, sqlite3_column_int64(from, 0));
	for (int i = 1; i < 8; i++)
		sql_bind(to, i + 1, sql_column(from, i));
	sqlite3_bind_int64(to, 9, sqlite3_column_int64(from, 8));
	code = sql_run(&writer->sql, to, error);
	return code < 0 ? code : 1;
}

/*
 * Copy the events out of what was set aside, one by one, up to the first that
 * cannot be read; what cannot is no loss that anybody could mend.
 */
static int carry_over_events(struct writer *writer, const char *aside, struct error *error)
{
	static const char text[] = "SELECT time, action, root, distribution, old_version, version, "
	                           "detail, command, uid FROM event ORDER BY id";
	sqlite3_stmt *from = NULL;
	sqlite3 *old = NULL;
	int code = 0;

	if (sqlite3_open_v2(aside, &old, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ==
	            SQLITE_OK &&
	    sqlite3_prepare_v2(old, text, -1, &from, NULL) == SQLITE_OK)
		while ((code = copy_event(writer, from, error)) > 0)
			;
	sqlite3_finalize(from);
	sqlite3_close(old);
	return code;
}

static int begin_anew(struct writer *writer, struct error *error)
{
	CLEANUP(cleanup_free) char *aside = NULL;
	int code;

	if (asprintf(&aside, "%s." SET_ASIDE_SUFFIX, writer->publication.path) < 0) {
		aside = NULL;
		return error_nomem(error);
	}
	sql_close(&writer->sql);
	code = publication_set_aside(&writer->publication, SET_ASIDE_SUFFIX, error);
	if (code == 0)
		code = publication_restart(&writer->publication, error);
	if (code == 0)
		code = open_copy(writer, error);
	if (code == 0)
		code = execute(writer, PRIVATE_COPY, error);
	if (code == 0)
		code = execute(writer, sql_schema, error);
	if (code == 0)
		code = execute(writer, "BEGIN IMMEDIATE;", error);
	if (code == 0)
		code = carry_over_events(writer, aside, error);
	if (code == 0)
		code = writer_log(writer,
		                  &(struct event_record){
		                          .action = SLICE("repair"),
		                          .root = SLICE(""),
		                          .detail = slice_of(error_text(&writer->why_rebuilt)),
		                  },
		                  error);
	return code;
}

/* Is what stands there, unreadable as it is, at least a file that SQLite has written? */
static bool looks_like_sqlite(const char *file)
{
	char magic[16] = {0};
	CLEANUP(cleanup_fclose) FILE *stream = fopen(file, "re");

	return stream && fread(magic, 1, sizeof(magic), stream) == sizeof(magic) &&
	       memcmp(magic, "SQLite format 3", sizeof(magic)) == 0;
}

static int open_or_rebuild(struct writer *writer, bool may_replace, struct error *error)
{
	const char *file = writer->publication.path;
	int code = open_published(writer, &writer->why_rebuilt);

	if (code == 0)
		return 0;
	if (code == ERROR_NOTFOUND) {
		error_clear(&writer->why_rebuilt);
		sql_close(&writer->sql);
		code = publication_restart(&writer->publication, error);
		return code < 0 ? code : create_schema(writer, error);
	}
	if (code == ERROR_FORMAT && (may_replace || looks_like_sqlite(file)))
		return begin_anew(writer, error);
	return error_set(error, code, "%s; name another file with --db",
	                 error_text(&writer->why_rebuilt));
}

static void cleanup_writer(struct writer **writer)
{
	writer_close(*writer);
}

int writer_open(const struct writer_options *options, struct writer **out, struct error *error)
{
	CLEANUP(cleanup_writer) struct writer *writer = calloc(1, sizeof(*writer));
	struct publication_wait wait = {
	        .timeout = options->lock_timeout,
	        .work = options->work,
	        .stopped = options->stopped,
	};
	int code;

	if (!writer)
		return error_nomem(error);
	writer->command = options->command;
	code = publication_begin_once(&writer->publication, options->file, &wait, error);
	if (code == 0)
		code = open_or_rebuild(writer, options->may_replace, error);
	if (code == 0)
		*out = take(writer);
	return code;
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;
	sql_close(&writer->sql);
	publication_end(&writer->publication);
	error_clear(&writer->why_rebuilt);
	free(writer);
}

static int mark_contested(struct writer *writer, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_CONTEST, error);

	return statement ? sql_run(&writer->sql, statement, error) : sql_code(&writer->sql);
}

int writer_commit(struct writer *writer, mode_t mode, struct error *error)
{
	int code = 0;

	if (!writer->changed)
		return 0;
	if (writer->contests > CONTESTS_ONE_BY_ONE)
		code = mark_contested(writer, error);
	if (code == 0)
		code = execute(writer, "COMMIT", error);
	if (code < 0)
		return code;
	sql_close(&writer->sql);
	return publication_finish(&writer->publication, mode, error);
}

const char *writer_was_rebuilt(const struct writer *writer)
{
	return writer->why_rebuilt.code ? error_text(&writer->why_rebuilt) : NULL;
}

struct timespec writer_time(struct writer *writer, bool again)
{
	if (again)
		publication_touch(&writer->publication);
	return writer->publication.began;
}

int writer_find_root(struct writer *writer, struct slice path, struct root_record *out,
                     struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_ROOT_BY_PATH, error);
	int code;

	if (!statement)
		return sql_code(&writer->sql);
	sql_bind(statement, 1, path);
	code = sql_step(&writer->sql, statement, error);
	if (code <= 0) {
		sqlite3_reset(statement);
		return code;
	}
	*out = (struct root_record){.path = path};
	sql_read_root(statement, out);
	sqlite3_reset(statement);
	code = sql_read_distributions(&writer->sql, out, false, error);
	return code < 0 ? code : 1;
}

int writer_roots(struct writer *writer, root_each *each, void *payload, struct error *error)
{
	return sql_read_roots(&writer->sql, each, payload, error);
}

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

int writer_put_root(struct writer *writer, struct root_record *root, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_ROOT, error);

	if (!statement)
		return sql_code(&writer->sql);
	if (root->id == 0) {
		int64_t last = 0;
		int code = single_number(writer, SQL_LAST_ROOT, 0, &last, error);

		if (code < 0)
			return code;
		root->id = last + 1;
	}
	sqlite3_bind_int64(statement, 1, root->id);
	sql_bind(statement, 2, root->path);
	sql_bind(statement, 3, slice_of(kind_name(root->kind)));
	sqlite3_bind_int64(statement, 4, root->stamp.mtime);
	sqlite3_bind_int64(statement, 5, root->stamp.ctime);
	sqlite3_bind_int64(statement, 6, root->stamp.dev);
	sqlite3_bind_int64(statement, 7, root->settled);
	sqlite3_bind_int64(statement, 8, (int64_t)root->distribution_count);
	sqlite3_bind_int64(statement, 9, root->broken);
	sqlite3_bind_int64(statement, 10, root->watched);
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

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, id);
	sql_bind(statement, 2, target->kind);
	sql_bind(statement, 3, target->state);
	sql_bind(statement, 4, target->object);
	sql_bind(statement, 5, target->symbol);
	if (target->machine)
		sqlite3_bind_int(statement, 6, target->machine);
	else
		sqlite3_bind_null(statement, 6);
	sql_bind(statement, 7, target->build_id);
	sql_bind(statement, 8, target->sha256);
	return sql_run(&writer->sql, statement, error);
}

static int put_entry_point(struct writer *writer, int64_t id,
                           const struct entry_point_record *entry_point, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_ENTRY_POINT, error);
	int code;

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, id);
	sql_bind(statement, 2, entry_point->group);
	sql_bind(statement, 3, entry_point->name);
	sql_bind(statement, 4, entry_point->value);
	sql_bind(statement, 5, entry_point->module);
	sql_bind(statement, 6, entry_point->attr);
	sql_bind(statement, 7, entry_point->extras);
	code = sql_run(&writer->sql, statement, error);
	if (code == 0 && entry_point->target)
		code = put_target(writer, id, entry_point->target, error);
	return code;
}

static int put_distribution_row(struct writer *writer,
                                const struct distribution_record *distribution, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_DISTRIBUTION, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, distribution->id);
	sql_bind(statement, 2, distribution->directory);
	sqlite3_bind_int64(statement, 3, distribution->position);
	sql_bind(statement, 4, distribution->normalized_name);
	sql_bind(statement, 5, distribution->name);
	sql_bind(statement, 6, distribution->version);
	sql_bind(statement, 7, distribution->error);
	sql_bind(statement, 8, distribution->record_sha256);
	sqlite3_bind_int(statement, 9, distribution->has_metadata);
	sqlite3_bind_int(statement, 10, distribution->watched);
	sqlite3_bind_int(statement, 11, distribution->settled);
	sqlite3_bind_int64(statement, 12, distribution->directory_stamp);
	sqlite3_bind_int64(statement, 13, distribution->files_stamp);
	return sql_run(&writer->sql, statement, error);
}

static int drop_by_id(struct writer *writer, enum sql_id what, int64_t id, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, what, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, id);
	writer->changed = true;
	return sql_run(&writer->sql, statement, error);
}

static int drop_entry_points(struct writer *writer, int64_t distribution, struct error *error)
{
	int code = drop_by_id(writer, SQL_DROP_TARGETS, distribution, error);

	return code < 0 ? code : drop_by_id(writer, SQL_DROP_ENTRY_POINTS, distribution, error);
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
	sql_bind(statement, 1, name);
	return sql_run(&writer->sql, statement, error);
}

static int uncontest_name_of(struct writer *writer, int64_t id, struct error *error)
{
	if (writer->contests++ >= CONTESTS_ONE_BY_ONE)
		return 0;
	return drop_by_id(writer, SQL_CONTEST_NAME_OF, id, error);
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
	writer->changed = true;
	return code;
}

int writer_move_distribution(struct writer *writer, const struct distribution_record *distribution,
                             struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_MOVE_DISTRIBUTION, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, distribution->id);
	sqlite3_bind_int64(statement, 2, distribution->position);
	sqlite3_bind_int64(statement, 3, distribution->settled);
	writer->changed = true;
	return sql_run(&writer->sql, statement, error);
}

int writer_drop_distribution(struct writer *writer, int64_t id, struct error *error)
{
	int code = drop_entry_points(writer, id, error);

	if (code == 0)
		code = uncontest_name_of(writer, id, error);
	return code < 0 ? code : drop_by_id(writer, SQL_DROP_DISTRIBUTION, id, error);
}

int writer_drop_root(struct writer *writer, int64_t id, struct error *error)
{
	static const enum sql_id steps[] = {
	        SQL_DROP_ROOT_TARGETS,
	        SQL_DROP_ROOT_ENTRY_POINTS,
	        SQL_DROP_ROOT_DISTRIBUTIONS,
	        SQL_DROP_ROOT,
	};
	int code = 0;

	writer->contests += CONTESTS_ONE_BY_ONE + 1;
	for (size_t i = 0; code == 0 && i < sizeof(steps) / sizeof(*steps); i++)
		code = drop_by_id(writer, steps[i], id, error);
	return code;
}

int writer_log(struct writer *writer, const struct event_record *event, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_EVENT, error);

	if (!statement)
		return sql_code(&writer->sql);
	sqlite3_bind_int64(statement, 1, writer->publication.began.tv_sec);
	sql_bind(statement, 2, event->action);
	sql_bind(statement, 3, event->root);
	sql_bind(statement, 4, event->distribution);
	sql_bind(statement, 5, event->old_version);
	sql_bind(statement, 6, event->version);
	sql_bind(statement, 7, event->detail);
	sql_bind(statement, 8, slice_of(writer->command));
	sqlite3_bind_int64(statement, 9, getuid());
	writer->changed = true;
	return sql_run(&writer->sql, statement, error);
}

/*
 * writer.c - writes rows into a private copy and publishes it. The copy needs no journal and no
 * synchronous writes; it is synced once, in publication_finish().
 */
#include "db/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/text.h"
#include "db/identity.h"
#include "db/tables.h"

#define SET_ASIDE_SUFFIX "damaged"
#define TICK_PART        1000000 /* nanoseconds: a fraction of a tick of the kernel's clock */
#define TICK_PARTS       20      /* more than the longest tick has */

/* After more changes than this, all names are checked once, at the commit. */
#define CONTESTS_ONE_BY_ONE 16

struct writer {
	struct reader reader; /* of the copy */
	struct publication publication;
	struct writer_options options;
	struct error why_rebuilt;
	uint32_t version;  /* in the header of the published file; 0: none */
	int64_t last_id;   /* the last id assigned to a distribution */
	unsigned contests; /* changes that may affect "contested" */
	bool changed;
};

static int open_sql(struct writer *writer, struct sql *sql, int fd, enum file_use use,
                    struct error *error)
{
	struct stat status;
	int code;

	sql_close(sql);
	if (fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", writer->publication.path);
	code = sql_open(sql, fd, use, writer->publication.path, error);
	if (code == 0) {
		sql_stop(sql, writer->options.wait.stopped);
		sql_limit(sql, status.st_size); /* its content is not trusted yet */
	}
	return code;
}

static int open_copy(struct writer *writer, struct error *error)
{
	return open_sql(writer, &writer->reader.sql, writer->publication.new_fd, FILE_WRITE, error);
}

static int begin(struct writer *writer, struct error *error)
{
	sql_unlimit(&writer->reader.sql);
	return sql_execute(&writer->reader.sql, "BEGIN IMMEDIATE", error);
}

/* Turn the emptied copy into an empty database. */
static int create_schema(struct writer *writer, struct error *error)
{
	int code = publication_restart(&writer->publication, error);

	if (code == 0)
		code = open_copy(writer, error);
	if (code == 0) {
		sql_unlimit(&writer->reader.sql);
		code = sql_execute(&writer->reader.sql, sql_schema, error);
	}
	if (code == 0)
		code = begin(writer, error);
	writer->changed = true;
	return code;
}

/* --- rows --- */

/* Run @text, whose ?1 is @id. */
static int run_for_id(struct writer *writer, const char *text, int64_t id, struct error *error)
{
	struct sql *sql = &writer->reader.sql;

	writer->changed = true;
	return sql_single(sql, sql_get_of(sql, text, id), NULL, error);
}

/* Write a row; @id 0: a new id. */
static int put(struct writer *writer, const char *text, int64_t id, const struct table *table,
               const void *record, struct error *error)
{
	struct sql *sql = &writer->reader.sql;
	sqlite3_stmt *statement = sql_get(sql, text);

	if (statement && id)
		sqlite3_bind_int64(statement, 1, id);
	if (statement)
		row_bind(sql, statement, table, record);
	writer->changed = true;
	return sql_single(sql, statement, NULL, error);
}

int writer_put_root(struct writer *writer, struct root_record *root, struct error *error)
{
	static const char text[] = PUT("INSERT OR REPLACE", "root", "id", ROOT_COLUMNS);
	struct sql *sql = &writer->reader.sql;
	int64_t last = 0;
	int code =
	        root->id ? 0
	                 : sql_single(sql, sql_get(sql, "SELECT max(id) FROM root"), &last, error);

	if (code < 0)
		return code;
	if (last >= ROOTS_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "%s: more than %u directories were ever recorded here; remove it "
		                 "and update again",
		                 writer->publication.path, ROOTS_MAX);
	if (!root->id)
		root->id = last + 1;
	return put(writer, text, root->id, &root_table, root, error);
}

/* Identifiers are assigned consecutively within a root; the last one is queried once per root. */
static int give_id(struct writer *writer, const struct root_record *root,
                   struct distribution_record *distribution, struct error *error)
{
	static const char text[] =
	        "SELECT max(id) FROM distribution WHERE id " DISTRIBUTIONS_OF_ROOT;
	struct sql *sql = &writer->reader.sql;
	int64_t base = root->id << DISTRIBUTION_ID_SHIFT, last = writer->last_id;
	int code = 0;

	if (ROOT_OF_DISTRIBUTION(last) != root->id) {
		last = base - 1;
		code = sql_single(sql, sql_get_of(sql, text, root->id), &last, error);
	}
	if (code < 0)
		return code;
	if (last >= base + DISTRIBUTIONS_MAX - 1)
		return error_set(error, ERROR_LIMIT,
		                 "%.*s: more than %u distributions were ever recorded here; "
		                 "'entrydb forget' it and update again",
		                 (int)root->path.len, root->path.ptr, DISTRIBUTIONS_MAX);
	distribution->id = writer->last_id = last + 1;
	return 0;
}

/* Write entry points or plugins with their targets; @first: the id of the first. */
static int put_entry_points(struct writer *writer, const char *text, const struct table *table,
                            int64_t first, const struct entry_point_record *rows, size_t count,
                            struct error *error)
{
	static const char put_target[] = PUT("INSERT", "target", "entry_point", TARGET_COLUMNS);
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++) {
		int64_t id = first + (int64_t)i;

		code = put(writer, text, id, table, &rows[i], error);
		if (code == 0 && rows[i].target)
			code = put(writer, put_target, id, &target_table, rows[i].target, error);
	}
	return code;
}

/*
 * Update "contested" of the distributions that share a name with @id, which was added (@others: 1)
 * or is about to be dropped (2): it is true if more than @others have the name.
 */
static int contest_name(struct writer *writer, int64_t id, int64_t others, struct error *error)
{
	static const char text[] =
	        "UPDATE distribution SET contested = NOT contested WHERE normalized_name = (SELECT "
	        "normalized_name FROM distribution WHERE id = ?1) AND contested <> (?2 < (SELECT "
	        "count(*) FROM distribution WHERE normalized_name = (SELECT normalized_name FROM "
	        "distribution WHERE id = ?1)))";
	struct sql *sql = &writer->reader.sql;
	sqlite3_stmt *statement;

	if (writer->contests++ >= CONTESTS_ONE_BY_ONE)
		return 0;
	statement = sql_get_of(sql, text, id);
	if (statement)
		sqlite3_bind_int64(statement, 2, others);
	return sql_single(sql, statement, NULL, error);
}

/* For all names, if it was not done with each change. */
static int contest_names(struct writer *writer, struct error *error)
{
	return writer->contests <= CONTESTS_ONE_BY_ONE
	               ? 0
	               : sql_execute(
	                         &writer->reader.sql,
	                         "UPDATE distribution SET contested = NOT contested "
	                         "WHERE normalized_name IS NOT NULL AND contested <> "
	                         "(normalized_name IN (SELECT normalized_name FROM distribution "
	                         "WHERE normalized_name IS NOT NULL "
	                         "GROUP BY normalized_name HAVING count(*) > 1))",
	                         error);
}

int writer_put_distribution(struct writer *writer, const struct root_record *root,
                            struct distribution_record *distribution, struct error *error)
{
	static const char text[] =
	        PUT("INSERT OR REPLACE", "distribution", "id", DISTRIBUTION_COLUMNS);
	static const char put_entry_point[] =
	        PUT("INSERT", "entry_point", "id", ENTRY_POINT_COLUMNS);
	static const char put_plugin[] = PUT("INSERT", "plugin", "id", PLUGIN_COLUMNS);
	int64_t first;
	int code = distribution->id ? writer_drop_distribution(writer, distribution->id, error)
	                            : give_id(writer, root, distribution, error);

	if (code == 0)
		code = put(writer, text, distribution->id, &distribution_table, distribution,
		           error);
	if (code == 0)
		code = contest_name(writer, distribution->id, 1, error);
	first = distribution->id << ENTRY_POINT_ID_SHIFT;
	if (code == 0)
		code = put_entry_points(writer, put_entry_point, &entry_point_table, first,
		                        distribution->entry_points, distribution->entry_point_count,
		                        error);
	if (code == 0)
		code = put_entry_points(writer, put_plugin, &plugin_table, first | PLUGIN_ID_BIT,
		                        distribution->plugins, distribution->plugin_count, error);
	return code;
}

int writer_anchor_distribution(struct writer *writer,
                               const struct distribution_record *distribution, struct error *error)
{
	static const char text[] =
	        "UPDATE distribution SET position = ?2, settled = ?3, watched = ?4, "
	        "directory_stamp = ?5, files_stamp = ?6, entry_points_size = ?7, "
	        "entry_points_mtime = ?8, metadata_size = ?9, metadata_mtime = ?10, source = ?11 "
	        "WHERE id = ?1";

	return put(writer, text, distribution->id, &anchored_table, distribution, error);
}

#define DROP_STARTUPS "DELETE FROM startup WHERE id " DISTRIBUTIONS_OF_ROOT

int writer_put_startups(struct writer *writer, const struct root_record *root, struct error *error)
{
	static const char text[] = PUT("INSERT", "startup", "id", STARTUP_COLUMNS);
	int64_t first = root->id << DISTRIBUTION_ID_SHIFT;
	int code = run_for_id(writer, DROP_STARTUPS, root->id, error);

	for (size_t i = 0; code == 0 && i < root->startup_count; i++)
		code = put(writer, text, first + (int64_t)i, &startup_table, &root->startups[i],
		           error);
	return code;
}

/* Run each of @texts, a NULL-terminated list. */
static int run_all_for_id(struct writer *writer, const char *const *texts, int64_t id,
                          struct error *error)
{
	int code = 0;

	while (code == 0 && *texts)
		code = run_for_id(writer, *texts++, id, error);
	return code;
}

int writer_drop_distribution(struct writer *writer, int64_t id, struct error *error)
{
	static const char *const texts[] = {
	        "DELETE FROM target WHERE entry_point " ENTRY_POINTS_OF_DISTRIBUTION,
	        "DELETE FROM plugin WHERE id " ENTRY_POINTS_OF_DISTRIBUTION,
	        "DELETE FROM entry_point WHERE id " ENTRY_POINTS_OF_DISTRIBUTION,
	        "DELETE FROM distribution WHERE id = ?1",
	        NULL,
	};
	int code = contest_name(writer, id, 2, error);

	return code < 0 ? code : run_all_for_id(writer, texts, id, error);
}

int writer_drop_root(struct writer *writer, int64_t id, struct error *error)
{
	static const char *const texts[] = {
	        "DELETE FROM target WHERE entry_point " ENTRY_POINTS_OF_ROOT,
	        "DELETE FROM plugin WHERE id " ENTRY_POINTS_OF_ROOT,
	        "DELETE FROM entry_point WHERE id " ENTRY_POINTS_OF_ROOT,
	        "DELETE FROM distribution WHERE id " DISTRIBUTIONS_OF_ROOT,
	        DROP_STARTUPS,
	        "DELETE FROM root WHERE id = ?1",
	        NULL,
	};

	writer->contests += CONTESTS_ONE_BY_ONE + 1;
	return run_all_for_id(writer, texts, id, error);
}

static const char put_event[] = PUT("INSERT", "event", "id", EVENT_COLUMNS);

int writer_log(struct writer *writer, const struct event_record *event, struct error *error)
{
	struct event_record row = *event;

	if (writer->options.sealed)
		return 0;
	row.time = writer->publication.began.tv_sec;
	row.uid = getuid();
	row.command = slice_of(writer->options.command);
	return put(writer, put_event, 0, &event_table, &row, error);
}

/* --- opening the published file --- */

/* Copy the published file and check everything before trusting it. */
static int open_published(struct writer *writer, struct error *error)
{
	struct publication *publication = &writer->publication;
	struct sql *sql = &writer->reader.sql;
	int code = publication_copy(publication, error);

	if (code < 0)
		return code;
	writer->reader.opened = publication->published;
	if (publication->published.st_size == 0) /* as if it were missing */
		return error_set(error, ERROR_NOTFOUND, "%s: empty", publication->path);
	code = identity_leave_wal(publication->new_fd, publication->path, error);
	if (code < 0)
		return code;
	writer->changed |= code > 0;
	code = identity_check_header(publication->new_fd, publication->path, &writer->version,
	                             error);
	if (code == 0)
		code = open_copy(writer, error);
	if (code == 0)
		code = identity_check_schema(sql, "", error);
	if (code == 0)
		code = identity_check_pages(sql, error);
	if (code == 0)
		code = identity_check_rows(sql, error);
	return code < 0 ? code : begin(writer, error);
}

/* --- rebuilding --- */

/*
 * Leave the database of a newer entrydb alone, as opposed to one of this version with a damaged
 * header: it has a higher version, is sound, and has another schema.
 */
static int leave_newer(struct writer *writer, struct error *error)
{
	struct sql *sql = &writer->reader.sql;
	struct error own = {0};
	bool is_sound;
	int code;

	if (writer->version <= SQL_USER_VERSION)
		return 0;
	code = open_copy(writer, &own);
	if (code == 0)
		code = identity_check_pages(sql, &own);
	is_sound = code == 0;
	if (is_sound)
		code = identity_check_schema(sql, "", &own);
	if (code != ERROR_FORMAT)
		return error_move(error, &own);
	error_clear(&own);
	if (!is_sound)
		return 0;
	return error_set(
	        error, ERROR_FORMAT,
	        "%s: made by a newer entrydb (version %u of the database, this program "
	        "writes version %u) and not changed; use the newer entrydb, or another file "
	        "with --db",
	        writer->publication.path, writer->version, SQL_USER_VERSION);
}

/*
 * Keep the history: copy the events of the file that was set aside, up to the first unreadable one.
 */
static int carry_over(struct writer *writer, struct error *error)
{
	CLEANUP(sql_close) struct sql old = {0};
	struct error why = {0};
	struct event_record event;
	sqlite3_stmt *from;
	int code, fd = writer->publication.published_fd;

	if (fd < 0)
		return 0;
	code = open_sql(writer, &old, fd, FILE_READ, &why);
	if (code == 0)
		code = identity_check_schema(&old, "CREATE TABLE event ", &why);
	from = code == 0 ? sql_get(&old, SELECT_EVENTS) : NULL;
	while (code == 0 && (code = row_next(&old, from, &event_table, &event, &why)) > 0)
		code = put(writer, put_event, 0, &event_table, &event, &why);
	if (code != ERROR_FORMAT)
		return error_move(error, &why);
	error_clear(&why);
	return 0;
}

/* Why it was rebuilt, with the name of the file instead of its path, which may be private.
 * malloc'd. */
static char *detail_of(const struct writer *writer)
{
	const struct publication *publication = &writer->publication;
	const char *why = error_text(&writer->why_rebuilt), *at = strstr(why, publication->path);

	return at ? text_format("%.*s%s%s", (int)(at - why), why, publication->name,
	                        at + strlen(publication->path))
	          : strdup(why);
}

static int begin_anew(struct writer *writer, struct error *error)
{
	CLEANUP(cleanup_free) char *detail = detail_of(writer);
	const struct event_record repair = {
	        .action = SLICE("repair"), .root = SLICE(""), .detail = slice_of(detail)};
	int code = detail ? publication_set_aside(&writer->publication, SET_ASIDE_SUFFIX, error)
	                  : error_nomem(error);

	if (code == 0)
		code = create_schema(writer, error);
	if (code == 0)
		code = carry_over(writer, error);
	return code < 0 ? code : writer_log(writer, &repair, error);
}

/* Was the unreadable file at least written by SQLite? */
static bool looks_like_sqlite(const struct publication *publication)
{
	char magic[16] = {0};

	return publication->published_fd >= 0 &&
	       pread(publication->published_fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, "SQLite format 3", sizeof(magic)) == 0;
}

static int open_or_rebuild(struct writer *writer, bool may_replace, struct error *error)
{
	int code = open_published(writer, &writer->why_rebuilt);

	if (code == 0)
		return 0;
	if (code == ERROR_NOTFOUND) {
		error_clear(&writer->why_rebuilt);
		return create_schema(writer, error);
	}
	if (code == ERROR_FORMAT) {
		int left = leave_newer(writer, error);

		if (left < 0)
			return left;
	}
	if (code == ERROR_FORMAT && (may_replace || looks_like_sqlite(&writer->publication)))
		return begin_anew(writer, error);
	if (code != ERROR_FORMAT && code != ERROR_INVALID)
		return error_move(error, &writer->why_rebuilt);
	return error_set(error, code, "%s; name another file with --db",
	                 error_text(&writer->why_rebuilt));
}

int writer_open(const struct writer_options *options, struct writer **out, struct error *error)
{
	CLEANUP(cleanup_writer) struct writer *writer = calloc(1, sizeof(*writer));
	int code;

	if (!writer)
		return error_nomem(error);
	writer->options = *options;
	code = publication_begin(&writer->publication, options->file, &options->wait, error);
	if (code == 0)
		code = open_or_rebuild(writer, options->may_replace, error);
	if (code == 0 && options->sealed)
		code = create_schema(writer, error);
	if (code == 0)
		*out = take(writer);
	return code;
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;
	sql_close(&writer->reader.sql);
	publication_end(&writer->publication);
	error_clear(&writer->why_rebuilt);
	free(writer);
}

/* --- the commit --- */

/* The file keeps its inode; its change time will be that of the rename, moments from now. */
static int describe_publication(struct writer *writer, struct error *error)
{
	static const char text[] =
	        PUT("INSERT OR REPLACE", "publication", "id", PUBLICATION_COLUMNS);
	struct publication_record row = {.sealed = writer->options.sealed};
	struct stat status;

	if (!writer->options.sealed) {
		if (fstat(writer->publication.new_fd, &status) != 0)
			return error_errno(error, errno, "%s.new", writer->publication.path);
		publication_touch(&writer->publication);
		row.inode = (int64_t)status.st_ino;
		row.time = nanoseconds_of(writer->publication.began);
	}
	return put(writer, text, 1, &publication_table, &row, error);
}

int writer_commit(struct writer *writer, mode_t mode, struct error *error)
{
	int code;

	if (!writer->changed && !reader_must_narrow(&writer->reader, mode))
		return 0;
	code = contest_names(writer, error);
	if (code == 0)
		code = describe_publication(writer, error);
	if (code == 0)
		code = sql_execute(&writer->reader.sql, "COMMIT", error);
	if (code < 0)
		return code;
	sql_close(&writer->reader.sql);
	return publication_finish(&writer->publication, mode, error);
}

bool writer_is_marked(const struct writer *writer)
{
	return writer->publication.is_marked;
}

int writer_unmark(struct writer *writer, struct error *error)
{
	if (!writer->changed)
		return publication_unmark(&writer->publication, error);
	writer->publication.is_marked = false;
	return 0;
}

const char *writer_was_rebuilt(const struct writer *writer)
{
	return writer->why_rebuilt.code ? error_text(&writer->why_rebuilt) : NULL;
}

/* --- times --- */

struct timespec writer_time_on(struct writer *writer, dev_t dev, bool again)
{
	struct stat lock;

	if (fstat(writer->publication.lock_fd, &lock) != 0 || lock.st_dev != dev)
		return (struct timespec){0};
	if (!writer->publication.dates_changes)
		return (struct timespec){1, 0};
	if (again)
		publication_touch(&writer->publication);
	return writer->publication.began;
}

struct timespec writer_time_past(struct writer *writer, dev_t dev, int64_t time)
{
	struct timespec now = writer_time_on(writer, dev, false);
	int parts =
	        now.tv_sec && time - nanoseconds_of(now) < TICK_PARTS * TICK_PART ? TICK_PARTS : 0;

	for (; parts > 0 && nanoseconds_of(now) <= time; parts--) {
		nanosleep(&(struct timespec){.tv_nsec = TICK_PART}, NULL);
		now = writer_time_on(writer, dev, true);
	}
	return now;
}

/* --- reading the copy --- */

struct reader *writer_reader(struct writer *writer)
{
	return &writer->reader;
}

int writer_find_root(struct writer *writer, struct slice path, struct root_record *out,
                     struct error *error)
{
	int code = reader_root(&writer->reader, path, out, error);

	if (code <= 0)
		return code;
	code = reader_distributions(&writer->reader, out, false, error);
	if (code == 0)
		code = reader_startups(&writer->reader, out, error);
	return code < 0 ? code : 1;
}

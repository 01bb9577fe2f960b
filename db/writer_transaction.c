/*
 * writer_transaction.c - a writer from the lock to the publication; see writer.h. The copy
 * is private until the rename: it needs no journal and no synchronous writes; fsync comes
 * once, in publication_finish().
 */
#include "db/writer_state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/carry_over.h"
#include "db/identity.h"
#include "db/integrity.h"
#include "db/rows.h"
#include "db/tables.h"

#define SET_ASIDE_SUFFIX "damaged"
#define TICK_PART        1000000 /* nanoseconds: a part of a tick of the kernel's clock, */
#define TICK_PARTS       20      /* and more of them than the longest tick has */

static int open_copy(struct writer *writer, struct error *error)
{
	sql_close(&writer->sql);
	return sql_open(&writer->sql, writer->publication.new_fd, FILE_WRITE,
	                writer->publication.path, error);
}

static int begin(struct writer *writer, struct error *error)
{
	sql_unlimit(&writer->sql);
	sql_stop(&writer->sql, writer->stopped);
	return sql_execute(&writer->sql, "BEGIN IMMEDIATE", error);
}

/* An empty copy becomes an empty database. */
static int create_schema(struct writer *writer, struct error *error)
{
	int code = publication_restart(&writer->publication, error);

	if (code == 0)
		code = open_copy(writer, error);
	if (code == 0)
		code = sql_execute(&writer->sql, sql_schema, error);
	if (code == 0)
		code = begin(writer, error);
	writer->changed = true;
	return code;
}

/* --- what is published --- */

/* The size of the copy. An empty file is no more a database than a missing one. */
static int copy_published(struct writer *writer, int64_t *size, struct error *error)
{
	struct stat status;
	int code = publication_copy(&writer->publication, error);

	if (code < 0)
		return code;
	if (fstat(writer->publication.new_fd, &status) != 0)
		return error_errno(error, errno, "%s.new", writer->publication.path);
	*size = status.st_size;
	return *size ? 0 : error_set(error, ERROR_NOTFOUND, "%s: empty", writer->publication.path);
}

/* Judge the header of the copy, in which what may be mended is. */
static int check_header(struct writer *writer, struct error *error)
{
	const struct publication *publication = &writer->publication;
	int mended = identity_leave_wal(publication->new_fd, publication->path, error);

	if (mended < 0)
		return mended;
	writer->changed |= mended > 0;
	return identity_check_header(publication->new_fd, publication->path, error);
}

/* Copy what is published, and believe nothing of it before it has been looked at. */
static int open_published(struct writer *writer, struct error *error)
{
	int64_t size;
	int code = copy_published(writer, &size, error);

	if (code == 0)
		code = check_header(writer, error);
	if (code == 0)
		code = open_copy(writer, error);
	if (code < 0)
		return code;
	sql_stop(&writer->sql, writer->stopped);
	sql_limit(&writer->sql, size);
	code = identity_check_schema(&writer->sql, error);
	if (code == 0)
		code = integrity_check(&writer->sql, error);
	return code < 0 ? code : begin(writer, error);
}

/* --- what takes its place --- */

/*
 * Is it the database of a newer entrydb, and not ours with a damaged header? It says so, it
 * is sound, and its schema is another one. 1, 0, or a negative code if that is not known.
 */
static int is_newer(struct writer *writer, uint32_t *version, struct error *error)
{
	const struct publication *publication = &writer->publication;
	int code = identity_newer(publication->new_fd, publication->path, version, error);
	struct stat status;

	if (code <= 0)
		return code;
	if (fstat(publication->new_fd, &status) != 0)
		return error_errno(error, errno, "%s.new", publication->path);
	code = open_copy(writer, error);
	if (code == 0) {
		sql_stop(&writer->sql, writer->stopped);
		sql_limit(&writer->sql, status.st_size);
		code = integrity_check_pages(&writer->sql, error);
	}
	if (code < 0)
		return code == ERROR_FORMAT ? 0 : code;
	code = identity_check_schema(&writer->sql, error);
	return code == ERROR_FORMAT ? 1 : code;
}

/* What this program would lose, it leaves to the one that made it. */
static int leave_newer(struct writer *writer, struct error *error)
{
	struct error own = {0};
	uint32_t version = 0;
	int code = is_newer(writer, &version, &own);

	if (code < 0)
		return error_move(error, &own);
	error_clear(&own);
	if (code == 0)
		return 0;
	return error_set(error, ERROR_FORMAT,
	                 "%s: made by a newer entrydb (version %u of the database, this program "
	                 "writes version %u) and left alone; use that one, or name another file "
	                 "with --db",
	                 writer->publication.path, version, SQL_USER_VERSION);
}

static int begin_anew(struct writer *writer, struct error *error)
{
	struct event_record repair = {
	        .action = SLICE("repair"),
	        .root = SLICE(""),
	        .detail = slice_of(error_text(&writer->why_rebuilt)),
	};
	int code = publication_set_aside(&writer->publication, SET_ASIDE_SUFFIX, error);

	if (code == 0)
		code = create_schema(writer, error);
	if (code == 0)
		code = carry_over_events(&writer->sql, writer->publication.published_fd,
		                         writer->publication.path, writer->stopped, error);
	return code < 0 ? code : writer_log(writer, &repair, error);
}

/* Is what stands there, unreadable as it is, at least a file that SQLite has written? */
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
	struct publication_wait wait = {
	        .timeout = options->lock_timeout,
	        .work = options->work,
	        .stopped = options->stopped,
	        .sysroot = options->sysroot,
	};
	int code;

	if (!writer)
		return error_nomem(error);
	writer->command = options->command;
	writer->stopped = options->stopped;
	writer->sealed = options->sealed;
	code = publication_begin_once(&writer->publication, options->file, &wait, error);
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

/* The file keeps its inode, and gets the time of the rename, a moment from now. */
static int describe_publication(struct writer *writer, struct publication_record *out,
                                struct error *error)
{
	struct stat status;
	struct timespec now;

	*out = (struct publication_record){.sealed = writer->sealed};
	if (writer->sealed)
		return 0;
	if (fstat(writer->publication.new_fd, &status) != 0)
		return error_errno(error, errno, "%s.new", writer->publication.path);
	now = writer_time(writer, true);
	out->inode = (int64_t)status.st_ino;
	out->time = nanoseconds_of(now);
	return 0;
}

static int put_publication(struct writer *writer, struct error *error)
{
	sqlite3_stmt *statement = sql_get(&writer->sql, SQL_PUT_PUBLICATION, error);
	struct publication_record said;
	int code;

	if (!statement)
		return sql_code(&writer->sql);
	code = describe_publication(writer, &said, error);
	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 1, 1);
	row_bind(&writer->sql, statement, 2, &publication_table, &said);
	return sql_run(&writer->sql, statement, error);
}

int writer_commit(struct writer *writer, mode_t mode, struct error *error)
{
	int code = 0;

	if (!writer->changed)
		return 0;
	if (writer->contests > CONTESTS_ONE_BY_ONE)
		code = mark_contested(writer, error);
	if (code == 0)
		code = put_publication(writer, error);
	if (code == 0)
		code = sql_execute(&writer->sql, "COMMIT", error);
	if (code < 0)
		return code;
	sql_close(&writer->sql);
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

struct timespec writer_time(struct writer *writer, bool again)
{
	if (again)
		publication_touch(&writer->publication);
	return writer->publication.began;
}

struct timespec writer_time_on(struct writer *writer, dev_t dev, bool again)
{
	struct stat lock;

	if (fstat(writer->publication.lock_fd, &lock) != 0 || lock.st_dev != dev)
		return (struct timespec){0};
	return writer_time(writer, again);
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

int writer_carried(struct writer *writer, struct carried *out, struct error *error)
{
	struct publication_record said;
	struct stat published;
	int found = rows_publication(&writer->sql, &said, error);

	if (found <= 0)
		return found;
	if (fstat(writer->publication.published_fd, &published) != 0)
		return error_errno(error, errno, "%s", writer->publication.path);
	*out = carried_of(&said, &published);
	return 1;
}

int writer_find_root(struct writer *writer, struct slice path, struct root_record *out,
                     struct error *error)
{
	int code = rows_root(&writer->sql, path, out, error);

	if (code <= 0)
		return code;
	code = rows_distributions(&writer->sql, out, false, error);
	if (code == 0)
		code = rows_startups(&writer->sql, out, error);
	return code < 0 ? code : 1;
}

int writer_entry_points(struct writer *writer, struct distribution_record *distribution,
                        struct arena *arena, struct error *error)
{
	return rows_entry_points(&writer->sql, distribution, arena, error);
}

int writer_roots(struct writer *writer, root_each *each, void *payload, struct error *error)
{
	return rows_roots(&writer->sql, each, payload, error);
}

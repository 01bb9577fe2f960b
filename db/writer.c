/*
 * writer.c - a writer from the lock to the publication. The copy
 * is private until the rename: it needs no journal and no synchronous writes; fsync comes
 * once, in publication_finish().
 */
#include "db/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/identity.h"
#include "db/writer_state.h"

#define SET_ASIDE_SUFFIX "damaged"
#define TICK_PART        1000000 /* nanoseconds: a part of a tick of the kernel's clock, */
#define TICK_PARTS       20      /* and more of them than the longest tick has */

/* @size: of what the file holds that is not to be believed yet, or 0. */
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
		sql_stop(sql, writer->stopped);
		sql_limit(sql, status.st_size); /* what it says is not believed yet */
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

/* An empty copy becomes an empty database. */
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

/* --- what is published --- */

/* Copy what is published, and believe nothing of it before it has been looked at. */
static int open_published(struct writer *writer, struct error *error)
{
	struct publication *publication = &writer->publication;
	struct sql *sql = &writer->reader.sql;
	int code = publication_copy(publication, error);
	int mended;

	if (code < 0)
		return code;
	writer->reader.opened = publication->published;
	if (publication->published.st_size == 0) /* no more a database than a missing one */
		return error_set(error, ERROR_NOTFOUND, "%s: empty", publication->path);
	mended = identity_leave_wal(publication->new_fd, publication->path, error);
	if (mended < 0)
		return mended;
	writer->changed |= mended > 0;
	code = identity_check_header(publication->new_fd, publication->path, error);
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

/* --- what takes its place --- */

/*
 * Is it the database of a newer entrydb, and not ours with a damaged header? It says so, it
 * is sound, and its schema is another one. 1, 0, or a negative code if that is not known.
 */
static int is_newer(struct writer *writer, uint32_t *version, struct error *error)
{
	const struct publication *publication = &writer->publication;
	int code = identity_newer(publication->new_fd, publication->path, version, error);

	if (code <= 0)
		return code;
	code = open_copy(writer, error);
	if (code == 0)
		code = identity_check_pages(&writer->reader.sql, error);
	if (code < 0)
		return code == ERROR_FORMAT ? 0 : code;
	code = identity_check_schema(&writer->reader.sql, "", error);
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

/* The history survives: the events of what was set aside are copied. */
static int carry_over(struct writer *writer, struct error *error)
{
	CLEANUP(sql_close) struct sql old = {0};
	struct error why = {0};
	int code, fd = writer->publication.published_fd;

	if (fd < 0)
		return 0;
	code = open_sql(writer, &old, fd, FILE_READ, &why);
	if (code == 0)
		code = writer_carry_over(writer, &old, &why);
	if (code != ERROR_FORMAT)
		return error_move(error, &why);
	error_clear(&why);
	return 0;
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
		code = carry_over(writer, error);
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
	code = publication_begin(&writer->publication, options->file, &wait, error);
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

/* The file keeps its inode, and gets the time of the rename, a moment from now. */
static int describe_publication(struct writer *writer, struct error *error)
{
	struct publication_record said = {.sealed = writer->sealed};
	struct stat status;

	if (!writer->sealed) {
		if (fstat(writer->publication.new_fd, &status) != 0)
			return error_errno(error, errno, "%s.new", writer->publication.path);
		publication_touch(&writer->publication);
		said.inode = (int64_t)status.st_ino;
		said.time = nanoseconds_of(writer->publication.began);
	}
	return writer_put_publication(writer, &said, error);
}

int writer_commit(struct writer *writer, mode_t mode, struct error *error)
{
	int code;

	if (!writer->changed)
		return 0;
	code = writer_mark_contested(writer, error);
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

/* --- what is in it --- */

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

/*
 * identity.c - recognizes databases of entrydb before any row is trusted.
 */
#include "db/identity.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* https://www.sqlite.org/fileformat.html, 1.3; offsets in bytes */
#define HEADER_SIZE          100
#define HEADER_WRITE_VERSION 18 /* and the read version behind it */
#define HEADER_ENCODING      56
#define HEADER_USER_VERSION  60
#define HEADER_APPLICATION   68

#define VERSION_JOURNAL 1 /* of HEADER_WRITE_VERSION */
#define VERSION_WAL     2
#define ENCODING_UTF8   1

/* --- the header --- */

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       (uint32_t)bytes[3];
}

/* Returns the number of bytes read, or a negative code. */
static int read_header(int fd, unsigned char header[HEADER_SIZE], const char *file,
                       struct error *error)
{
	ssize_t got;

	do {
		got = pread(fd, header, HEADER_SIZE, 0);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? error_errno(error, errno, "cannot read %s", file) : (int)got;
}

int identity_check_header(int fd, const char *file, uint32_t *version, struct error *error)
{
	unsigned char header[HEADER_SIZE] = {0};
	int got = read_header(fd, header, file, error);
	uint32_t claimed = big_endian(header + HEADER_USER_VERSION);

	if (got < 0)
		return got;
	if (memcmp(header, "SQLite format 3", 16) != 0)
		return error_set(error, ERROR_FORMAT, "%s: not a SQLite database", file);
	if (got < HEADER_SIZE)
		return error_set(error, ERROR_FORMAT, "%s: the database is cut off", file);
	if (big_endian(header + HEADER_APPLICATION) != SQL_APPLICATION_ID)
		return error_set(error, ERROR_INVALID,
		                 "%s: a SQLite database, but not one of entrydb", file);
	if (version)
		*version = claimed;
	if (header[HEADER_WRITE_VERSION] != VERSION_JOURNAL ||
	    header[HEADER_WRITE_VERSION + 1] != VERSION_JOURNAL ||
	    big_endian(header + HEADER_ENCODING) != ENCODING_UTF8)
		return error_set(error, ERROR_FORMAT,
		                 "%s: the journal mode or the encoding is not one that entrydb "
		                 "writes; 'entrydb update' repairs it",
		                 file);
	if (claimed == SQL_USER_VERSION)
		return 0;
	return error_set(error, ERROR_FORMAT,
	                 "%s: version %u of the database, this program reads version %u%s", file,
	                 claimed, SQL_USER_VERSION,
	                 claimed > SQL_USER_VERSION ? "" : "; 'entrydb update' rebuilds it");
}

int identity_leave_wal(int fd, const char *file, struct error *error)
{
	static const unsigned char wal[] = {VERSION_WAL, VERSION_WAL};
	static const unsigned char journal[] = {VERSION_JOURNAL, VERSION_JOURNAL};
	unsigned char header[HEADER_SIZE] = {0};
	int got = read_header(fd, header, file, error);

	if (got < 0 || memcmp(header + HEADER_WRITE_VERSION, wal, sizeof(wal)) != 0)
		return got < 0 ? got : 0;
	if (pwrite(fd, journal, sizeof(journal), HEADER_WRITE_VERSION) != sizeof(journal))
		return error_errno(error, errno, "cannot write the copy of %s", file);
	return 1;
}

/* --- the schema --- */

#define STATEMENTS_MAX 31 /* one bit each */

/* The CREATE statements of schema.sql. */
struct schema {
	const char *statements[STATEMENTS_MAX];
	int count;
	int expected; /* the next one to compare: the order is usually the same */
};

static struct schema our_schema(void)
{
	struct schema schema = {0};

	for (const char *at = sql_schema;
	     schema.count < STATEMENTS_MAX && (at = strstr(at, "\nCREATE "));)
		schema.statements[schema.count++] = ++at;
	return schema;
}

/*
 * The bit of the statement @text; 0 if there is none. SQLite stores the text as written, up to the
 * semicolon.
 */
static unsigned find_statement(struct schema *schema, struct slice text)
{
	for (int i = 0; i < schema->count; i++) {
		int number = (schema->expected + i) % schema->count;
		const char *ours = schema->statements[number];

		if (text.len >= strlen(ours) || memcmp(ours, text.ptr, text.len) != 0 ||
		    ours[text.len] != ';')
			continue;
		schema->expected = number + 1;
		return 1u << number;
	}
	return 0;
}

static int foreign_schema(const struct sql *sql, struct slice name, struct error *error)
{
	return error_set(error, ERROR_FORMAT,
	                 "%s: the schema is not that of entrydb%s%.*s; 'entrydb update' rebuilds "
	                 "the database",
	                 sql->file, name.len ? ": " : "", (int)name.len, name.ptr ? name.ptr : "");
}

/*
 * When SQLite reads the schema, it verifies that the type, name and table of each row match its
 * text, and that a row without text is an index of a UNIQUE column.
 */
int identity_check_schema(struct sql *sql, const char *only, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, "SELECT name, sql FROM sqlite_schema");
	struct schema schema = our_schema();
	unsigned wanted = 0, found = 0;
	int code;

	for (int i = 0; i < schema.count; i++)
		if (strncmp(schema.statements[i], only, strlen(only)) == 0)
			wanted |= 1u << i;
	while ((code = sql_step(sql, row, error)) > 0) {
		struct slice text = sql_column(row, 1);
		unsigned bit = text.ptr ? find_statement(&schema, text) : 0;

		found |= bit;
		code = sql_check_row(sql, error);
		if (code == 0 && text.ptr && !bit && !*only)
			code = foreign_schema(sql, sql_column(row, 0), error);
		if (code < 0)
			break;
	}
	sqlite3_reset(row);
	return code == 0 && wanted & ~found ? foreign_schema(sql, SLICE(""), error) : code;
}

/* --- damage --- */

/* Reads all pages and compares each index with its table, since both would be published again. */
int identity_check_pages(struct sql *sql, struct error *error)
{
	sqlite3_stmt *statement = sql_get(sql, "PRAGMA integrity_check(1)");
	int code = sql_step(sql, statement, error);

	if (code > 0 && slice_equal(sql_column(statement, 0), SLICE("ok")))
		code = 0;
	else if (code >= 0)
		code = sql_check_row(sql, error) < 0 ? ERROR_NOMEM : sql_damaged(sql, error);
	sqlite3_reset(statement);
	return code;
}

/*
 * Rows without a parent, or not counted by their root, would never be dropped and would collide
 * with other rows.
 */
int identity_check_rows(struct sql *sql, struct error *error)
{
	static const char text[] =
	        "SELECT NOT EXISTS (SELECT 1 FROM distribution "
	        "WHERE id >> 20 NOT IN (SELECT id FROM root)) "
	        "AND NOT EXISTS (SELECT 1 FROM startup "
	        "WHERE id >> 20 NOT IN (SELECT id FROM root)) "
	        "AND NOT EXISTS (SELECT 1 FROM entry_point "
	        "WHERE id >> 24 NOT IN (SELECT id FROM distribution)) "
	        "AND NOT EXISTS (SELECT 1 FROM target "
	        "WHERE entry_point NOT IN (SELECT id FROM entry_point) "
	        "AND entry_point NOT IN (SELECT id FROM plugin)) "
	        "AND NOT EXISTS (SELECT 1 FROM plugin "
	        "WHERE id >> 24 NOT IN (SELECT id FROM distribution)) "
	        "AND NOT EXISTS (SELECT 1 FROM root r WHERE (distributions, broken, watched) <> "
	        "(SELECT count(*), count(error), total(watched <> 0) FROM distribution "
	        "WHERE id BETWEEN r.id << 20 AND (r.id + 1 << 20) - 1))";
	int64_t is_coherent = 0;
	int code = sql_single(sql, sql_get(sql, text), &is_coherent, error);

	return code == 0 && !is_coherent ? sql_damaged(sql, error) : code;
}

/*
 * identity.c - tells our own databases from those of others, before a row is believed.
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

/* Its length, or a negative code. */
static int read_header(int fd, unsigned char header[HEADER_SIZE], const char *file,
                       struct error *error)
{
	ssize_t got;

	do {
		got = pread(fd, header, HEADER_SIZE, 0);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? error_errno(error, errno, "cannot read %s", file) : (int)got;
}

static int check_version(uint32_t version, const char *file, struct error *error)
{
	if (version == SQL_USER_VERSION)
		return 0;
	return error_set(error, ERROR_FORMAT,
	                 "%s: version %u of the database, this program reads version %u%s", file,
	                 version, SQL_USER_VERSION,
	                 version > SQL_USER_VERSION ? "" : "; 'entrydb update' rebuilds it");
}

int identity_check_header(int fd, const char *file, struct error *error)
{
	unsigned char header[HEADER_SIZE] = {0};
	int got = read_header(fd, header, file, error);

	if (got < 0)
		return got;
	if (memcmp(header, "SQLite format 3", 16) != 0)
		return error_set(error, ERROR_FORMAT, "%s: not a SQLite database", file);
	if (got < HEADER_SIZE)
		return error_set(error, ERROR_FORMAT, "%s: the database is cut off", file);
	if (big_endian(header + HEADER_APPLICATION) != SQL_APPLICATION_ID)
		return error_set(error, ERROR_INVALID,
		                 "%s: a SQLite database, but not one of entrydb", file);
	if (header[HEADER_WRITE_VERSION] != VERSION_JOURNAL ||
	    header[HEADER_WRITE_VERSION + 1] != VERSION_JOURNAL ||
	    big_endian(header + HEADER_ENCODING) != ENCODING_UTF8)
		return error_set(error, ERROR_FORMAT,
		                 "%s: the journal mode or the encoding is not one that entrydb "
		                 "writes; 'entrydb update' repairs it",
		                 file);
	return check_version(big_endian(header + HEADER_USER_VERSION), file, error);
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

int identity_newer(int fd, const char *file, uint32_t *version, struct error *error)
{
	unsigned char header[HEADER_SIZE] = {0};
	int got = read_header(fd, header, file, error);

	if (got < 0)
		return got;
	*version = big_endian(header + HEADER_USER_VERSION);
	return memcmp(header, "SQLite format 3", 16) == 0 &&
	       big_endian(header + HEADER_APPLICATION) == SQL_APPLICATION_ID &&
	       *version > SQL_USER_VERSION;
}

/* --- the schema --- */

#define STATEMENTS_MAX 31 /* a bit for each, and one to shift by */

/* The statements of schema.sql that make something. */
/* The columns of SQL_SCHEMA. */
enum { SCHEMA_TYPE, SCHEMA_NAME, SCHEMA_TABLE, SCHEMA_SQL };

struct schema {
	const char *statements[STATEMENTS_MAX];
	int count;
	int expected; /* the one that probably comes next: the order is mostly the same */
};

static struct schema our_schema(void)
{
	struct schema schema = {0};

	for (const char *at = sql_schema;
	     schema.count < STATEMENTS_MAX && (at = strstr(at, "\nCREATE "));)
		schema.statements[schema.count++] = ++at;
	return schema;
}

static struct slice next_word(const char **at)
{
	const char *begin = *at + strspn(*at, " \n"), *end = begin + strcspn(begin, " \n");

	*at = end;
	return slice_between(begin, end);
}

/* Such as "TABLE" and "table". */
static bool is_same_word(struct slice a, struct slice b)
{
	return a.len == b.len && !slice_is_null(b) &&
	       sqlite3_strnicmp(a.ptr, b.ptr, (int)a.len) == 0;
}

/*
 * Is @statement, of schema.sql, what the row says? SQLite keeps the text as it was
 * written, to before the semicolon. An index names its table after ON.
 */
static bool is_row_of(const char *statement, sqlite3_stmt *row)
{
	const char *at = statement + strlen("CREATE ");
	struct slice type = next_word(&at), name = next_word(&at), table = name, text;

	if (slice_equal(type, SLICE("INDEX"))) {
		next_word(&at);
		table = next_word(&at);
	}
	text = sql_column(row, SCHEMA_SQL);
	return is_same_word(type, sql_column(row, SCHEMA_TYPE)) &&
	       slice_equal(name, sql_column(row, SCHEMA_NAME)) &&
	       slice_equal(table, sql_column(row, SCHEMA_TABLE)) && text.len < strlen(statement) &&
	       memcmp(statement, text.ptr, text.len) == 0 && statement[text.len] == ';';
}

/* The number of the row's statement, from 0; -1 if there is none. */
static int find_statement(struct schema *schema, sqlite3_stmt *row)
{
	for (int i = 0; i < schema->count; i++) {
		int number = (schema->expected + i) % schema->count;

		if (!is_row_of(schema->statements[number], row))
			continue;
		schema->expected = number + 1;
		return number;
	}
	return -1;
}

/* The index of a UNIQUE column has no statement; SQLite itself sees that it belongs to one. */
static bool is_automatic_index(sqlite3_stmt *row)
{
	return sqlite3_column_type(row, SCHEMA_SQL) == SQLITE_NULL &&
	       slice_equal(sql_column(row, SCHEMA_TYPE), SLICE("index")) &&
	       slice_starts(sql_column(row, SCHEMA_NAME), SLICE("sqlite_autoindex_"));
}

static int foreign_schema(const struct sql *sql, struct slice name, struct error *error)
{
	return error_set(error, ERROR_FORMAT,
	                 "%s: the schema is not that of entrydb%s%.*s; 'entrydb update' rebuilds "
	                 "the database",
	                 sql->file, name.len ? ": " : "", (int)name.len, name.ptr ? name.ptr : "");
}

int identity_check_schema(struct sql *sql, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, SQL_SCHEMA, error);
	struct schema schema = our_schema();
	unsigned found = 0;
	int code;

	if (!row)
		return sql_code(sql);
	while ((code = sql_step(sql, row, error)) > 0) {
		bool is_automatic = is_automatic_index(row);
		int number = is_automatic ? -1 : find_statement(&schema, row);

		code = sql_check_row(sql, error);
		if (code == 0 && number < 0 && !is_automatic)
			code = foreign_schema(sql, sql_column(row, SCHEMA_NAME), error);
		if (code < 0)
			break;
		found |= number < 0 ? 0 : 1u << number;
	}
	sqlite3_reset(row);
	if (code == 0 && found != (1u << schema.count) - 1)
		code = foreign_schema(sql, SLICE(""), error);
	return code;
}

int identity_check_table(struct sql *sql, const char *table, struct error *error)
{
	sqlite3_stmt *row = sql_get(sql, SQL_SCHEMA, error);
	struct schema schema = our_schema();
	bool found = false;
	int code;

	if (!row)
		return sql_code(sql);
	while (!found && (code = sql_step(sql, row, error)) > 0)
		found = slice_equal(sql_column(row, SCHEMA_TYPE), SLICE("table")) &&
		        slice_equal(sql_column(row, SCHEMA_NAME), slice_of(table)) &&
		        find_statement(&schema, row) >= 0;
	sqlite3_reset(row);
	if (found)
		return 0;
	return code < 0 ? code : foreign_schema(sql, slice_of(table), error);
}

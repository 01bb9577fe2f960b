/*
 * publish.c - the publication alone: write the rows of a database into a new file
 * by bare SQLite, in one transaction, fsync, rename, fsync the directory.
 *
 * usage: publish DATABASE NEW_FILE
 *
 * The rows are read into memory before the clock starts. Prints nanoseconds for
 * the rows, then for fsync to fsync, then the number of rows.
 */
#include <fcntl.h>
#include <libgen.h>
#include <unistd.h>

#include "bare.h"

struct table {
	char *insert;
	int columns;
	sqlite3_value **values; /* columns for each row */
	size_t rows, room;
};

struct copy {
	struct table tables[16];
	size_t table_count;
	char *schema;
	long long application_id, user_version;
};

static long long pragma(sqlite3 *db, const char *text)
{
	sqlite3_stmt *statement = bare_prepare(db, text);
	long long value =
	        sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;

	sqlite3_finalize(statement);
	return value;
}

static void add_row(struct table *table, sqlite3_stmt *statement)
{
	if (table->rows == table->room) {
		table->room = table->room ? table->room * 2 : 256;
		table->values = realloc(table->values, table->room * (size_t)table->columns *
		                                               sizeof(sqlite3_value *));
		if (!table->values)
			bench_fail("out of memory");
	}
	for (int i = 0; i < table->columns; i++)
		table->values[table->rows * (size_t)table->columns + (size_t)i] =
		        sqlite3_value_dup(sqlite3_column_value(statement, i));
	table->rows++;
}

static char *join(char *text, const char *separator, const char *more)
{
	char *joined = bench_print("%s%s%s", text ? text : "", text ? separator : "", more);

	free(text);
	return joined;
}

/* SELECT * leaves out no column but the hidden ones; generated ones must not be inserted. */
static char *columns_of(sqlite3 *db, const char *name, int *count, char **marks)
{
	char *text =
	        bench_print("SELECT name FROM pragma_table_xinfo('%s') WHERE hidden = 0", name);
	sqlite3_stmt *statement = bare_prepare(db, text);
	char *columns = NULL;

	*count = 0;
	*marks = NULL;
	for (; sqlite3_step(statement) == SQLITE_ROW; ++*count) {
		columns = join(columns, ", ", (const char *)sqlite3_column_text(statement, 0));
		*marks = join(*marks, ", ", "?");
	}
	sqlite3_finalize(statement);
	free(text);
	return columns;
}

static void read_table(sqlite3 *db, const char *name, struct table *table)
{
	char *marks, *columns = columns_of(db, name, &table->columns, &marks);
	char *query = bench_print("SELECT %s FROM \"%s\" ORDER BY rowid", columns, name);
	sqlite3_stmt *statement = bare_prepare(db, query);

	table->insert = bench_print("INSERT INTO \"%s\" (%s) VALUES (%s)", name, columns, marks);
	while (sqlite3_step(statement) == SQLITE_ROW)
		add_row(table, statement);
	sqlite3_finalize(statement);
	free(query);
	free(columns);
	free(marks);
}

static void read_all(const char *file, struct copy *copy)
{
	sqlite3 *db = bare_open(file);
	sqlite3_stmt *statement =
	        bare_prepare(db, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL "
	                         "AND name NOT LIKE 'sqlite_%' ORDER BY rowid");

	copy->application_id = pragma(db, "PRAGMA application_id");
	copy->user_version = pragma(db, "PRAGMA user_version");
	while (sqlite3_step(statement) == SQLITE_ROW) {
		copy->schema =
		        join(copy->schema, ";", (const char *)sqlite3_column_text(statement, 2));
		if (strcmp((const char *)sqlite3_column_text(statement, 0), "table") == 0)
			read_table(db, (const char *)sqlite3_column_text(statement, 1),
			           &copy->tables[copy->table_count++]);
	}
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void run(sqlite3 *db, const char *text)
{
	char *message = NULL;

	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
		bench_fail("%s: %s", text, message ? message : "?");
}

static void write_table(sqlite3 *db, const struct table *table)
{
	sqlite3_stmt *statement = bare_prepare(db, table->insert);

	for (size_t row = 0; row < table->rows; row++) {
		for (int i = 0; i < table->columns; i++)
			sqlite3_bind_value(statement, i + 1,
			                   table->values[row * (size_t)table->columns + (size_t)i]);
		if (sqlite3_step(statement) != SQLITE_DONE)
			bench_fail("%s: %s", table->insert, sqlite3_errmsg(db));
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
}

/* The pragmas of a writer whose file is private until the rename. */
static void write_all(const struct copy *copy, const char *file)
{
	char *ids = bench_print("PRAGMA application_id = %lld; PRAGMA user_version = %lld",
	                        copy->application_id, copy->user_version);
	sqlite3 *db;

	if (sqlite3_open_v2(file, &db,
	                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                    NULL) != SQLITE_OK)
		bench_fail("%s: cannot create", file);
	run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
	        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; BEGIN IMMEDIATE");
	run(db, copy->schema);
	run(db, ids);
	for (size_t i = 0; i < copy->table_count; i++)
		write_table(db, &copy->tables[i]);
	run(db, "COMMIT");
	sqlite3_close(db);
	free(ids);
}

static void publish(const char *temporary, const char *file, int directory)
{
	int fd = open(temporary, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fsync(fd) != 0 || close(fd) != 0 || rename(temporary, file) != 0 ||
	    fsync(directory) != 0)
		bench_fail("%s: cannot publish", file);
}

int main(int argc, char **argv)
{
	struct copy copy = {0};
	size_t rows = 0;
	int64_t start, written, done;
	char *temporary, *directory;
	int fd;

	if (argc != 3)
		bench_fail("usage: publish DATABASE NEW_FILE");
	temporary = bench_print("%s.new", argv[2]);
	directory = strdup(argv[2]);
	fd = open(dirname(directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unlink(argv[2]);
	unlink(temporary);
	read_all(argv[1], &copy);
	start = bench_now();
	write_all(&copy, temporary);
	written = bench_now();
	publish(temporary, argv[2], fd);
	done = bench_now();
	for (size_t i = 0; i < copy.table_count; i++)
		rows += copy.tables[i].rows;
	printf("%lld\t%lld\t%zu\n", (long long)(written - start), (long long)(done - written),
	       rows);
	return 0;
}

/*
 * worksheet.c - the tables that an audit fills; its rules are views of them.
 *
 * The first failure is kept, so that callers need to check for errors only once, at the end.
 */
#include "db/worksheet.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"

#define STATEMENTS_MAX 128
#define TEXT_SIZE      256 /* bytes of a statement */
#define MARKS          "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"

#define FACT_SIZE       32      /* bytes of a row in addition to its texts */
#define STEPS_PER_BYTE  16      /* SQLite's instructions that a statement may take */
#define STEPS_MIN       2000000 /* the same for any size */
#define MEMORY_PER_BYTE 8       /* bytes that a worksheet may take, with what its statements sort */
#define MEMORY_MIN      ((uint64_t)512 << 20) /* the same for any size */
#define STEPS_BETWEEN   10000                 /* instructions between two calls of spend() */

struct worksheet_rows {
	struct worksheet *worksheet;
	sqlite3_stmt *statement;
	uint64_t steps, allowed; /* taken so far, and allowed */
};

struct worksheet {
	sqlite3 *db;
	int failure;   /* SQLite's code */
	uint64_t size; /* bytes of all rows */
	struct worksheet_rows *running;
	struct worksheet_rows statements[STATEMENTS_MAX];
	size_t count;
};

static void fail(struct worksheet *worksheet, int code)
{
	if (worksheet->failure == SQLITE_OK)
		worksheet->failure = code;
}

static uint64_t memory_allowed(const struct worksheet *worksheet)
{
	return worksheet->size * MEMORY_PER_BYTE + MEMORY_MIN;
}

/* A limit refuses also the growth of a value to twice its size, so all may be less. */
static bool is_beyond_limits(const struct worksheet *worksheet)
{
	return worksheet->failure == SQLITE_INTERRUPT ||
	       (worksheet->failure == SQLITE_NOMEM &&
	        (uint64_t)sqlite3_memory_highwater(0) > memory_allowed(worksheet) / 4);
}

int worksheet_failure(struct worksheet *worksheet, struct error *error)
{
	const struct worksheet_rows *running = worksheet->running;

	if (worksheet->failure == SQLITE_OK)
		return 0;
	if (is_beyond_limits(worksheet))
		return error_set(error, ERROR_LIMIT,
		                 "cannot evaluate the rules: %s takes too %s for %llu bytes of "
		                 "input",
		                 running ? sqlite3_sql(running->statement) : "a row",
		                 worksheet->failure == SQLITE_NOMEM ? "much memory" : "long",
		                 (unsigned long long)worksheet->size);
	if (worksheet->failure == SQLITE_NOMEM)
		return error_nomem(error);
	return error_set(error, ERROR_IO, "cannot evaluate the rules: %s",
	                 sqlite3_errstr(worksheet->failure));
}

bool worksheet_gave_up(struct worksheet *worksheet, struct error *error)
{
	if (!is_beyond_limits(worksheet))
		return false;
	worksheet_failure(worksheet, error);
	worksheet->failure = SQLITE_OK;
	return true;
}

static void execute(struct worksheet *worksheet, const char *text)
{
	if (worksheet->failure == SQLITE_OK)
		fail(worksheet, sqlite3_exec(worksheet->db, text, NULL, NULL, NULL));
}

/*
 * Progress handler: non-zero interrupts. Hostile input may make some query of many take the square
 * of the time that it should: all are limited in proportion to the input before the query.
 */
static int spend(void *payload)
{
	struct worksheet_rows *running = ((struct worksheet *)payload)->running;

	return running && (running->steps += STEPS_BETWEEN) > running->allowed;
}

int worksheet_open(const char *script, struct worksheet **out, struct error *error)
{
	CLEANUP(cleanup_worksheet) struct worksheet *worksheet = calloc(1, sizeof(*worksheet));

	if (!worksheet)
		return error_nomem(error);
	fail(worksheet,
	     sqlite3_open_v2(":memory:", &worksheet->db,
	                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                     NULL));
	execute(worksheet, "PRAGMA temp_store = MEMORY");
	execute(worksheet, script);
	if (worksheet->failure != SQLITE_OK)
		return worksheet_failure(worksheet, error);
	sqlite3_progress_handler(worksheet->db, STEPS_BETWEEN, spend, worksheet);
	*out = take(worksheet);
	return 0;
}

void worksheet_close(struct worksheet *worksheet)
{
	if (!worksheet)
		return;
	for (size_t i = 0; i < worksheet->count; i++)
		sqlite3_finalize(worksheet->statements[i].statement);
	sqlite3_close(worksheet->db);
	sqlite3_hard_heap_limit64(0);
	free(worksheet);
}

/* --- statements --- */

static struct worksheet_rows *find(struct worksheet *worksheet, const char *text)
{
	struct worksheet_rows *rows = worksheet->statements, *end = rows + worksheet->count;

	while (rows < end && strcmp(sqlite3_sql(rows->statement), text) != 0)
		rows++;
	if (rows < end)
		return rows;
	rows->worksheet = worksheet;
	fail(worksheet,
	     worksheet->count == STATEMENTS_MAX
	             ? SQLITE_FULL
	             : sqlite3_prepare_v3(worksheet->db, text, -1, SQLITE_PREPARE_PERSISTENT,
	                                  &rows->statement, NULL));
	if (worksheet->failure != SQLITE_OK)
		return NULL;
	worksheet->count++;
	return rows;
}

static int bind(sqlite3_stmt *statement, int at, const struct fact *fact)
{
	switch (fact->kind) {
	case FACT_TEXT:
		return sqlite3_bind_text64(statement, at, fact->text.ptr, fact->text.len,
		                           SQLITE_STATIC, SQLITE_UTF8);
	case FACT_NUMBER:
		return sqlite3_bind_int64(statement, at, fact->number);
	default:
		return sqlite3_bind_null(statement, at);
	}
}

/* The statement with @values bound; NULL after a failure. */
static struct worksheet_rows *begin(struct worksheet *worksheet, const char *text,
                                    const struct fact *values)
{
	struct worksheet_rows *rows = worksheet->failure ? NULL : find(worksheet, text);

	if (rows) {
		sqlite3_reset(rows->statement);
		rows->allowed = worksheet->size * STEPS_PER_BYTE + STEPS_MIN;
		/* Of the process; only a program that audits has a worksheet. */
		sqlite3_hard_heap_limit64((sqlite3_int64)memory_allowed(worksheet));
	}
	for (int i = 0; rows && values && values[i].kind != FACT_END; i++)
		fail(worksheet, bind(rows->statement, i + 1, &values[i]));
	return rows;
}

void worksheet_put(struct worksheet *worksheet, const char *table, const struct fact *row)
{
	char text[TEXT_SIZE];
	int count = 0;

	for (; row[count].kind != FACT_END; count++)
		worksheet->size += row[count].text.len;
	worksheet->size += FACT_SIZE;
	snprintf(text, sizeof(text), "INSERT INTO \"%s\" VALUES (%.*s)", table, 2 * count - 1,
	         MARKS);
	worksheet_next(begin(worksheet, text, row));
}

struct worksheet_rows *worksheet_walk(struct worksheet *worksheet, const char *view,
                                      const struct fact *key)
{
	char text[TEXT_SIZE];

	snprintf(text, sizeof(text), "SELECT * FROM \"%s\"%s", view, key ? " WHERE key = ?" : "");
	return begin(worksheet, text, key);
}

bool worksheet_next(struct worksheet_rows *rows)
{
	int code;

	if (!rows || rows->worksheet->failure != SQLITE_OK)
		return false;
	rows->worksheet->running = rows;
	code = sqlite3_step(rows->statement);
	if (code == SQLITE_ROW)
		return true;
	if (code != SQLITE_DONE)
		fail(rows->worksheet, code);
	sqlite3_reset(rows->statement);
	return false;
}

struct slice worksheet_text(struct worksheet_rows *rows, int column)
{
	const char *text = (const char *)sqlite3_column_text(rows->statement, column);

	if (!text && sqlite3_column_type(rows->statement, column) != SQLITE_NULL)
		fail(rows->worksheet, SQLITE_NOMEM);
	return (struct slice){text,
	                      text ? (size_t)sqlite3_column_bytes(rows->statement, column) : 0};
}

int64_t worksheet_number(struct worksheet_rows *rows, int column)
{
	return sqlite3_column_int64(rows->statement, column);
}

int worksheet_write(struct worksheet *worksheet, FILE *stream, struct error *error)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes;

	bytes = worksheet->failure == SQLITE_OK ? sqlite3_serialize(worksheet->db, "main", &size, 0)
	                                        : NULL;
	if (!bytes)
		return worksheet->failure == SQLITE_OK ? error_nomem(error)
		                                       : worksheet_failure(worksheet, error);
	fwrite(bytes, 1, (size_t)size, stream);
	sqlite3_free(bytes);
	return 0;
}

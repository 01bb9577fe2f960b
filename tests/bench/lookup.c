/*
 * lookup.c - look-ups by group and name on handles that are kept open.
 *
 * usage: lookup ROUNDS COUNT first|again KIND:PREFIX...
 *
 * In each round every subject answers COUNT queries for random existing entry points, the same for
 * all subjects of a prefix; the order of the subjects alternates. "again": each query is made
 * twice, and the second one is timed, as for a program that repeats a query. One line per round:
 * nanoseconds per query, one column per subject. Kinds: trust, roots (libentrydb); bare (the
 * statement); stats (the statement after a stat of each path entry and of the file).
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "ask.h"
#include "bare.h"

#define WARM_UP 20 /* rounds that are not counted */

struct question {
	char *group, *name;
	size_t group_length, name_length;
};

/* All entry points of a database, and those drawn for this round. */
struct pool {
	const char *prefix;
	struct question *all, *drawn;
	size_t count, room;
};

struct subject {
	const char *kind;
	struct pool *pool;
	char *path[PATH_ENTRIES];
	char *file;
	entrydb *handle;
	sqlite3 *db;
	sqlite3_stmt *statement;
	size_t (*ask)(struct subject *subject, const struct question *question);
};

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static void add_question(struct pool *pool, sqlite3_stmt *statement)
{
	if (pool->count == pool->room) {
		pool->room = pool->room ? pool->room * 2 : 1024;
		pool->all = realloc(pool->all, pool->room * sizeof(*pool->all));
		if (!pool->all)
			bench_fail("out of memory");
	}
	pool->all[pool->count++] = (struct question){
	        .group = strdup((const char *)sqlite3_column_text(statement, 0)),
	        .name = strdup((const char *)sqlite3_column_text(statement, 1)),
	        .group_length = (size_t)sqlite3_column_bytes(statement, 0),
	        .name_length = (size_t)sqlite3_column_bytes(statement, 1),
	};
}

/* Group and name are distinct: a duplicate would be the same query, made twice as often. */
static void fill_pool(struct pool *pool, const char *prefix, size_t count)
{
	char *file = bench_database(prefix);
	sqlite3 *db = bare_open(file);
	sqlite3_stmt *statement =
	        bare_prepare(db, "SELECT DISTINCT group_name, name FROM entry_point");

	pool->prefix = prefix;
	while (sqlite3_step(statement) == SQLITE_ROW)
		add_question(pool, statement);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	free(file);
	pool->drawn = calloc(count, sizeof(*pool->drawn));
	if (!pool->drawn || pool->count == 0)
		bench_fail("%s: no entry points", prefix);
}

/* Copied, so that iterating over the queries costs the same for large and small pools. */
static void draw(struct pool *pool, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct question *question = &pool->all[random_number() % pool->count];
		struct question *copy = &pool->drawn[i];

		free(copy->group);
		free(copy->name);
		*copy = *question;
		copy->group = strdup(question->group);
		copy->name = strdup(question->name);
	}
}

static size_t ask_library(struct subject *subject, const struct question *question)
{
	return ask_select(subject->handle, question->group, question->name);
}

static size_t ask_bare(struct subject *subject, const struct question *question)
{
	return bare_select(subject->statement, question->group, question->group_length,
	                   question->name, question->name_length);
}

static size_t ask_stats(struct subject *subject, const struct question *question)
{
	struct stat status;

	if (stat(subject->file, &status) != 0)
		bench_fail("%s: gone", subject->file);
	for (int i = 0; i < PATH_ENTRIES; i++)
		bench_sink += (size_t)stat(subject->path[i], &status);
	return ask_bare(subject, question);
}

static void prepare_bare(struct subject *subject)
{
	subject->db = bare_open(subject->file);
	subject->statement = bare_prepare(subject->db, bare_statement);
	subject->ask = strcmp(subject->kind, "stats") == 0 ? ask_stats : ask_bare;
}

static void prepare_library(struct subject *subject, enum entrydb_fresh fresh)
{
	subject->handle = ask_open((const char *const *)subject->path, PATH_ENTRIES, fresh);
	subject->ask = ask_library;
}

static struct pool *find_pool(struct pool *pools, const char *prefix, size_t count)
{
	for (; pools->prefix; pools++)
		if (strcmp(pools->prefix, prefix) == 0)
			return pools;
	fill_pool(pools, prefix, count);
	return pools;
}

static void prepare(struct subject *subject, struct pool *pools, char *argument, size_t count)
{
	char *prefix = strchr(argument, ':');

	if (!prefix)
		bench_fail("%s: not KIND:PREFIX", argument);
	*prefix++ = '\0';
	subject->kind = argument;
	subject->pool = find_pool(pools, prefix, count);
	subject->file = bench_database(prefix);
	bench_path(prefix, subject->path);
	if (strcmp(argument, "trust") == 0)
		prepare_library(subject, ENTRYDB_FRESH_TRUST);
	else if (strcmp(argument, "roots") == 0)
		prepare_library(subject, ENTRYDB_FRESH_ROOTS);
	else
		prepare_bare(subject);
}

/* The library must have answered from the database, or the wrong thing was measured. */
static void check_fresh(struct subject *subject)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_path *path;

	if (!subject->handle)
		return;
	if (entrydb_describe_path(subject->handle, &path, &error) < 0)
		bench_fail("%s", entrydb_error_message(&error));
	for (size_t i = 0; i < entrydb_path_count(path); i++) {
		const entrydb_path_entry *entry = entrydb_path_get(path, i);

		if (entrydb_path_entry_state(entry) != ENTRYDB_PATH_FRESH)
			bench_fail("%s: %s", entrydb_path_entry_path(entry),
			           entrydb_path_entry_reason(entry));
	}
	entrydb_path_free(path);
}

static double measure(struct subject *subject, size_t count)
{
	int64_t start = bench_now();
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += subject->ask(subject, &subject->pool->drawn[i]);
	start = bench_now() - start;
	if (found < count)
		bench_fail("%s: %zu of %zu found", subject->kind, found, count);
	return (double)start / (double)count;
}

int main(int argc, char **argv)
{
	long rounds = argc > 4 ? atol(argv[1]) : 0;
	size_t count = argc > 4 ? (size_t)atol(argv[2]) : 0, subjects = (size_t)argc - 4;
	bool again = argc > 4 && strcmp(argv[3], "again") == 0;
	struct subject *all = calloc((size_t)argc, sizeof(*all));
	struct pool *pools = calloc((size_t)argc, sizeof(*pools));
	double *times = calloc((size_t)argc, sizeof(*times));

	if (rounds < 1 || count < 1 || !all || !pools || !times)
		bench_fail("usage: lookup ROUNDS COUNT first|again KIND:PREFIX...");
	for (size_t i = 0; i < subjects; i++)
		prepare(&all[i], pools, argv[i + 4], count);
	for (long round = -WARM_UP; round < rounds; round++) {
		for (struct pool *pool = pools; pool->prefix; pool++)
			draw(pool, count);
		for (size_t i = 0; i < subjects; i++) {
			size_t at = round & 1 ? subjects - 1 - i : i;

			if (again)
				measure(&all[at], count);
			times[at] = measure(&all[at], count);
		}
		for (size_t i = 0; round >= 0 && i < subjects; i++)
			printf("%.1f%c", times[i], i + 1 < subjects ? '\t' : '\n');
	}
	for (size_t i = 0; i < subjects; i++)
		check_fresh(&all[i]);
	return 0;
}

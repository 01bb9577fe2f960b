/*
 * open.c - times a single query from opening to closing.
 *
 * usage: open ROUNDS REPEATS PREFIX GROUP NAME
 *
 * One line per round, nanoseconds: libentrydb at "roots", at "trust", the bare
 * statement, the bare statement with a stat of each path entry and of the file.
 */
#include <sys/stat.h>

#include "ask.h"
#include "bare.h"

#define WARM_UP 5 /* rounds that are not counted */

struct task {
	char *path[PATH_ENTRIES];
	char *file;
	const char *group, *name;
};

static size_t by_library(const struct task *task, enum entrydb_fresh fresh)
{
	entrydb *db = ask_open((const char *const *)task->path, PATH_ENTRIES, fresh);
	size_t found = ask_select(db, task->group, task->name);

	entrydb_close(db);
	return found;
}

static size_t by_roots(const struct task *task)
{
	return by_library(task, ENTRYDB_FRESH_ROOTS);
}

static size_t by_trust(const struct task *task)
{
	return by_library(task, ENTRYDB_FRESH_TRUST);
}

static size_t by_bare(const struct task *task)
{
	sqlite3 *db = bare_open(task->file);
	sqlite3_stmt *statement = bare_prepare(db, bare_statement);
	size_t found = bare_select(statement, task->group, strlen(task->group), task->name,
	                           strlen(task->name));

	sqlite3_finalize(statement);
	sqlite3_close(db);
	return found;
}

static size_t by_bare_and_stats(const struct task *task)
{
	struct stat status;

	bench_sink += (size_t)stat(task->file, &status);
	for (int i = 0; i < PATH_ENTRIES; i++)
		bench_sink += (size_t)stat(task->path[i], &status);
	return by_bare(task);
}

static double measure(size_t (*how)(const struct task *), const struct task *task, long repeats)
{
	int64_t start = bench_now();
	size_t found = 0;

	for (long i = 0; i < repeats; i++)
		found += how(task);
	start = bench_now() - start;
	if (found < (size_t)repeats)
		bench_fail("%s %s: not found", task->group, task->name);
	return (double)start / (double)repeats;
}

int main(int argc, char **argv)
{
	static size_t (*const ways[])(const struct task *) = {
	        by_roots,
	        by_trust,
	        by_bare,
	        by_bare_and_stats,
	};
	enum { WAYS = sizeof(ways) / sizeof(*ways) };
	double times[WAYS];
	struct task task;
	long rounds, repeats;

	if (argc != 6)
		bench_fail("usage: open ROUNDS REPEATS PREFIX GROUP NAME");
	rounds = atol(argv[1]);
	repeats = atol(argv[2]);
	bench_path(argv[3], task.path);
	task.file = bench_database(argv[3]);
	task.group = argv[4];
	task.name = argv[5];
	for (long round = -WARM_UP; round < rounds; round++) {
		for (int i = 0; i < WAYS; i++) {
			int at = round & 1 ? WAYS - 1 - i : i;

			times[at] = measure(ways[at], &task, repeats);
		}
		for (int i = 0; round >= 0 && i < WAYS; i++)
			printf("%.1f%c", times[i], i + 1 < WAYS ? '\t' : '\n');
	}
	return 0;
}

/*
 * plugin.c - times a native plugin in its own process, and look-ups in a registry.
 *
 * usage: plugin load PREFIX GROUP NAME      find and load it with libentrydb
 *        plugin find PREFIX GROUP NAME      only find it
 *        plugin bare PREFIX GROUP NAME      read its row with SQLite alone: open, query, close
 *        plugin known OBJECT SYMBOL         load a known object
 *        plugin registry PREFIX GROUP NAME  look up a name that is loaded
 *
 * Prints nanoseconds; for "registry", per look-up.
 */
#include <dlfcn.h>

#include "ask.h"
#include "bare.h"

#define LOOKUPS 200000

static const char target_statement[] =
        "SELECT t.object, t.symbol, r.path FROM entry_point e "
        "CROSS JOIN distribution d ON d.id = e.distribution CROSS JOIN root r ON r.id = d.root "
        "JOIN target t ON t.entry_point = e.id WHERE e.group_name = ?1 AND e.name = ?2";

struct task {
	const char *prefix, *group, *name;
};

static void must(int code, entrydb_error *error)
{
	if (code < 0)
		bench_fail("%s", entrydb_error_message(error));
}

static entrydb *open_prefix(const struct task *task)
{
	char *path[PATH_ENTRIES];

	bench_path(task->prefix, path);
	return ask_open((const char *const *)path, PATH_ENTRIES, ENTRYDB_FRESH_DEFAULT);
}

static void by_library(const struct task *task, int loads)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb *db = open_prefix(task);
	entrydb_target *target;
	entrydb_set *set;
	void *symbol = NULL;

	must(entrydb_select(db, task->group, task->name, &set, &error), &error);
	if (entrydb_set_count(set) != 1)
		bench_fail("%s: not found", task->name);
	if (loads) {
		must(entrydb_load(db, entrydb_set_get(set, 0), &symbol, &error), &error);
	} else {
		must(entrydb_resolve(db, entrydb_set_get(set, 0), &target, &error), &error);
		bench_use(entrydb_target_object(target), 0);
		entrydb_target_free(target);
	}
	entrydb_set_free(set);
	entrydb_close(db);
}

static void by_bare(const struct task *task)
{
	sqlite3 *db = bare_open(bench_database(task->prefix));
	sqlite3_stmt *statement = bare_prepare(db, target_statement);

	sqlite3_bind_text(statement, 1, task->group, -1, SQLITE_STATIC);
	sqlite3_bind_text(statement, 2, task->name, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_ROW)
		bench_fail("%s: not found", task->name);
	for (int i = 0; i < 3; i++)
		bench_use((const char *)sqlite3_column_text(statement, i), 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void by_path(const char *object, const char *symbol)
{
	void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);

	if (!handle || !dlsym(handle, symbol))
		bench_fail("%s", dlerror());
}

static double by_registry(const struct task *task)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb *db = open_prefix(task);
	entrydb_registry *registry;
	int64_t start;
	void *object;

	must(entrydb_registry_open(db, task->group, NULL, &registry, &error), &error);
	must(entrydb_registry_lookup(registry, task->name, &object, &error), &error);
	start = bench_now();
	for (int i = 0; i < LOOKUPS; i++)
		must(entrydb_registry_lookup(registry, task->name, &object, &error), &error);
	start = bench_now() - start;
	entrydb_registry_close(registry);
	entrydb_close(db);
	return (double)start / LOOKUPS;
}

int main(int argc, char **argv)
{
	int64_t start = bench_now();
	struct task task = {argv[2], argv[3], argv[4]};
	double took = 0;

	if (argc == 4 && strcmp(argv[1], "known") == 0)
		by_path(argv[2], argv[3]);
	else if (argc == 5 && strcmp(argv[1], "load") == 0)
		by_library(&task, 1);
	else if (argc == 5 && strcmp(argv[1], "find") == 0)
		by_library(&task, 0);
	else if (argc == 5 && strcmp(argv[1], "bare") == 0)
		by_bare(&task);
	else if (argc == 5 && strcmp(argv[1], "registry") == 0)
		took = by_registry(&task);
	else
		bench_fail("usage: plugin WAY ...");
	printf("%.1f\n", took > 0 ? took : (double)(bench_now() - start));
	return 0;
}

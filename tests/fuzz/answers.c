/*
 * answers.c - compares what two ways of asking have answered.
 */
#include "tests/fuzz/answers.h"

#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/verb.h"
#include "tests/fuzz/input.h"

/* --- as text --- */

static void put_text(const char *text, FILE *stream)
{
	fprintf(stream, "%s|", text ? text : "-");
}

static void put_entry_points(const entrydb_set *set, FILE *stream)
{
	for (size_t i = 0; i < entrydb_set_count(set); i++) {
		const entrydb_entry_point *entry = entrydb_set_get(set, i);

		for (int field = 0; field <= ENTRYDB_FIELD_SHADOWED_BY; field++)
			put_text(entrydb_entry_point_text(entry, (enum entrydb_field)field, NULL),
			         stream);
		putc('\n', stream);
	}
	for (size_t i = 0; i < entrydb_set_problem_count(set); i++)
		fprintf(stream, "problem %s\n", entrydb_set_problem(set, i));
}

static void put_distributions(const entrydb_set *set, FILE *stream)
{
	for (size_t i = 0; i < entrydb_set_distribution_count(set); i++) {
		const entrydb_distribution *row = entrydb_set_distribution(set, i);

		put_text(entrydb_distribution_path(row), stream);
		put_text(entrydb_distribution_file(row), stream);
		put_text(entrydb_distribution_name(row), stream);
		put_text(entrydb_distribution_version(row), stream);
		put_text(entrydb_distribution_problem(row), stream);
		fprintf(stream, "%zu\n", entrydb_distribution_count(row));
	}
}

static void put_all(entrydb *db, FILE *stream)
{
	entrydb_set *set;

	require(entrydb_explain(db, NULL, NULL, &set, NULL) == 0);
	put_entry_points(set, stream);
	entrydb_set_free(set);
	require(entrydb_survey(db, &set, NULL) == 0);
	put_distributions(set, stream);
	put_entry_points(set, stream);
	entrydb_set_free(set);
}

char *answers_of(char *const *path, size_t count, enum entrydb_fresh fresh)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	entrydb *db = NULL;

	options.fresh = fresh;
	require(stream && entrydb_open((const char *const *)path, count, &options, &db, NULL) == 0);
	put_all(db, stream);
	entrydb_close(db);
	fclose(stream);
	return text;
}

void answers_check(const char *before, char *const *path, size_t count, enum entrydb_fresh fresh)
{
	CLEANUP(cleanup_free) char *now = answers_of(path, count, fresh);

	if (strcmp(before, now) == 0)
		return;
	dprintf(STDERR_FILENO, "--- it was\n%s--- and is\n%s", before, now);
	abort();
}

/* --- databases --- */

static enum status update(const char *path)
{
	const char *arguments[] = {path};
	struct options options = {
	        .command = "fuzz",
	        .quiet = true,
	        .arguments = arguments,
	        .argument_count = 1,
	};

	return command_update(&options);
}

void answers_update(const char *path)
{
	require(update(path) == STATUS_DONE);
}

void answers_update_refused(const char *path)
{
	require(update(path) == STATUS_COULD_NOT);
}

void answers_update_any(const char *path)
{
	enum status status = update(path);

	require(status == STATUS_DONE || status == STATUS_COULD_NOT);
}

int64_t answers_count(const char *file, const char *statement)
{
	CLEANUP(cleanup_free) char *uri = text_format("file:%s?mode=ro&immutable=1", file);
	sqlite3_stmt *prepared;
	int64_t answer;
	sqlite3 *db = NULL;

	require(uri && sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) ==
	                       SQLITE_OK);
	require(sqlite3_prepare_v2(db, statement, -1, &prepared, NULL) == SQLITE_OK);
	require(sqlite3_step(prepared) == SQLITE_ROW);
	answer = sqlite3_column_int64(prepared, 0);
	sqlite3_finalize(prepared);
	sqlite3_close(db);
	return answer;
}

void answers_check_sound(const char *file)
{
	if (access(file, F_OK) == 0)
		require(answers_count(
		                file,
		                "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1);
}

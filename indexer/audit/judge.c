/*
 * judge.c - see judge.h.
 */
#include "indexer/audit/judge.h"

#include <unistd.h>

#include "db/base/cleanup.h"
#include "indexer/audit/facts.h"

struct judge {
	const struct options *options;
	const struct databases *databases;
	struct worksheet *sheet;
	int64_t sites; /* so far */
	bool failed;   /* something could not be read, which was said */
};

/* The site directories are read one by one: of one that cannot be, the others tell nothing. */
static void read_database(struct judge *judge, const struct database *database)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	struct error error = {0};
	int code = reader_open(database->file, geteuid(), &reader, &error);

	/* Only the past is in no other place. */
	if (code < 0 && code != ERROR_NOTFOUND) {
		judge->failed |= judge->options->since || error_is_failure(code);
		fail(&error);
	}
	error_clear(&error);
	for (size_t i = 0; i < database->root_count && !interrupted(); i++) {
		if (site_read(judge->sheet, ++judge->sites, &database->roots[i], reader, &error) ==
		    0)
			continue;
		judge->failed = true;
		fail(&error);
	}
}

/* What policy forbids, site by site: the rules of an environment are its own. */
static int read_policy_of(struct judge *judge, const char *path, int64_t site, struct error *error)
{
	const entrydb_options how = {.size = sizeof(how), .sysroot = judge->options->sysroot};
	struct worksheet_query *row;
	entrydb *db = NULL;
	entrydb_error own = {0};
	int any = 0, code = entrydb_open(&path, 1, &how, &db, &own);

	if (code == 0)
		code = entrydb_has_policy(db, &any, &own);
	row = code == 0 && any ? worksheet_ask(judge->sheet,
	                                       "SELECT id, group_name, name, title FROM announced "
	                                       "WHERE site = ?")
	                       : NULL;
	worksheet_number(row, site);
	while (code == 0 && worksheet_next(row)) {
		struct worksheet_query *put;
		entrydb_verdict *verdict = NULL;

		code = entrydb_check_policy(db, worksheet_column(row, 1).ptr,
		                            worksheet_column(row, 2).ptr,
		                            worksheet_column(row, 3).ptr, path, &verdict, &own);
		if (code == 0 && !entrydb_verdict_allowed(verdict)) {
			put = worksheet_ask(judge->sheet,
			                    "INSERT INTO forbidden_entry VALUES (?, ?)");
			worksheet_number(put, worksheet_integer(row, 0));
			worksheet_text(put, slice_of(entrydb_verdict_reason(verdict)));
			worksheet_run(put);
		}
		entrydb_verdict_free(verdict);
	}
	entrydb_close(db);
	return code < 0 ? take_error(code, &own, error) : 0;
}

static int read_policies(struct judge *judge, struct error *error)
{
	int64_t site = 0;
	int code = 0;

	for (size_t i = 0; i < judge->databases->count; i++) {
		const struct database *database = &judge->databases->items[i];

		for (size_t j = 0; code == 0 && j < database->root_count; j++)
			code = read_policy_of(judge, database->roots[j].inside, ++site, error);
	}
	return code;
}

static int read_facts(struct judge *judge, struct error *error)
{
	int code = lists_read(judge->sheet, error);

	for (size_t i = 0; code == 0 && i < judge->databases->count && !interrupted(); i++)
		read_database(judge, &judge->databases->items[i]);
	if (code == 0 && interrupted())
		code = error_set(error, ERROR_IO, "interrupted");
	if (code == 0)
		code = files_locate(judge->sheet, error);
	if (code == 0)
		code = bytecode_read(judge->sheet, error);
	if (code == 0)
		code = commands_read(judge->sheet, judge->options->sysroot, error);
	if (code == 0)
		code = set_aside_read(judge->sheet, error);
	if (code == 0)
		code = installed_requirements(judge->sheet, error);
	return code < 0 ? code : read_policies(judge, error);
}

int judge_read(struct worksheet *sheet, const struct options *options,
               const struct databases *databases, bool *failed, struct error *error)
{
	struct judge judge = {.options = options, .databases = databases, .sheet = sheet};
	int code = read_facts(&judge, error);

	*failed |= judge.failed;
	return code;
}

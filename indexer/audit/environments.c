/*
 * environments.c - collects all environments before any rule is applied, since a finding in one may
 * depend on another.
 */
#include <unistd.h>

#include "db/base/cleanup.h"
#include "indexer/audit/collect.h"

static void read_database(struct collect *collect, const struct database *database, int64_t *sites)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	struct error error = {0};
	int code = reader_open(database->file, geteuid(), &reader, &error);

	/* Everything but the history can be read from the disk. */
	if (code < 0 && code != ERROR_NOTFOUND) {
		collect->incomplete |= collect->options->since || error_is_failure(code);
		fail(&error);
	}
	error_clear(&error);
	for (size_t i = 0; i < database->root_count; i++) {
		site_read(collect, ++*sites, &database->roots[i], reader);
		collect_tell(collect);
	}
}

struct catalogued {
	struct collect *collect;
	struct reader *reader;
	int64_t *sites;
};

static int read_archive(void *payload, const struct root_record *root)
{
	struct catalogued *of = payload;

	if (root->kind == ROOT_ARCHIVE)
		site_read_catalogued(of->collect, ++*of->sites, root, of->reader);
	return !collect_goes_on(of->collect);
}

/* The archives and package indexes in the file of --db, which no argument names. */
static void read_catalogue(struct collect *collect, int64_t *sites)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	CLEANUP(cleanup_reader) struct reader *rows = NULL; /* one walk at a time of each */
	const char *file = collect->options->database;
	struct catalogued of = {collect, NULL, sites};
	struct error error = {0};

	if (!file || collect->options->argument_count > 0)
		return;
	if (reader_open(file, geteuid(), &reader, &error) == 0 &&
	    reader_open(file, geteuid(), &rows, &error) == 0) {
		of.reader = rows;
		reader_roots(reader, read_archive, &of, &error);
	}
	error_clear(&error); /* already reported */
}

int collect(struct worksheet *sheet, const struct options *options,
            const struct databases *databases, struct readers readers, bool *incomplete,
            struct error *error)
{
	static void (*const together[])(struct collect *) = {
	        files_locate,        pyc_read,
	        commands_read,       settings_read_quarantine,
	        record_requirements, settings_read_policy,
	};
	struct collect all = {
	        .options = options, .databases = databases, .sheet = sheet, .readers = readers};
	int64_t sites = 0;

	settings_read_lists(&all);
	for (size_t i = 0; i < databases->count && collect_goes_on(&all); i++)
		read_database(&all, &databases->items[i], &sites);
	read_catalogue(&all, &sites);
	for (size_t i = 0; i < sizeof(together) / sizeof(*together) && collect_goes_on(&all); i++) {
		together[i](&all);
		collect_tell(&all);
	}
	collect_goes_on(&all);
	*incomplete |= all.incomplete;
	return error_move(error, &all.error);
}

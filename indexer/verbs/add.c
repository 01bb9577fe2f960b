/*
 * add.c - add archives: which ones (archive_list.c), and to which database.
 *
 *     each argument: a file, or a directory that is searched for archives
 *       lock, copy
 *       read and store them: as archives (catalogue.c), or as installed (into.c)
 *       publish, all of them at once
 *
 * Archives come from anywhere and in any state: one that cannot be read costs one
 * line, and is no reason to leave out the others.
 */
#include <errno.h>
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "indexer/update/edit.h"
#include "indexer/verbs/add_report.h"
#include "indexer/verbs/archive_list.h"
#include "indexer/verbs/catalogue.h"
#include "indexer/verbs/into.h"
#include "libquery/layout.h"

struct add {
	struct archive_list list;
	struct add_report report;
	struct plugin_kinds *kinds;
	struct edit_result result;
};

static void add_free(struct add *add)
{
	archive_list_free(&add->list);
	plugin_kinds_free(add->kinds);
	add_report_close(&add->report);
}

/* --- the database --- */

/* --db, or the user's own, which may describe any path. */
static int find_catalogue(const struct options *options, struct databases *out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage user = {0};

	if (!options->database && layout_of_user("/", &user) == 0)
		return error_set(error, ERROR_NOTFOUND,
		                 "there is no $HOME for a database; name one with --db");
	return databases_add_file(options->database ? options->database : user.database,
	                          !options->database, out, error);
}

/* The database that describes the site directory, with that as its one root. */
static int find_site(const struct options *options, struct databases *out, struct error *error)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(options->into);

	if (!path)
		return error_errno(error, errno, "%s", options->into);
	return databases_add_path(options, true, path, out, error);
}

/* --- the work --- */

static int add_archives(struct edit *edit, void *payload, struct error *error)
{
	struct add *add = payload;
	int code;

	add->report.result = edit->result;
	if (edit->options->into)
		code = into_site(edit, &add->list, add->kinds, &add->report, error);
	else
		code = catalogue_archives(edit, &add->list, add->kinds, &add->report, error);
	progress_erase(&add->report.progress);
	return code;
}

static int run(struct add *add, const struct options *options, const struct database *database,
               struct error *error)
{
	int code = add_report_open(&add->report, options, &add->result, error);

	if (code == 0)
		code = load_kinds(options, &add->kinds, error);
	if (code == 0)
		code = archive_list_find(&add->list, &add->report, error);
	if (code == 0 && add->list.count > 0)
		code = edit_database(options, database, add_archives, add, &add->result, error);
	return code;
}

enum status command_add(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(add_free) struct add add = {0};
	struct error error = {0};
	int code;

	if (options->sysroot && !options->into) {
		message("--root has no meaning for 'add' without --into");
		return STATUS_USAGE;
	}
	code = options->into ? find_site(options, &databases, &error)
	                     : find_catalogue(options, &databases, &error);
	if (code == 0)
		code = run(&add, options, &databases.items[0], &error);
	if (code < 0)
		return fail(&error);
	add_report_summary(&add.report, add.list.count);
	return add.result.failed ? STATUS_COULD_NOT : STATUS_DONE;
}

/*
 * Adds archives that are not installed to a catalogue: the database that --db names, or
 * the user's own.
 *
 * A zip is recorded as importlib.metadata would read it on sys.path, so that a query
 * which names it there finds the rows; other archives are never on a path. An archive
 * whose times are those recorded is not read again. One that cannot be read costs one
 * line, and the others are added all the same; all are published at once.
 */
#include <errno.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/archive/package.h"
#include "indexer/update/edit.h"
#include "indexer/verb.h"
#include "indexer/verbs/add_report.h"
#include "indexer/verbs/archive_list.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/layout.h"

struct add {
	const struct edit *edit; /* while there is one */
	struct archive_list list;
	struct add_report report;
	struct plugin_kinds *kinds;
	struct edit_result result;
};

static void add_free(struct add *add)
{
	archive_list_free(&add->list);
	plugin_kinds_free(add->kinds);
	output_end(&add->report.output, NULL);
}

/* --- one archive --- */

/* Open and scan; any failure is the archive's own. */
static int read_archive(struct add *add, const char *path, const struct root_record *known,
                        struct root_record *root, struct error *error)
{
	CLEANUP(package_close) struct package package = PACKAGE_INIT;
	struct package_scan how = {
	        .known = known, .kinds = add->kinds, .on_progress = progress_ask};
	int code = package_open(path, interrupted, &package, error);

	if (code < 0)
		return code;
	add_report_ignored(&add->report, &package);
	how.now = writer_time_on(add->edit->writer, package.device, false);
	return package_scan(&package, &how, root, error);
}

/* Are its times those recorded, with the same kinds of plugins? 1, 0 or a failure. */
static int is_unchanged(const struct add *add, const struct root_record *known, const char *path,
                        struct error *error)
{
	struct stat status;
	bool settled = known->settled && known->kinds == scan_kinds(known->kind, add->kinds);
	int code = settled ? file_status(AT_FDCWD, path, &status, error) : 0;

	if (code <= 0)
		return code;
	return S_ISREG(status.st_mode) && stamp_equal(known->stamp, stamp_of(&status));
}

static int add_archive(struct add *add, const char *path, const char *root_path,
                       struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	CLEANUP(root_record_free) struct root_record root = {0};
	struct writer *writer = add->edit->writer;
	struct error why = {0};
	int found = writer_find_root(writer, slice_of(root_path), &known, error);
	int unchanged;

	if (found < 0)
		return found;
	unchanged = found ? is_unchanged(add, &known, path, &why) : 0;
	if (unchanged > 0) {
		add_report_archive(&add->report, path, &known, ADD_UNCHANGED);
		return 0;
	}
	if (unchanged < 0 || read_archive(add, path, found ? &known : NULL, &root, &why) < 0)
		return add_report_failed(&add->report, path, &why);
	root.path = slice_of(root_path);
	add_report_archive(&add->report, path, &root, ADD_ADDED);
	return store_root(writer, &root, found ? &known : NULL, &add->edit->result->stored, error);
}

/* Archives are named by their absolute path, or as the prefix of the database spells it. */
static int add_path(struct add *add, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
	CLEANUP(cleanup_free) char *root_path = NULL;
	struct error why = {0};

	if (!absolute) {
		error_errno(&why, errno, "%s", path);
		return add_report_failed(&add->report, path, &why);
	}
	root_path = layout_root_path(add->edit->database->file, absolute);
	return root_path ? add_archive(add, path, root_path, error) : error_nomem(error);
}

/* --- all of them --- */

static int add_archives(struct edit *edit, void *payload, struct error *error)
{
	struct add *add = payload;
	int code = 0;

	add->edit = edit;
	add->report.result = edit->result;
	for (size_t i = 0; code == 0 && i < add->list.count; i++) {
		progress_show(&add->report.progress, add->list.paths[i], i, add->list.count);
		code = interrupted() ? ERROR_IO : add_path(add, add->list.paths[i], error);
	}
	progress_erase(&add->report.progress);
	return code;
}

static int find_catalogue(const struct options *options, struct databases *out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage user = {0};

	if (!options->database && layout_of_user("/", &user) == 0)
		return error_set(error, ERROR_NOTFOUND,
		                 "there is no $HOME for a database; name one with --db");
	return databases_add_file(options->database ? options->database : user.database,
	                          !options->database, out, error);
}

static int run(struct add *add, const struct options *options, const struct database *database,
               struct error *error)
{
	int code = load_kinds(options, &add->kinds, error);

	add_report_open(&add->report, options, &add->result);
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

	if (options->sysroot) {
		message("--root has no meaning for 'add'");
		return STATUS_USAGE;
	}
	code = find_catalogue(options, &databases, &error);
	if (code == 0)
		code = run(&add, options, &databases.items[0], &error);
	if (code < 0)
		return fail(&error);
	add_report_summary(&add.report, add.list.count);
	return add.result.failed ? STATUS_COULD_NOT : STATUS_DONE;
}

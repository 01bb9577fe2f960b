/*
 * catalogue.c - see catalogue.h.
 *
 * A zip is recorded as importlib.metadata would read it on sys.path, so that a query
 * which names it there finds the rows; all else is never on a path, and just written
 * down. An archive that is as the database has it, by its times, is not read again.
 */
#include "indexer/verbs/catalogue.h"

#include <errno.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/archive/package.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/layout.h"

struct catalogue {
	const struct edit *edit;
	const struct plugin_kinds *kinds;
	struct add_report *report;
};

/* Open and scan; any failure is the archive's own. */
static int read_archive(struct catalogue *catalogue, const char *path,
                        const struct root_record *known, struct root_record *root,
                        struct error *error)
{
	CLEANUP(package_close) struct package package = PACKAGE_INIT;
	struct package_scan how = {
	        .known = known, .kinds = catalogue->kinds, .on_progress = progress_ask};
	int code = package_open(path, interrupted, &package, error);

	if (code < 0)
		return code;
	add_report_ignored(catalogue->report, &package);
	how.now = writer_time_on(catalogue->edit->writer, package.device, false);
	return package_scan(&package, &how, root, error);
}

/* Is it as the database has it, by its times, with the same kinds of plugins? 1, 0 or a failure. */
static int is_unchanged(const struct catalogue *catalogue, const struct root_record *known,
                        const char *path, struct error *error)
{
	struct stat status;
	bool settled = known->settled && known->kinds == scan_kinds(known->kind, catalogue->kinds);
	int code = settled ? file_status(AT_FDCWD, path, &status, error) : 0;

	if (code <= 0)
		return code;
	return S_ISREG(status.st_mode) && stamp_equal(known->stamp, stamp_of(&status));
}

static int add_archive(struct catalogue *catalogue, const char *path, const char *root_path,
                       struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	CLEANUP(root_record_free) struct root_record root = {0};
	struct writer *writer = catalogue->edit->writer;
	struct error why = {0};
	int found = writer_find_root(writer, slice_of(root_path), &known, error);
	int unchanged;

	if (found < 0)
		return found;
	unchanged = found ? is_unchanged(catalogue, &known, path, &why) : 0;
	if (unchanged > 0) {
		add_report_archive(catalogue->report, path, &known, ADD_UNCHANGED);
		return 0;
	}
	if (unchanged < 0 || read_archive(catalogue, path, found ? &known : NULL, &root, &why) < 0)
		return add_report_failed(catalogue->report, path, &why);
	root.path = slice_of(root_path);
	add_report_archive(catalogue->report, path, &root, ADD_ADDED);
	return store_root(writer, &root, found ? &known : NULL, &catalogue->edit->result->stored,
	                  error);
}

/* Archives are named by their absolute path, or as the prefix of the database spells it. */
static int add_path(struct catalogue *catalogue, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
	CLEANUP(cleanup_free) char *root_path = NULL;
	struct error why = {0};

	if (!absolute) {
		error_errno(&why, errno, "%s", path);
		return add_report_failed(catalogue->report, path, &why);
	}
	root_path = layout_root_path(catalogue->edit->database->file, absolute);
	return root_path ? add_archive(catalogue, path, root_path, error) : error_nomem(error);
}

int catalogue_archives(struct edit *edit, const struct archive_list *list,
                       const struct plugin_kinds *kinds, struct add_report *report,
                       struct error *error)
{
	struct catalogue catalogue = {edit, kinds, report};
	int code = 0;

	for (size_t i = 0; code == 0 && i < list->count; i++) {
		progress_show(&report->progress, list->paths[i], i, list->count);
		code = interrupted() ? ERROR_IO : add_path(&catalogue, list->paths[i], error);
	}
	return code;
}

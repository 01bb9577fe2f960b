/*
 * add: records archives that are not installed in the database of --db, or the user's own.
 *
 * A zip is recorded as importlib.metadata would read it on sys.path, so that a query with it on the
 * path finds the rows; other archives are never on a path. An archive with unchanged times is not
 * read again. An archive that cannot be read is reported in one line and does not stop the others;
 * all are published together.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "indexer/archive/package.h"
#include "indexer/archive/sdist.h"
#include "indexer/image/kept.h"
#include "indexer/package_index/catalogue.h"
#include "indexer/update/edit.h"
#include "indexer/verb.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/tree/path_index.h"
#include "libquery/layout.h"

struct add {
	const struct options *options;
	struct writer *writer;       /* while there is one */
	struct readers readers;      /* of the published file */
	struct sites archives, seen; /* as spelled, and as absolute paths */
	struct plugin_kinds *kinds;
	struct edit_result result;
	struct progress progress;
	struct output output; /* of --json */
	size_t images;        /* added */
	bool out_of_memory;
};

static void add_free(struct add *add)
{
	sites_free(&add->archives);
	sites_free(&add->seen);
	plugin_kinds_free(add->kinds);
	output_end(&add->output, NULL);
}

/* --- reports --- */

static const struct column columns[] = {
        KEY("archive"),       KEY("state"),        KEY("kind"),
        KEY("distributions"), KEY("entry_points"), KEY("error"),
};

static void put_count(struct output *output, bool is_known, size_t count)
{
	if (is_known)
		output_number(output, (int64_t)count);
	else
		output_string(output, NULL);
}

static void put(struct add *add, const char *path, const char *state,
                const struct root_record *root, bool is_read, struct slice reason)
{
	struct output *output = &add->output;
	size_t entry_points = 0;

	for (size_t i = 0; root && i < root->distribution_count; i++)
		entry_points += root->distributions[i].entry_point_count;
	output_string(output, path);
	output_string(output, state);
	output_string(output, !root ? NULL : root->kind == ROOT_ARCHIVE ? "archive" : "zip");
	put_count(output, root, root ? root->distribution_count : 0);
	put_count(output, is_read, entry_points);
	output_text(output, reason);
}

/* Most reasons start with the file's name, which the message already has. */
static struct slice without_name(struct slice reason, const char *path)
{
	struct slice name = slice_of(path);

	if (slice_starts(reason, name) && slice_starts(slice_from(reason, name.len), SLICE(": ")))
		return slice_from(reason, name.len + 2);
	return reason;
}

/* Report an archive that could not be read; @why is cleared. */
static void report_failed(struct add *add, const char *path, struct error *why)
{
	struct slice reason = without_name(slice_of(error_text(why)), path);

	if (!interrupted()) {
		add->result.failed++;
		progress_erase(&add->progress);
		message("%s: %.*s", path, (int)reason.len, reason.ptr);
		put(add, path, "failed", NULL, false, reason);
	}
	error_clear(why);
}

/* Report an archive and its broken distributions, except those that need a build. */
static void report_archive(struct add *add, const char *path, const struct root_record *root,
                           bool is_unchanged)
{
	struct slice first = {0};
	bool broken = false;

	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *row = &root->distributions[i];
		bool needs_build = slice_ends(row->error, SLICE(SDIST_NEEDS_BUILD));
		struct slice reason = without_name(row->error, path);

		first = slice_is_null(first) ? row->error : first;
		add->result.needing_build += needs_build;
		add->result.distributions++;
		add->result.entry_points += row->entry_point_count;
		if (slice_is_null(reason) || needs_build)
			continue;
		broken = true;
		progress_erase(&add->progress);
		message("%s: %.*s: %.*s", path, (int)row->directory.len, row->directory.ptr,
		        (int)reason.len, reason.ptr);
	}
	add->result.failed += broken;
	add->result.unchanged += is_unchanged;
	put(add, path, is_unchanged ? "unchanged" : "added", root, !is_unchanged, first);
}

static void summarize(const struct add *add)
{
	const struct edit_result *result = &add->result;
	char unchanged[64] = "", build[128] = "", failed[64] = "", images[64] = "";

	if (result->unchanged)
		snprintf(unchanged, sizeof(unchanged), " (%zu unchanged)", result->unchanged);
	if (result->needing_build)
		snprintf(build, sizeof(build), "; %zu " SDIST_NEEDS_BUILD, result->needing_build);
	if (add->images)
		snprintf(images, sizeof(images), "; %zu images", add->images);
	if (result->failed)
		snprintf(failed, sizeof(failed), "; %zu could not be read", result->failed);
	note(add->options, "%zu archives%s, %zu distributions, %zu entry points%s%s%s",
	     add->archives.count + add->images, unchanged, result->distributions,
	     result->entry_points, build, images, failed);
}

/* --- finding archives --- */

static void complain(struct add *add, const char *path, int errnum)
{
	struct error why = {0};

	error_errno(&why, errnum, "%s", path);
	report_failed(add, path, &why);
}

/* Add @path if it is an image; images are stored separately. */
static bool add_image(struct add *add, const char *path)
{
	struct error why = {0};
	int code = interrupted() ? 0 : image_add(add->options, path, &why);

	if (code < 0)
		report_failed(add, path, &why);
	if (code <= 0)
		return code < 0;
	add->images++;
	add->result.unchanged += code > 1;
	output_string(&add->output, path);
	output_string(&add->output, code > 1 ? "unchanged" : "added");
	output_string(&add->output, "image");
	for (int left = 3; left > 0; left--)
		output_string(&add->output, NULL);
	return true;
}

/* Each once, as spelled by the user. */
static void find_archive(struct add *add, const char *path)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
	size_t before = add->seen.count;

	add->out_of_memory |= !sites_add(&add->seen, absolute ? absolute : path);
	if (add->seen.count > before && !add_image(add, path))
		add->out_of_memory |= !sites_add(&add->archives, path);
}

/*
 * Sorted by name, so that the same directory gives the same rows. Links to files are opened; links
 * to directories are not followed.
 */
static void search_directory(struct add *add, const char *directory)
{
	const char *slash = slice_ends(slice_of(directory), SLICE("/")) ? "" : "/";
	CLEANUP(cleanup_closedir) DIR *opened = file_open_directory(AT_FDCWD, directory);
	CLEANUP(path_index_free) struct path_index names = {0};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	const char *name;
	int more = -1;

	while (opened && (more = file_next(opened, &name)) > 0)
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			add->out_of_memory |= !path_index_add(
			        &names, arena_copy(&arena, slice_of(name), &add->out_of_memory));
	if (more < 0)
		complain(add, directory, errno);
	path_index_sort(&names);
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP(cleanup_free)
		char *path = text_format("%s%s%s", directory, slash, names.paths[i].ptr);
		struct stat status;

		add->out_of_memory |= !path;
		if (add->out_of_memory || interrupted())
			continue;
		if (fstatat(dirfd(opened), names.paths[i].ptr, &status, AT_SYMLINK_NOFOLLOW) != 0)
			complain(add, path, errno);
		else if (S_ISDIR(status.st_mode))
			search_directory(add, path);
		else if ((S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) &&
		         package_is_archive(names.paths[i].ptr))
			find_archive(add, path);
	}
}

/*
 * An argument is an archive with any name, or a directory that is searched for archives by name.
 * Missing files are reported when they are opened.
 */
static int find_archives(struct add *add, struct error *error)
{
	for (size_t i = 0; i < add->options->argument_count; i++) {
		const char *path = add->options->arguments[i];
		struct stat status;
		bool found = file_status(AT_FDCWD, path, &status, NULL) > 0;

		if (!found && errno_is_failure(errno))
			complain(add, path, errno);
		else if (found && S_ISDIR(status.st_mode) && add_image(add, path))
			continue;
		else if (found && S_ISDIR(status.st_mode))
			search_directory(add, path);
		else
			find_archive(add, path);
	}
	return add->out_of_memory ? error_nomem(error) : 0;
}

/* --- one archive --- */

/* Open and scan one archive. */
static int read_archive(struct add *add, const char *path, const struct root_record *known,
                        struct root_record *root, struct error *error)
{
	CLEANUP(package_close) struct package package = PACKAGE_INIT;
	struct scan_options how = {.known = known,
	                           .kinds = add->kinds,
	                           .readers = add->readers, /* RPATH may lead out of the archive */
	                           .on_progress = progress_ask};
	int code = package_open(path, add->readers, interrupted, &package, error);

	if (code < 0)
		return code;
	if (package.members.ignored) {
		progress_erase(&add->progress);
		note(add->options,
		     "%s: ignored %zu members that are links or lead outside it, such as %.*s",
		     path, package.members.ignored, (int)package.members.example.len,
		     package.members.example.ptr);
	}
	how.now = writer_time_on(add->writer, package.device, false);
	return package_scan(&package, &how, root, error);
}

/* Does its stamp equal the recorded one, with the same kinds of plugins? 1, 0 or a failure. */
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
	struct error why = {0};
	int found = writer_find_root(add->writer, slice_of(root_path), &known, error);
	int unchanged;

	if (found < 0)
		return found;
	unchanged = found ? is_unchanged(add, &known, path, &why) : 0;
	if (unchanged > 0) {
		report_archive(add, path, &known, true);
		return 0;
	}
	if (unchanged < 0 || read_archive(add, path, found ? &known : NULL, &root, &why) < 0) {
		report_failed(add, path, &why);
		return 0;
	}
	root.path = slice_of(root_path);
	report_archive(add, path, &root, false);
	return store_root(add->writer, &root, found ? &known : NULL, &add->result.stored, error);
}

/* --- all archives --- */

/* Archives are stored by their absolute path, or relative to the database's prefix. */
static int add_archives(struct edit *edit, void *payload, struct error *error)
{
	struct add *add = payload;
	int code = 0;

	add->writer = edit->writer;
	for (size_t i = 0; code == 0 && i < add->archives.count && !interrupted(); i++) {
		const char *path = add->archives.paths[i];
		CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
		CLEANUP(cleanup_free) char *root_path = NULL;

		progress_show(&add->progress, path, i, add->archives.count);
		if (!absolute) {
			complain(add, path, errno);
			continue;
		}
		root_path = layout_root_path(edit->database->file, absolute);
		code = root_path ? databases_narrow(absolute, edit->database->real, &edit->mode,
		                                    error)
		                 : error_nomem(error);
		add->readers = database_readers(edit->database, edit->mode);
		if (code == 0)
			code = add_archive(add, path, root_path, error);
	}
	progress_erase(&add->progress);
	return code == 0 && interrupted() ? ERROR_IO : code;
}

int command_add(const struct options *options, struct error *error)
{
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(add_free)
	struct add add = {
	        .options = options,
	        .progress = progress_begin("reading", options->quiet),
	        .output = OUTPUT_BEGIN(columns, options->json),
	};
	CLEANUP(coverage_free) struct coverage user = {0};
	int code;

	if (options->index)
		return catalogue_add(options, error);
	if (options->all || options->all_versions || options->requirements || options->python)
		return usage_error("add", "that is for add --index");
	if (options->argument_count == 0)
		return usage_error("add", "name archives, or give --index");
	if (!options->database && layout_of_user("/", &user) == 0)
		return error_set(error, ERROR_NOTFOUND,
		                 "there is no $HOME for a database; name one with --db");
	code = databases_add_file(options->database ? options->database : user.database, NULL,
	                          !options->database, &databases, error);
	if (code == 0)
		code = load_kinds(options, &add.kinds, error);
	if (code == 0)
		code = find_archives(&add, error);
	if (code == 0 && add.archives.count > 0)
		code = edit_database(options, &databases.items[0], add_archives, &add, &add.result,
		                     error);
	if (code < 0)
		return code;
	summarize(&add);
	return add.result.failed ? STATUS_COULD_NOT : STATUS_DONE;
}

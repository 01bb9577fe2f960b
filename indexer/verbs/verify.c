/*
 * verify.c - the database against the disk.
 *
 * Each root is read from the disk in full, as if there were no database, and
 * compared with its rows; then the files whose hash RECORD gave are hashed. Each
 * difference is a line on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "db/reader.h"
#include "indexer/databases.h"
#include "indexer/file_hash.h"
#include "indexer/output.h"
#include "indexer/progress.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/layout.h"
#include "libquery/site_kinds.h"

struct verify {
	const struct options *options;
	const struct database *database;
	const struct database_root *wanted;
	struct output output;
	mode_t readers; /* of the database; see scan.h */
	struct linkage *linkage;
	struct plugin_kinds *kinds;
	size_t differences, distributions, hashes;
	bool failed;
};

static const struct column columns[] = {
        KEY("database"),
        KEY("path"),
        KEY("distribution"),
        KEY("difference"),
};

static void differ(struct verify *verify, struct slice distribution, const char *what)
{
	verify->differences++;
	if (!verify->options->json) {
		print_line(STYLE_PLAIN, "%s%s%.*s: %s", verify->wanted->path,
		           distribution.len ? "/" : "", (int)distribution.len, distribution.ptr,
		           what);
		return;
	}
	output_string(&verify->output, verify->database->file);
	output_string(&verify->output, verify->wanted->path);
	output_text(&verify->output, distribution);
	output_string(&verify->output, what);
}

/* --- rows --- */

static bool same_entry_points(const struct distribution_record *a,
                              const struct distribution_record *b)
{
	if (a->entry_point_count != b->entry_point_count)
		return false;
	for (size_t i = 0; i < a->entry_point_count; i++)
		if (!slice_equal(a->entry_points[i].group, b->entry_points[i].group) ||
		    !slice_equal(a->entry_points[i].name, b->entry_points[i].name) ||
		    !slice_equal(a->entry_points[i].value, b->entry_points[i].value))
			return false;
	return true;
}

/* A Python module at hand has no target. */
static bool same_target(const struct target_record *a, const struct target_record *b)
{
	struct target_record left = {.kind = TARGET_PYTHON}, right = left;
	struct slice *of_a[TARGET_TEXTS], *of_b[TARGET_TEXTS];

	left = a ? *a : left;
	right = b ? *b : right;
	target_texts(&left, of_a);
	target_texts(&right, of_b);
	for (size_t i = 0; i < TARGET_TEXTS; i++)
		if (!slice_equal(*of_a[i], *of_b[i]))
			return false;
	return left.kind == right.kind && left.state == right.state;
}

/* What they lead to depends on libraries elsewhere, too. @disk has the same entry points. */
static bool same_targets(const struct distribution_record *row,
                         const struct distribution_record *disk)
{
	for (size_t i = 0; i < row->entry_point_count; i++)
		if (!same_target(row->entry_points[i].target, disk->entry_points[i].target))
			return false;
	return true;
}

static bool same_plugins(const struct distribution_record *a, const struct distribution_record *b)
{
	if (a->plugin_count != b->plugin_count)
		return false;
	for (size_t i = 0; i < a->plugin_count; i++)
		if (!slice_equal(a->plugins[i].kind, b->plugins[i].kind) ||
		    !slice_equal(a->plugins[i].name, b->plugins[i].name) ||
		    !same_target(&a->plugins[i].target, &b->plugins[i].target))
			return false;
	return true;
}

static void compare_distributions(struct verify *verify, bool same_place,
                                  const struct distribution_record *row,
                                  const struct distribution_record *disk)
{
	if (!slice_equal(row->name, disk->name) || !slice_equal(row->version, disk->version))
		differ(verify, disk->directory, "name or version differs from that on disk");
	if (!same_entry_points(row, disk))
		differ(verify, disk->directory, "entry points differ from those on disk");
	else if (!same_targets(row, disk))
		differ(verify, disk->directory, "what its entry points lead to is not as it was");
	if (!same_plugins(row, disk))
		differ(verify, disk->directory, "its plugins are not as they were");
	if (slice_is_null(row->error) != slice_is_null(disk->error))
		differ(verify, disk->directory,
		       slice_is_null(disk->error) ? "it can be read now" : "it cannot be read now");
	if (!same_place)
		differ(verify, disk->directory,
		       "its position in the directory differs from that on disk");
}

/* @in_order: the rows are in the order of this very directory. */
static int compare_roots(struct verify *verify, const struct root_record *rows,
                         const struct root_record *disk, bool in_order)
{
	struct name_map by_directory = {0};
	CLEANUP(cleanup_free) bool *met = calloc(rows->distribution_count + 1, sizeof(*met));
	bool same_length = rows->distribution_count == disk->distribution_count;
	bool failed = met == NULL;

	for (size_t i = 0; i < rows->distribution_count; i++)
		name_map_put(&by_directory, rows->distributions[i].directory, (uint32_t)i, &failed);
	for (size_t i = 0; !failed && i < disk->distribution_count; i++) {
		const struct distribution_record *now = &disk->distributions[i];
		uint32_t at = name_map_get(&by_directory, now->directory);

		if (at == NAME_MAP_NONE) {
			differ(verify, now->directory, "not in the database");
			continue;
		}
		met[at] = true;
		compare_distributions(verify, !in_order || !same_length || at == i,
		                      &rows->distributions[at], now);
	}
	for (size_t i = 0; !failed && i < rows->distribution_count; i++)
		if (!met[i])
			differ(verify, rows->distributions[i].directory, "not on the disk");
	name_map_free(&by_directory);
	return failed ? ERROR_NOMEM : 0;
}

/* --- hashes --- */

static int compare_hash(struct verify *verify, struct slice directory, struct slice file,
                        struct slice recorded, struct error *error)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%.*s", verify->wanted->path, (int)file.len, file.ptr);
	CLEANUP(cleanup_free) char *what = NULL;
	struct error own = {0};
	int code = path ? file_hash_matches(path, recorded, &own) : error_nomem(&own);

	if (code < 0 && code != ERROR_NOTFOUND && code != ERROR_PERMISSION && code != ERROR_INVALID)
		return error_move(error, &own); /* that a read fails is not a difference */
	error_clear(&own);
	verify->hashes += code != ERROR_INVALID;
	if (code > 0 || code == ERROR_INVALID)
		return 0;
	what = text_format("%.*s: %s", (int)file.len, file.ptr,
	                   code < 0 ? "it cannot be read"
	                            : "not the file that was installed: RECORD has another hash");
	if (!what)
		return error_nomem(error);
	differ(verify, directory, what);
	return 0;
}

static int compare_hashes_of(struct verify *verify, const struct distribution_record *row,
                             struct error *error)
{
	CLEANUP(cleanup_free)
	char *file =
	        text_format("%.*s/entry_points.txt", (int)row->directory.len, row->directory.ptr);
	int code = file ? 0 : error_nomem(error);

	if (code == 0 && !slice_is_null(row->record_sha256))
		code = compare_hash(verify, row->directory, slice_of(file), row->record_sha256,
		                    error);
	for (size_t i = 0; code == 0 && i < row->entry_point_count; i++) {
		const struct target_record *target = row->entry_points[i].target;

		if (target && !slice_is_null(target->object) && !slice_is_null(target->sha256))
			code = compare_hash(verify, row->directory, target->object, target->sha256,
			                    error);
	}
	return code;
}

static int compare_hashes(struct verify *verify, const struct root_record *rows,
                          struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < rows->distribution_count && !interrupted(); i++)
		code = compare_hashes_of(verify, &rows->distributions[i], error);
	return code;
}

/* --- one root --- */

/* Was the root carried? Then readers take its order from the directory. 1, 0 or an error. */
static int was_carried(struct reader *reader, const struct root_record *rows,
                       const struct root_record *disk, struct error *error)
{
	struct carried carried;
	int code = reader_carried(reader, &carried, error);

	return code > 0 ? carried_with(&carried, rows->stamp, disk->stamp) : code;
}

static int verify_root(struct verify *verify, struct reader *reader, struct error *error)
{
	CLEANUP(root_record_free) struct root_record rows = {0};
	CLEANUP(root_record_free) struct root_record disk = {0};
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA | SCAN_STARTUP,
	        .targets = target_records,
	        .in_place = !layout_is_known(verify->wanted->inside),
	        .egg_base = slice_of(verify->wanted->root_path),
	        .readers = verify->readers,
	        .linkage = verify->linkage,
	        .place = slice_of(verify->wanted->inside),
	        .kinds = verify->kinds,
	        .on_progress = progress_ask,
	};
	int carried, code = reader_root(reader, slice_of(verify->wanted->root_path), &rows, error);

	if (code < 0)
		return code;
	if (code == 0) {
		differ(verify, SLICE(""), "not in the database");
		return 0;
	}
	code = reader_distributions(reader, &rows, true, error);
	if (code == 0)
		code = reader_startups(reader, &rows, error);
	if (code == 0)
		code = scan_path(verify->wanted->path, &how, &disk, error);
	carried = code == 0 ? was_carried(reader, &rows, &disk, error) : 0;
	if (code == 0)
		code = carried < 0 ? carried : compare_roots(verify, &rows, &disk, !carried);
	if (code == 0 && !startups_equal(&rows, &disk))
		differ(verify, SLICE(""), "its start-up code differs from that on disk");
	if (code == 0 && rows.kind == ROOT_DIRECTORY)
		code = compare_hashes(verify, &rows, error);
	verify->distributions += rows.distribution_count;
	return code;
}

static int verify_database(struct verify *verify, struct error *error)
{
	const struct database *database = verify->database;
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	int code = reader_open(database->file, geteuid(), &reader, error);
	mode_t mode = 0;

	if (code == ERROR_NOTFOUND)
		error_set(error, code, "%s: there is no such database; 'entrydb update' makes it",
		          database->file);
	if (code == 0)
		code = database_mode(database, &mode, error);
	verify->readers = mode & 0444;
	for (size_t i = 0; code == 0 && i < database->root_count && !interrupted(); i++) {
		verify->wanted = &database->roots[i];
		code = verify_root(verify, reader, error);
	}
	return code;
}

/* --- the command --- */

static enum status conclude(const struct verify *verify)
{
	note(verify->options, "%zu distributions compared, %zu files hashed, %zu differences",
	     verify->distributions, verify->hashes, verify->differences);
	if (verify->failed)
		return STATUS_COULD_NOT;
	return verify->differences ? STATUS_NOT_FOUND : STATUS_DONE;
}

/* What the objects are judged by. */
static int prepare(struct verify *verify, struct error *error)
{
	verify->linkage = linkage_create(verify->options->sysroot);
	if (!verify->linkage)
		return error_nomem(error);
	return site_kinds_load(verify->options->sysroot, &verify->kinds, NULL, error);
}

static void release(struct verify *verify)
{
	linkage_free(verify->linkage);
	plugin_kinds_free(verify->kinds);
	output_end(&verify->output, NULL);
}

enum status command_verify(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct verify verify = {
	        .options = options,
	        .output = OUTPUT_BEGIN(columns, options->json),
	};
	struct error error = {0};
	int code;

	if (options->database && options->argument_count == 0)
		code = databases_of_file(options, &databases, &error);
	else
		code = databases_of_arguments(options, false, &databases, &error);
	if (code == 0)
		code = prepare(&verify, &error);
	if (code < 0) {
		release(&verify);
		return fail(&error);
	}
	for (size_t i = 0; i < databases.count && !interrupted(); i++) {
		verify.database = &databases.items[i];
		if (verify_database(&verify, &error) < 0) {
			verify.failed = true;
			fail(&error);
		}
	}
	release(&verify);
	return conclude(&verify);
}

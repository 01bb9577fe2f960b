/*
 * verify: compares the database with the disk. Each root is scanned in full, as if there were no
 * database, and compared with its rows; then files with a hash in RECORD are hashed. Each
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
#include "indexer/update/needed.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/target/plugin_kinds.h"

struct verify {
	const struct options *options;
	const struct database *database;
	const struct database_root *wanted;
	struct output output;
	struct readers readers; /* of the database; see scan.h */
	struct linkage *linkage;
	struct plugin_kinds *kinds;
	size_t differences, distributions, hashes;
	off_t left; /* bytes that may be hashed */
};

static const struct column columns[] = {KEY("database"), KEY("path"), KEY("distribution"),
                                        KEY("difference")};

static void differ(struct verify *verify, struct slice distribution, const char *what)
{
	verify->differences++;
	if (!verify->options->json)
		print_line(STYLE_PLAIN, "%s%s%.*s: %s", verify->wanted->path,
		           distribution.len ? "/" : "", (int)distribution.len, distribution.ptr,
		           what);
	output_string(&verify->output, verify->database->file);
	output_string(&verify->output, verify->wanted->path);
	output_text(&verify->output, distribution);
	output_string(&verify->output, what);
}

/* --- rows --- */

/* An existing Python module has no target. */
static bool same_target(const struct target_record *a, const struct target_record *b)
{
	struct target_record left = a ? *a : (struct target_record){.kind = TARGET_PYTHON};
	struct target_record right = b ? *b : (struct target_record){.kind = TARGET_PYTHON};
	struct slice *of_a[TARGET_TEXTS], *of_b[TARGET_TEXTS];
	bool same = left.kind == right.kind && left.state == right.state;

	target_texts(&left, of_a);
	target_texts(&right, of_b);
	for (size_t i = 0; same && i < TARGET_TEXTS; i++)
		same = slice_equal(*of_a[i], *of_b[i]);
	return same;
}

static bool same_entry_points(const struct distribution_record *a,
                              const struct distribution_record *b, bool with_targets)
{
	bool same = a->entry_point_count == b->entry_point_count;

	for (size_t i = 0; same && i < a->entry_point_count; i++) {
		const struct entry_point_record *one = &a->entry_points[i];
		const struct entry_point_record *other = &b->entry_points[i];

		same = slice_equal(one->group, other->group) &&
		       slice_equal(one->name, other->name) &&
		       slice_equal(one->value, other->value) &&
		       (!with_targets || same_target(one->target, other->target));
	}
	return same;
}

static bool same_plugins(const struct distribution_record *a, const struct distribution_record *b)
{
	bool same = a->plugin_count == b->plugin_count;

	for (size_t i = 0; same && i < a->plugin_count; i++)
		same = slice_equal(a->plugins[i].group, b->plugins[i].group) &&
		       slice_equal(a->plugins[i].name, b->plugins[i].name) &&
		       same_target(a->plugins[i].target, b->plugins[i].target);
	return same;
}

/* Targets also depend on libraries elsewhere. */
static void compare_distributions(struct verify *verify, bool same_place,
                                  const struct distribution_record *row,
                                  const struct distribution_record *disk)
{
	bool same_lines = same_entry_points(row, disk, false);
	bool was_read = slice_is_null(row->error), is_read = slice_is_null(disk->error);
	const struct {
		bool same;
		const char *what;
	} all[] = {
	        {slice_equal(row->name, disk->name) && slice_equal(row->version, disk->version),
	         "name or version differs from that on disk"},
	        {same_lines, "entry points differ from those on disk"},
	        {!same_lines || same_entry_points(row, disk, true),
	         "the targets of its entry points have changed"},
	        {same_plugins(row, disk), "its plugins have changed"},
	        {was_read || !is_read, "it can be read now"},
	        {!was_read || is_read, "it cannot be read now"},
	        {same_place, "its position in the directory differs from that on disk"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!all[i].same)
			differ(verify, disk->directory, all[i].what);
}

/* @in_order: the rows have the order of this directory. */
static int compare_roots(struct verify *verify, const struct root_record *rows,
                         const struct root_record *disk, bool in_order)
{
	CLEANUP(name_map_free) struct name_map by_directory = {0};
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
	return failed ? ERROR_NOMEM : 0;
}

/* --- hashes --- */

/* A transient failure is not a difference. */
static int compare_hash(struct verify *verify, struct slice directory, struct slice file,
                        struct slice recorded, struct error *error)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%.*s", verify->wanted->path, (int)file.len, file.ptr);
	CLEANUP(cleanup_free) char *what = NULL;
	struct error own = {0};
	int code = path ? file_hash_matches(READERS_NONE, path, recorded, &verify->left, &own)
	                : error_nomem(&own);

	if (code < 0 && code != ERROR_NOTFOUND && code != ERROR_PERMISSION &&
	    code != ERROR_INVALID && code != ERROR_LIMIT)
		return error_move(error, &own);
	error_clear(&own);
	verify->hashes += code != ERROR_INVALID;
	if (code > 0 || code == ERROR_INVALID)
		return 0;
	what = text_format("%.*s: %s", (int)file.len, file.ptr,
	                   code == ERROR_LIMIT ? FILE_HASH_TOO_LARGE
	                   : code < 0          ? "it cannot be read"
	                              : "not the file that was installed: RECORD has another hash");
	if (what)
		differ(verify, directory, what);
	return what ? 0 : error_nomem(error);
}

static int compare_hashes(struct verify *verify, const struct distribution_record *row,
                          struct error *error)
{
	struct slice directory = row->directory, last = {0};
	CLEANUP(cleanup_free)
	char *file = text_format("%.*s/entry_points.txt", (int)directory.len, directory.ptr);
	int code = file ? 0 : error_nomem(error);

	if (code == 0 && !slice_is_null(row->record_sha256))
		code = compare_hash(verify, directory, slice_of(file), row->record_sha256, error);
	for (size_t i = 0; code == 0 && i < row->entry_point_count; i++) {
		const struct target_record *target = row->entry_points[i].target;

		if (target && !slice_is_null(target->object) && !slice_is_null(target->sha256) &&
		    !slice_equal(target->object, last))
			code = compare_hash(verify, directory, target->object, target->sha256,
			                    error);
		last = target ? target->object : last;
	}
	return code;
}

/* --- one root --- */

static int verify_root(struct verify *verify, struct reader *reader, struct error *error)
{
	CLEANUP(root_record_free) struct root_record rows = {0};
	CLEANUP(root_record_free) struct root_record disk = {0};
	const struct scan_options how =
	        root_scan(verify->wanted, verify->readers, verify->linkage, verify->kinds);
	struct carried carried;
	int code = reader_root(reader, slice_of(verify->wanted->root_path), &rows, error);

	verify->left = FILE_HASH_ALL;
	if (code == 0)
		differ(verify, SLICE(""), "not in the database");
	if (code <= 0)
		return code;
	code = reader_distributions(reader, &rows, true, error);
	if (code == 0)
		code = reader_startups(reader, &rows, error);
	if (code == 0)
		code = scan_path(verify->wanted->path, &how, &disk, error);
	if (code == 0)
		code = reader_carried(reader, &carried, error);
	/* Readers take the order of a carried tree from the directory. */
	if (code >= 0)
		code = compare_roots(verify, &rows, &disk,
		                     !(code > 0 && carried_with(&carried, rows.stamp, disk.stamp)));
	if (code == 0 && !startups_equal(&rows, &disk))
		differ(verify, SLICE(""), "its start-up code differs from that on disk");
	for (size_t i = 0; code == 0 && rows.kind == ROOT_DIRECTORY &&
	                   i < rows.distribution_count && !interrupted();
	     i++)
		code = compare_hashes(verify, &rows.distributions[i], error);
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
		error_set(error, code, "%s: no such database; 'entrydb update' creates it",
		          database->file);
	if (code == 0)
		code = database_mode(verify->options, database, reader, &mode, error);
	verify->readers = database_readers(database, mode);
	linkage_free(verify->linkage);
	verify->linkage = linkage_create(verify->options->sysroot, verify->readers);
	if (code == 0 && !verify->linkage)
		code = error_nomem(error);
	for (size_t i = 0; code == 0 && i < database->root_count && !interrupted(); i++) {
		verify->wanted = &database->roots[i];
		code = verify_root(verify, reader, error);
	}
	return code;
}

/* --- the command --- */

static void verify_free(struct verify *verify)
{
	linkage_free(verify->linkage);
	plugin_kinds_free(verify->kinds);
	output_end(&verify->output, NULL);
}

int command_verify(const struct options *options, struct error *error)
{
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(verify_free)
	struct verify verify = {
	        .options = options,
	        .output = OUTPUT_BEGIN(columns, options->json),
	};
	bool failed = false;
	int code = databases_of_arguments(options, false, &databases, error);

	if (code == 0)
		code = plugin_kinds_load(options->sysroot, &verify.kinds, NULL, error);
	if (code < 0)
		return code;
	for (size_t i = 0; i < databases.count && !interrupted(); i++) {
		verify.database = &databases.items[i];
		if (verify_database(&verify, error) < 0) {
			failed = true;
			fail(error);
		}
	}
	note(options, "%zu distributions compared, %zu files hashed, %zu differences",
	     verify.distributions, verify.hashes, verify.differences);
	if (failed)
		return STATUS_COULD_NOT;
	return verify.differences ? STATUS_NOT_FOUND : STATUS_DONE;
}

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

#include "cleanup.h"
#include "databases.h"
#include "hash.h"
#include "json.h"
#include "layout.h"
#include "name_map.h"
#include "progress.h"
#include "reader.h"
#include "scan.h"

struct verify {
	const struct options *options;
	const struct database *database;
	const struct database_root *wanted;
	struct json *json; /* NULL: text */
	size_t differences, distributions, hashes;
	bool failed;
};

static const char *const keys[] = {"database", "path", "distribution", "difference"};

static void differ(struct verify *verify, struct slice distribution, const char *what)
{
	verify->differences++;
	if (verify->json) {
		json_text(verify->json, 0, slice_of(verify->database->file));
		json_text(verify->json, 1, slice_of(verify->wanted->path));
		json_text(verify->json, 2, distribution);
		json_text(verify->json, 3, slice_of(what));
		json_write(verify->json, stdout, NULL);
		return;
	}
	printf("%s%s%.*s: %s\n", verify->wanted->path, distribution.len ? "/" : "",
	       (int)distribution.len, distribution.ptr, what);
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

static void compare_distributions(struct verify *verify, bool same_place,
                                  const struct distribution_record *row,
                                  const struct distribution_record *disk)
{
	if (!slice_equal(row->name, disk->name) || !slice_equal(row->version, disk->version))
		differ(verify, disk->directory, "name or version are others on the disk");
	if (!same_entry_points(row, disk))
		differ(verify, disk->directory, "its entry points are others on the disk");
	if (slice_is_null(row->error) != slice_is_null(disk->error))
		differ(verify, disk->directory,
		       slice_is_null(disk->error) ? "it can be read now" : "it cannot be read now");
	if (!same_place)
		differ(verify, disk->directory, "the directory lists it at another place");
}

static int compare_roots(struct verify *verify, const struct root_record *rows,
                         const struct root_record *disk)
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
		compare_distributions(verify, !same_length || at == i, &rows->distributions[at],
		                      now);
	}
	for (size_t i = 0; !failed && i < rows->distribution_count; i++)
		if (!met[i])
			differ(verify, rows->distributions[i].directory, "not on the disk");
	name_map_free(&by_directory);
	return failed ? ERROR_NOMEM : 0;
}

/* --- hashes --- */

static void compare_hash(struct verify *verify, struct slice directory, struct slice file,
                         struct slice recorded)
{
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *what = NULL;
	const char *why = "not the file that was installed: RECORD has another hash";
	char text[HASH_TEXT_SIZE];

	if (!slice_starts(recorded, SLICE("sha256=")))
		return;
	if (asprintf(&path, "%s/%.*s", verify->wanted->path, (int)file.len, file.ptr) < 0) {
		path = NULL;
		return;
	}
	verify->hashes++;
	if (hash_file(path, text, NULL) < 0)
		why = "it cannot be read";
	else if (slice_equal(slice_of(text), recorded))
		return;
	if (asprintf(&what, "%.*s: %s", (int)file.len, file.ptr, why) < 0)
		what = NULL;
	differ(verify, directory, what ? what : "another hash");
}

static void compare_hashes(struct verify *verify, const struct root_record *rows)
{
	for (size_t i = 0; i < rows->distribution_count && !interrupted(); i++) {
		const struct distribution_record *row = &rows->distributions[i];
		CLEANUP(cleanup_free) char *file = NULL;

		if (!slice_is_null(row->record_sha256) &&
		    asprintf(&file, "%.*s/entry_points.txt", (int)row->directory.len,
		             row->directory.ptr) > 0)
			compare_hash(verify, row->directory, slice_of(file), row->record_sha256);
		for (size_t j = 0; j < row->entry_point_count; j++) {
			const struct target_record *target = row->entry_points[j].target;

			if (target && !slice_is_null(target->object) &&
			    !slice_is_null(target->sha256))
				compare_hash(verify, row->directory, target->object,
				             target->sha256);
		}
	}
}

/* --- one root --- */

static int verify_root(struct verify *verify, struct reader *reader, struct error *error)
{
	CLEANUP(root_record_free) struct root_record rows = {0};
	CLEANUP(root_record_free) struct root_record disk = {0};
	struct scan_options how = {
	        .depth = SCAN_METADATA | SCAN_HAS_METADATA,
	        .in_place = !layout_is_known(verify->wanted->inside),
	        .egg_base = slice_of(verify->wanted->root_path),
	};
	int code = reader_root(reader, slice_of(verify->wanted->root_path), &rows, error);

	if (code < 0)
		return code;
	if (code == 0) {
		differ(verify, SLICE(""), "not in the database");
		return 0;
	}
	code = reader_distributions(reader, &rows, true, error);
	if (code == 0)
		code = scan_path(verify->wanted->path, &how, &disk, error);
	if (code == 0)
		code = compare_roots(verify, &rows, &disk);
	if (code == 0 && rows.kind == ROOT_DIRECTORY)
		compare_hashes(verify, &rows);
	verify->distributions += rows.distribution_count;
	return code;
}

static int verify_database(struct verify *verify, struct error *error)
{
	const struct database *database = verify->database;
	struct reader *reader;
	int code = reader_open(database->file, geteuid(), &reader, error);

	if (code < 0)
		return code;
	for (size_t i = 0; code == 0 && i < database->root_count && !interrupted(); i++) {
		verify->wanted = &database->roots[i];
		code = verify_root(verify, reader, error);
	}
	reader_close(reader);
	return code;
}

/* Which roots: those of the arguments; with --db and no arguments, those of the file. */
static int add_root(void *payload, const struct root_record *root)
{
	struct sites *sites = payload;
	CLEANUP(cleanup_free) char *path = strndup(root->path.ptr, root->path.len);

	if (root->kind == ROOT_ARCHIVE)
		return 0;
	return path && sites_add(sites, path) ? 0 : ERROR_NOMEM;
}

static int roots_of_file(const struct options *options, struct databases *out, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	CLEANUP(cleanup_free) char *base = layout_base(options->database);
	struct reader *reader;
	int code = base ? reader_open(options->database, geteuid(), &reader, error)
	                : error_nomem(error);

	if (code < 0)
		return code;
	code = reader_roots(reader, add_root, &sites, error);
	reader_close(reader);
	for (size_t i = 0; code == 0 && i < sites.count; i++) {
		CLEANUP(cleanup_free) char *path = NULL;

		if (asprintf(&path, "%s%s%s", sites.paths[i][0] == '/' ? "" : base,
		             sites.paths[i][0] == '/' ? "" : "/", sites.paths[i]) < 0)
			return error_nomem(error);
		code = databases_add_path(options, false, path, out, error);
	}
	return code;
}

static enum status conclude(const struct verify *verify)
{
	note(verify->options, "%zu distributions compared, %zu files hashed, %zu differences",
	     verify->distributions, verify->hashes, verify->differences);
	if (verify->failed)
		return STATUS_COULD_NOT;
	return verify->differences ? STATUS_NOT_FOUND : STATUS_DONE;
}

enum status command_verify(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct verify verify = {.options = options};
	struct error error = {0};
	int code;

	if (options->database && options->argument_count == 0)
		code = roots_of_file(options, &databases, &error);
	else
		code = databases_of_arguments(options, false, &databases, &error);
	if (code == 0 && options->json)
		code = json_open(keys, sizeof(keys) / sizeof(*keys), &verify.json, &error);
	if (code < 0)
		return fail(&error);
	for (size_t i = 0; i < databases.count && !interrupted(); i++) {
		verify.database = &databases.items[i];
		if (verify_database(&verify, &error) < 0) {
			verify.failed = true;
			fail(&error);
		}
	}
	json_close(verify.json);
	return conclude(&verify);
}

/*
 * cache.c - what was read of an index, in tables of page.sql; and what a scan of all wheels would
 * have given: the files that were fetched are laid out in memory, and read by the rules for those
 * on a disk.
 */
#include "indexer/package_index/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/hash.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "indexer/message.h"
#include "indexer/package_index/page.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/tree/archive.h"
#include "libquery/layout.h"

#define RUN_MAX 86400 /* seconds, after which a run that did not end is not gone on with */

/* SQLite opens it by its name, and a journal beside it: nobody else may put anything there. */
int cache_open(const char *database, const char *index, struct worksheet **out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage user = {0};
	CLEANUP(cleanup_free) char *directory = NULL;
	CLEANUP(cleanup_free) char *key = text_format("%s %s", database, index);
	CLEANUP(cleanup_free) char *file = NULL;
	CLEANUP(cleanup_close) int at = -1;
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;
	int code;

	if (layout_of_user("/", &user) == 0)
		return error_set(error, ERROR_NOTFOUND, "there is no $HOME for what has been read");
	directory = user.database
	                    ? strndup(user.database, path_directory(slice_of(user.database)).len)
	                    : NULL;
	file = key && directory ? text_format("%s/index-%016llx.cache", directory,
	                                      (unsigned long long)hash_stable(key, strlen(key)))
	                        : NULL;
	if (!file)
		return error_nomem(error);
	code = safe_directory_open(directory, NULL, SAFE_CREATE, &at, error);
	if (code < 0)
		return code;
	if (fstat(at, &status) != 0)
		return error_errno(error, errno, "%s", directory);
	if (status.st_uid != geteuid() || trust_is_writable(at, &status) ||
	    status.st_mode & S_ISVTX)
		return error_set(error, ERROR_PERMISSION, "%s: it is not yours alone", directory);
	fd = safe_openat(at, strrchr(file, '/') + 1, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(error, errno, "%s", file);
	close(take_fd(&fd)); /* SQLite's locks end with any descriptor of the file */
	return worksheet_open(page_script, file, out, error);
}

bool cache_find(struct worksheet *cache, struct slice project, struct arena *arena,
                struct cache_project *out)
{
	struct worksheet_rows *rows = worksheet_walk(cache, "project_read", FACTS(fact(project)));
	bool found = false, failed = false;

	while (worksheet_next(rows)) {
		out->made_for = arena_copy(arena, worksheet_text(rows, 1), &failed);
		out->etag = arena_copy(arena, worksheet_text(rows, 2), &failed);
		out->is_done = worksheet_number(rows, 3) > time(NULL) - RUN_MAX;
		found = true;
	}
	return found && !failed;
}

int cache_rows(struct worksheet *cache, struct slice project, struct arena *arena,
               struct cache_row **rows, size_t *count, struct error *error)
{
	const struct fact *key = FACTS(fact(project));
	struct worksheet_rows *walk =
	        worksheet_walk(cache, "wheel", slice_is_null(project) ? NULL : key);
	size_t room = *count;
	bool failed = false;

	while (!failed && worksheet_next(walk)) {
		struct cache_row row;
		struct slice *const texts[CACHE_COLUMNS] = {
		        &row.file,  &row.info,         &row.name,   &row.version,
		        &row.error, &row.entry_points, &row.checked};

		for (int i = 0; i < CACHE_COLUMNS; i++)
			*texts[i] = arena_copy(arena, worksheet_text(walk, i + 1), &failed);
		failed |= !array_grow(rows, *count, sizeof(**rows), &room);
		if (!failed)
			(*rows)[(*count)++] = row;
	}
	return failed ? error_nomem(error) : worksheet_failure(cache, error);
}

int cache_put(struct worksheet *cache, struct slice project, const struct cache_project *what,
              const struct cache_row *rows, size_t count, struct error *error)
{
	worksheet_put(cache, "project_read",
	              FACTS(fact(project), fact(what->made_for), fact(what->etag),
	                    fact((int64_t)time(NULL))));
	for (size_t i = 0; i < count; i++)
		worksheet_put(cache, "wheel",
		              FACTS(fact(project), fact(rows[i].file), fact(rows[i].info),
		                    fact(rows[i].name), fact(rows[i].version), fact(rows[i].error),
		                    fact(rows[i].entry_points), fact(rows[i].checked)));
	return worksheet_failure(cache, error);
}

int cache_keep(struct worksheet *cache, bool ended, struct error *error)
{
	if (ended)
		worksheet_put(cache, "run_ended", FACTS(fact(1)));
	return worksheet_keep(cache, error);
}

/* --- as a root --- */

struct layout {
	struct tree_file *files; /* two of each row */
	struct name_map rows;    /* by the child that is made of it */
};

/* FILE/X.dist-info/METADATA and .../entry_points.txt */
static void lay_out(struct layout *layout, const struct cache_row *row, uint32_t at,
                    struct arena *arena, bool *failed)
{
	static const char *const names[] = {"METADATA", "entry_points.txt"};
	struct slice info = slice_is_null(row->info) ? SLICE("unread.dist-info") : row->info;
	CLEANUP(cleanup_free)
	char *headers = text_format(
	        "Metadata-Version: 2.1\nName: %.*s\n%s%.*s\n", (int)row->name.len, row->name.ptr,
	        slice_is_null(row->version) ? "" : "Version: ", (int)row->version.len,
	        row->version.ptr);
	struct slice child = path_join_in(arena, row->file, info, failed);

	if (*failed || !headers) {
		*failed = true;
		return;
	}
	name_map_put(&layout->rows, child, at, failed);
	for (size_t i = 0; i < 2; i++)
		layout->files[2 * at + i].path =
		        path_join_in(arena, child, slice_of(names[i]), failed);
	layout->files[2 * at].bytes = arena_copy(arena, slice_of(headers), failed);
	layout->files[2 * at + 1].bytes = row->entry_points;
	if (slice_is_null(row->entry_points))
		layout->files[2 * at + 1] = layout->files[2 * at];
}

/* What a scan cannot know: why a wheel was not read, and by what a row is known again. */
static void finish_rows(struct root_record *root, const struct layout *layout,
                        const struct cache_row *rows, bool *failed)
{
	root->broken = root->watched = 0;
	for (size_t i = 0; i < root->distribution_count; i++) {
		struct distribution_record *now = &root->distributions[i];
		uint32_t at = name_map_get(&layout->rows, now->directory);
		const struct cache_row *row = &rows[at];

		now->settled = true;
		now->watched = WATCHED_NOT;
		now->directory_stamp = 0;
		now->files_stamp =
		        (int64_t)hash_stable(row->entry_points.ptr, row->entry_points.len);
		now->metadata = now->entry_points_txt = (struct outline){0};
		if (!slice_is_null(row->error))
			now->error = arena_copy(&root->arena, row->error, failed);
		root->broken += !slice_is_null(now->error);
	}
	root->settled = true;
}

static int scan_rows(const struct cache_row *rows, size_t count, struct arena *arena,
                     struct root_record *out, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	struct layout layout = {.files = calloc(2 * count + 1, sizeof(*layout.files))};
	const struct scan_options how = {.depth = SCAN_METADATA | SCAN_HAS_METADATA,
	                                 .on_progress = progress_ask};
	bool failed = !layout.files;
	int code;

	for (size_t i = 0; i < count && !failed; i++)
		lay_out(&layout, &rows[i], (uint32_t)i, arena, &failed);
	code = failed ? error_nomem(error)
	              : tree_open_memory(layout.files, 2 * count, &tree, error);
	if (code == 0)
		code = scan_tree(tree, &how, out, error);
	if (code == 0)
		finish_rows(out, &layout, rows, &failed);
	name_map_free(&layout.rows);
	free(layout.files);
	return failed ? error_nomem(error) : code;
}

int cache_root(struct worksheet *cache, struct root_record *out, struct error *error)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	struct cache_row *rows = NULL;
	size_t count = 0;
	int code = cache_rows(cache, (struct slice){0}, &arena, &rows, &count, error);

	if (code == 0)
		code = scan_rows(rows, count, &arena, out, error);
	free(rows);
	return code;
}

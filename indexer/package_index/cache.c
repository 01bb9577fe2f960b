/*
 * cache.c - writes and reads the lines, and makes of them what a scan of all wheels would give: the
 * files that were fetched are laid out in memory, and read by the rules for those on a disk.
 */
#include "indexer/package_index/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "indexer/message.h"
#include "indexer/output.h"
#include "indexer/package_index/page.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/tree/archive.h"

#define CACHE_MAX ((off_t)4 << 30) /* bytes of the file */
#define RUN_MAX   86400 /* seconds, after which a run that was killed is not gone on with */

/* Lines of no project: when a run began and, as 0, that it has ended. */
#define RUN SLICE("")

/* --- lines --- */

struct cache_line *cache_find(const struct cache *cache, struct slice project)
{
	uint32_t at = name_map_get(&cache->projects, project);

	return at == NAME_MAP_NONE ? NULL : &cache->lines[at];
}

static int keep(struct cache *cache, struct slice project, const struct cache_line *line,
                struct error *error)
{
	struct cache_line *known = cache_find(cache, project);
	bool failed = false;

	if (known) {
		*known = *line;
		return 0;
	}
	if (!array_grow(&cache->lines, cache->count, sizeof(*cache->lines), &cache->room))
		return error_nomem(error);
	cache->lines[cache->count] = *line;
	name_map_put(&cache->projects, project, (uint32_t)cache->count++, &failed);
	return failed ? error_nomem(error) : 0;
}

/* A line cut short is none. */
static int read_line(struct cache *cache, struct slice text, struct error *error)
{
	struct cache_line line = {.text = text};
	struct worksheet_rows *rows;
	struct slice project = {0};
	bool failed = false;

	worksheet_put(cache->sheet, "page", FACTS(fact(1), fact(text)));
	rows = worksheet_walk(cache->sheet, "line", NULL);
	while (worksheet_next(rows)) {
		project = arena_copy(&cache->arena, worksheet_text(rows, 0), &failed);
		line.made_for = arena_copy(&cache->arena, worksheet_text(rows, 1), &failed);
		line.etag = arena_copy(&cache->arena, worksheet_text(rows, 2), &failed);
	}
	if (failed)
		return error_nomem(error);
	if (slice_is_null(project) || slice_is_null(line.made_for))
		return worksheet_failure(cache->sheet, error);
	for (size_t i = 0; project.len == 0 && i < cache->count; i++)
		cache->lines[i].is_done = false;
	line.is_done = true;
	return keep(cache, project, &line, error);
}

static int append(struct cache *cache, struct slice text, struct error *error)
{
	off_t end = lseek(cache->fd, 0, SEEK_END);

	if (file_write(cache->fd, text.ptr, text.len) == 0)
		return 0;
	error_errno(error, errno, "%s", cache->file);
	/* A piece of a line is none; but what follows must not be glued to it. */
	if (end >= 0 && ftruncate(cache->fd, end) != 0)
		message("%s: %s", cache->file, strerror(errno));
	return error->code;
}

static void put_string(FILE *stream, struct slice text, const char *before)
{
	fputs(before, stream);
	if (slice_is_null(text))
		fputs("null", stream);
	else
		json_string(text, stream);
}

int cache_put(struct cache *cache, struct slice project, struct slice made_for, struct slice etag,
              const struct cache_row *rows, size_t count, struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	struct slice line, kept;
	bool failed = false;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	int code;

	if (!stream)
		return error_nomem(error);
	put_string(stream, project, "[");
	put_string(stream, made_for, ",");
	put_string(stream, etag, ",");
	fputs(",[", stream);
	for (size_t i = 0; i < count; i++) {
		put_string(stream, rows[i].file, i ? ",[" : "[");
		put_string(stream, rows[i].info, ",");
		put_string(stream, rows[i].name, ",");
		put_string(stream, rows[i].version, ",");
		put_string(stream, rows[i].error, ",");
		put_string(stream, rows[i].entry_points, ",");
		put_string(stream, rows[i].checked, ",");
		fputc(']', stream);
	}
	fputs("]]\n", stream);
	if (!text_close(stream, &text))
		return error_nomem(error);
	line = (struct slice){text, size};
	code = append(cache, line, error);
	kept = arena_copy(&cache->arena, slice_first(line, size - 1), &failed);
	if (code < 0 || failed)
		return code < 0 ? code : error_nomem(error);
	return read_line(cache, kept, error);
}

/* --- opening --- */

/*
 * Created by us, or ours: in a directory of everybody's another user may have made it, or a link to
 * another file of ours.
 */
static int open_file(struct cache *cache, const char *database, const char *index,
                     struct error *error)
{
	struct slice base = path_base(slice_of(database)),
	             directory = path_directory(slice_of(database));
	CLEANUP(cleanup_free)
	char *place =
	        strndup(directory.len ? directory.ptr : "/", directory.len ? directory.len : 1);
	CLEANUP(cleanup_free)
	char *name = text_format("%.*s.%016llx.cache", (int)base.len, base.ptr,
	                         (unsigned long long)hash_stable(index, strlen(index)));
	CLEANUP(cleanup_close) int at = -1;
	struct stat status;
	int code;

	cache->file = place && name ? text_format("%s/%s", place, name) : NULL;
	if (!cache->file)
		return error_nomem(error);
	code = safe_directory_open(place, NULL, SAFE_CREATE, &at, error);
	if (code < 0)
		return code;
	cache->fd = safe_openat(at, name, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, 0600);
	if (cache->fd < 0 || fstat(cache->fd, &status) != 0)
		return error_errno(error, errno, "%s", cache->file);
	if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_uid != geteuid() ||
	    status.st_mode & 022)
		return error_set(error, ERROR_PERMISSION, "%s: it is not yours alone", cache->file);
	if (flock(cache->fd, LOCK_EX | LOCK_NB) != 0)
		return error_set(error, ERROR_BUSY, "%s: another process is reading this index",
		                 cache->file);
	return 0;
}

static int read_lines(struct cache *cache, struct error *error)
{
	struct slice rest, all;
	struct stat status;
	char *text;
	ssize_t got;
	int code = 0;

	if (fstat(cache->fd, &status) != 0)
		return error_errno(error, errno, "%s", cache->file);
	if (status.st_size > CACHE_MAX)
		return error_set(error, ERROR_LIMIT, "%s: larger than %lld bytes", cache->file,
		                 (long long)CACHE_MAX);
	text = arena_alloc(&cache->arena, (size_t)status.st_size + 1);
	if (!text)
		return error_nomem(error);
	got = file_read(cache->fd, text, (size_t)status.st_size);
	if (got < 0)
		return error_errno(error, errno, "%s", cache->file);
	rest = all = (struct slice){text, (size_t)got};
	while (code == 0 && rest.len > 0)
		code = read_line(cache, slice_take_line(&rest), error);
	/* What is added begins a line. */
	if (code == 0 && all.len > 0 && !slice_ends(all, SLICE("\n")))
		code = append(cache, SLICE("\n"), error);
	return code;
}

int cache_open(const char *database, const char *index, struct slice made_for, struct cache *out,
               struct error *error)
{
	const struct cache_line *run;
	char began[32];
	int code = worksheet_open(page_script, &out->sheet, error);

	if (code == 0)
		code = open_file(out, database, index, error);
	if (code == 0)
		code = read_lines(out, error);
	if (code < 0)
		return code;
	run = cache_find(out, RUN);
	if (run && slice_equal(run->made_for, made_for) &&
	    strtoll(run->etag.ptr ? run->etag.ptr : "0", NULL, 10) > time(NULL) - RUN_MAX)
		return 0;
	snprintf(began, sizeof(began), "%lld", (long long)time(NULL));
	code = cache_put(out, RUN, made_for, slice_of(began), NULL, 0, error);
	return code;
}

int cache_end(struct cache *cache, struct error *error)
{
	return cache_put(cache, RUN, SLICE("-"), SLICE("0"), NULL, 0, error);
}

void cache_close(struct cache *cache)
{
	if (cache->fd >= 0)
		close(cache->fd);
	free(cache->file);
	free(cache->lines);
	worksheet_close(cache->sheet);
	name_map_free(&cache->projects);
	arena_free(&cache->arena);
}

int cache_rows(struct cache *cache, const struct cache_line *line, struct arena *arena,
               struct cache_row **rows, size_t *count, struct error *error)
{
	struct worksheet_rows *walk;
	size_t room = *count;
	bool failed = false;

	worksheet_put(cache->sheet, "page", FACTS(fact(1), fact(line->text)));
	walk = worksheet_walk(cache->sheet, "wheel", NULL);
	while (!failed && worksheet_next(walk)) {
		struct cache_row row;
		struct slice *const texts[] = {&row.file,    &row.info,  &row.name,
		                               &row.version, &row.error, &row.entry_points,
		                               &row.checked};

		for (int i = 0; i < 7; i++)
			*texts[i] = arena_copy(arena, worksheet_text(walk, i), &failed);
		if (slice_is_null(row.file))
			continue;
		failed |= !array_grow(rows, *count, sizeof(**rows), &room);
		if (!failed)
			(*rows)[(*count)++] = row;
	}
	return failed ? error_nomem(error) : worksheet_failure(cache->sheet, error);
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

int cache_root(struct cache *cache, struct root_record *out, struct error *error)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	struct cache_row *rows = NULL;
	size_t count = 0;
	int code = 0;

	for (size_t i = 0; code == 0 && i < cache->count; i++)
		code = cache_rows(cache, &cache->lines[i], &arena, &rows, &count, error);
	if (code == 0)
		code = scan_rows(rows, count, &arena, out, error);
	free(rows);
	return code;
}

/*
 * wheel.c - reads METADATA and entry_points.txt from parts of a wheel.
 */
#include "indexer/package_index/wheel.h"

#include <errno.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/tree/archive.h"

int wheel_add(struct wheel *wheel, uint64_t at, struct slice bytes, struct error *error)
{
	uint64_t fetched = bytes.len;
	bool failed = false;

	for (size_t i = 0; i < wheel->piece_count; i++)
		fetched += wheel->pieces[i].bytes.len;
	if (wheel->piece_count == WHEEL_PIECES || fetched > WHEEL_FETCH_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "its metadata takes more than %d parts or 16 MiB", WHEEL_PIECES);
	wheel->pieces[wheel->piece_count].at = at;
	wheel->pieces[wheel->piece_count++].bytes = arena_copy(&wheel->arena, bytes, &failed);
	return failed ? error_nomem(error) : 0;
}

/* Like pread(); ENODATA if the byte at @at was not fetched. */
static ssize_t read_pieces(void *payload, char *to, size_t size, uint64_t at)
{
	struct wheel *wheel = payload;

	for (size_t i = 0; i < wheel->piece_count; i++) {
		struct slice bytes = wheel->pieces[i].bytes;
		uint64_t skip = at - wheel->pieces[i].at;

		if (at < wheel->pieces[i].at || skip >= bytes.len)
			continue;
		if (size > bytes.len - skip)
			size = (size_t)(bytes.len - skip);
		memcpy(to, bytes.ptr + skip, size);
		return (ssize_t)size;
	}
	wheel->missing_at = at;
	wheel->missing_size = size < WHEEL_FETCH_MIN ? WHEEL_FETCH_MIN : size;
	if (wheel->missing_size > wheel->size - at)
		wheel->missing_size = wheel->size - at;
	errno = ENODATA;
	return -1;
}

static int find_info(void *payload, struct slice child)
{
	struct slice *info = payload;
	bool is_info = slice_ends(child, SLICE(".dist-info"));

	if (is_info && info->len > 0)
		return ERROR_FORMAT;
	if (is_info)
		*info = child;
	return 0;
}

/* Read the fetched part; *@points is null if there is no entry_points.txt. */
static int read_zip(struct wheel *wheel, struct slice *points, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	const struct zip_source source = {read_pieces, wheel, wheel->size};
	struct slice info = {0};
	struct tree_request request = {.file = "METADATA", .limit = METADATA_MAX};
	bool failed = false;
	int code = tree_open_source(&source, wheel->name, &tree, error);

	if (code == 0)
		code = tree_children(tree, find_info, &info, error);
	if (code == ERROR_FORMAT && info.len > 0)
		return error_set(error, code, "it has more than one .dist-info");
	if (code < 0)
		return code;
	wheel->info = request.child = arena_copy(&wheel->arena, info, &failed);
	if (failed)
		return error_nomem(error);
	if (info.len > 0 && slice_is_null(wheel->metadata))
		code = tree_read(tree, &request, &wheel->arena, &wheel->metadata, error);
	if (code >= 0 && slice_is_null(wheel->metadata))
		return error_set(error, ERROR_FORMAT, "it has no METADATA");
	request.file = "entry_points.txt";
	request.limit = ENTRY_POINTS_TXT_MAX;
	return code < 0 ? code : tree_read(tree, &request, &wheel->arena, points, error);
}

int wheel_read(struct wheel *wheel, struct arena *arena, struct distribution_record *out,
               struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	CLEANUP(cleanup_tree) struct tree *installed = NULL;
	struct tree_file files[2] = {0};
	bool failed = false;
	int code;

	wheel->missing_size = 0;
	code = read_zip(wheel, &files[1].bytes, &why);
	if (wheel->missing_size)
		return 0;
	if (code < 0)
		return error_move(error, &why);
	files[0].bytes = wheel->metadata;
	files[0].path = path_join_in(&wheel->arena, wheel->info, SLICE("METADATA"), &failed);
	files[1].path =
	        path_join_in(&wheel->arena, wheel->info, SLICE("entry_points.txt"), &failed);
	code = failed ? error_nomem(error) : tree_open_memory(files, 2, &installed, error);
	*out = (struct distribution_record){.directory = wheel->info};
	if (code == 0)
		code = distribution_read(installed, arena,
		                         DISTRIBUTION_HEADERS | DISTRIBUTION_HAS_METADATA, out,
		                         error);
	return code < 0 ? code : 1;
}

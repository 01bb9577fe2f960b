/*
 * wheel.c - reads METADATA and entry_points.txt from parts of a wheel.
 */
#include "indexer/package_index/wheel.h"

#include <errno.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "indexer/archive/sdist.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/tree/archive.h"
#include "libquery/disk/tree/distname.h"

/* Record the reason. With @is_lasting, no new attempt is made until the page changes. */
static int item_failed(struct item *item, const char *why, bool is_lasting, struct error *error)
{
	bool failed = false;

	item->row.error = arena_copy(&item->items->arena, slice_of(why), &failed);
	item->is_unsure = !is_lasting;
	return failed ? error_nomem(error) : item->items->done(item);
}

/* --- requests --- */

static transfer_done take_piece, take_metadata;

static int ask(struct item *item, const char *url, const char *range, uint64_t limit,
               transfer_done *done, struct error *error)
{
	const struct transfer_request request = {url, NULL, range, limit, done, item};

	return item->items->module->add(item->items->transfers, &request, error);
}

/* Fetch @size bytes from @at; @size 0: the end of a wheel of unknown size. */
static int ask_piece(struct item *item, uint64_t at, uint64_t size, struct error *error)
{
	char range[64];

	if (item->piece_count == WHEEL_PIECES || item->fetched + size > WHEEL_FETCH_MAX)
		return item_failed(item, "its metadata takes more than 8 parts or 16 MiB", true,
		                   error);
	if (size > 0)
		snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)at,
		         (unsigned long long)(at + size - 1));
	else
		snprintf(range, sizeof(range), "-%llu", (unsigned long long)WHEEL_TAIL);
	return ask(item, item->url, range, size > WHEEL_WHOLE_MAX ? size : WHEEL_WHOLE_MAX,
	           take_piece, error);
}

/* Fetch METADATA as a separate file (PEP 658). */
static int ask_metadata(struct item *item, struct error *error)
{
	CLEANUP(cleanup_free) char *url = text_format("%s.metadata", item->url);

	return url ? ask(item, url, NULL, METADATA_MAX, take_metadata, error) : error_nomem(error);
}

static bool has_hash(struct slice bytes, struct slice sha256)
{
	char hex[SHA256_HEX_SIZE + 1];

	sha256_of(bytes.ptr, bytes.len, hex);
	return slice_equal(slice_of(hex), sha256);
}

/* The target of an entry point: the modules of a wheel are not read. */
static const struct target_record not_examined = {.kind = TARGET_UNRESOLVED,
                                                  .state = TARGET_NOT_EXAMINED};

/* --- the zip --- */

/* Like pread(); ENODATA if the byte at @at was not fetched. */
static ssize_t read_pieces(void *payload, char *to, size_t size, uint64_t at)
{
	struct item *item = payload;

	for (size_t i = 0; i < item->piece_count; i++) {
		struct slice bytes = item->pieces[i].bytes;
		uint64_t skip = at - item->pieces[i].at;

		if (at < item->pieces[i].at || skip >= bytes.len)
			continue;
		if (size > bytes.len - skip)
			size = (size_t)(bytes.len - skip);
		memcpy(to, bytes.ptr + skip, size);
		return (ssize_t)size;
	}
	item->missing_at = at;
	item->missing_size = size < WHEEL_FETCH_MIN ? WHEEL_FETCH_MIN : size;
	if (item->missing_size > item->size - at)
		item->missing_size = item->size - at;
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
static int read_zip(struct item *item, struct slice *points, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	const struct zip_source source = {read_pieces, item, item->size};
	struct slice info = {0};
	struct tree_request request = {.file = "METADATA", .limit = METADATA_MAX};
	bool failed = false;
	int code = tree_open_source(&source, item->file->name.ptr, &tree, error);

	if (code == 0)
		code = tree_children(tree, find_info, &info, error);
	if (code == ERROR_FORMAT && info.len > 0)
		return error_set(error, code, "it has more than one .dist-info");
	if (code < 0)
		return code;
	item->info = request.child = arena_copy(&item->arena, info, &failed);
	if (failed)
		return error_nomem(error);
	if (info.len > 0 && slice_is_null(item->metadata))
		code = tree_read(tree, &request, &item->arena, &item->metadata, error);
	if (code >= 0 && slice_is_null(item->metadata))
		return error_set(error, ERROR_FORMAT, "it has no METADATA");
	request.file = "entry_points.txt";
	request.limit = ENTRY_POINTS_TXT_MAX;
	return code < 0 ? code : tree_read(tree, &request, &item->arena, points, error);
}

/* Read METADATA and entry_points.txt (null if there is none) as if they were installed. */
static int read_installed(struct item *item, struct slice points, struct distribution_record *out,
                          struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *installed = NULL;
	struct tree_file files[2] = {{.bytes = item->metadata}, {.bytes = points}};
	bool failed = false;
	int code;

	files[0].path = path_join_in(&item->arena, item->info, SLICE("METADATA"), &failed);
	files[1].path = path_join_in(&item->arena, item->info, SLICE("entry_points.txt"), &failed);
	code = failed ? error_nomem(error) : tree_open_memory(files, 2, &installed, error);
	*out = (struct distribution_record){.directory = item->info};
	if (code == 0)
		code = distribution_read(installed, &item->items->arena,
		                         DISTRIBUTION_HEADERS | DISTRIBUTION_HAS_METADATA, out,
		                         error);
	item->kept = item->metadata.len + (installed ? installed->kept : 0);
	return code;
}

/* All parts are read as @row: compare them with the index. */
static int keep_wheel(struct item *item, struct distribution_record *row, struct error *error)
{
	struct items *items = item->items;
	bool failed = false, has_name = !slice_is_null(row->name);

	if (!slice_is_null(item->file->metadata_sha256)) {
		if (!has_hash(item->metadata, item->file->metadata_sha256))
			return item_failed(
			        item, "its METADATA does not have the hash that the index gives",
			        true, error);
		item->checked = item->checked ? item->checked : "metadata";
	}
	if (!has_name)
		return item_failed(item, "its METADATA gives no name", true, error);
	row->normalized_name = distname_normalize_in(&items->arena, row->name, &failed);
	if (failed)
		return error_nomem(error);
	if (!slice_equal(row->normalized_name, items->project))
		return item_failed(item, "its METADATA names another project", true, error);
	row->directory = item->file->name;
	for (size_t i = 0; i < row->entry_point_count; i++)
		row->entry_points[i].target = &not_examined;
	item->row = *row;
	return item->items->done(item);
}

static int read_wheel(struct item *item, struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	struct slice name = item->file->name, points = {0}, reason;
	struct distribution_record row;
	int code;

	item->missing_size = 0;
	code = read_zip(item, &points, &why);
	if (item->missing_size && item->info.len > 0 && slice_is_null(item->metadata) &&
	    !slice_is_null(item->file->metadata_sha256))
		return ask_metadata(item, error);
	if (item->missing_size)
		return ask_piece(item, item->missing_at, item->missing_size, error);
	if (code >= 0)
		code = read_installed(item, points, &row, &why);
	if (code >= 0)
		return keep_wheel(item, &row, error);
	if (code == ERROR_NOMEM)
		return error_nomem(error);
	reason = slice_of(error_text(&why));
	if (slice_starts(reason, name) && reason.len > name.len + 2)
		reason = slice_from(reason, name.len + 2); /* it begins with the name */
	return item_failed(item, reason.ptr, true, error);
}

/* --- responses --- */

static int take_metadata(void *payload, const struct transfer_answer *answer, struct error *error)
{
	struct item *item = payload;
	bool failed = false;

	if (answer->problem)
		return item_failed(item, answer->problem, false, error);
	item->metadata = arena_copy(&item->arena, answer->body, &failed);
	return failed ? error_nomem(error) : read_wheel(item, error);
}

/* The reason why a part is unusable, or NULL. The wheel must not change between parts. */
static const char *judge_piece(struct item *item, const struct transfer_answer *answer,
                               bool is_whole)
{
	if (answer->is_too_large && answer->status == 200)
		return "the server knows no ranges, and this file is larger than 4 MiB";
	if (answer->problem)
		return answer->problem;
	if (is_whole && !slice_is_null(item->file->sha256) &&
	    !has_hash(answer->body, item->file->sha256))
		return "it does not have the hash that the index gives";
	if (is_whole)
		return NULL;
	if (!answer->has_range)
		return "the server does not give it";
	if (item->size && item->size != answer->total)
		return "its size is not the one that was given before";
	return !slice_is_null(item->etag) && !slice_equal(item->etag, slice_of(answer->etag))
	               ? "it was replaced while it was read"
	               : NULL;
}

static int take_piece(void *payload, const struct transfer_answer *answer, struct error *error)
{
	struct item *item = payload;
	bool is_whole =
	        answer->status == 200 || (answer->has_range && answer->body.len == answer->total);
	const char *problem = judge_piece(item, answer, is_whole);
	struct piece *piece = &item->pieces[item->piece_count++];
	bool failed = false;

	if (problem)
		return item_failed(item, problem, !answer->problem || answer->is_too_large, error);
	if (is_whole && !slice_is_null(item->file->sha256))
		item->checked = "file";
	if (slice_is_null(item->etag))
		item->etag = arena_copy(&item->items->arena, slice_of(answer->etag), &failed);
	item->size = is_whole ? answer->body.len : answer->total;
	item->fetched += answer->body.len;
	piece->at = is_whole ? 0 : answer->first;
	piece->bytes = arena_copy(&item->arena, answer->body, &failed);
	return failed ? error_nomem(error) : read_wheel(item, error);
}

int item_start(struct item *item, struct error *error)
{
	struct items *items = item->items;
	const struct page_file *file = item->file;
	CLEANUP(cleanup_free) char *url = NULL;
	uint64_t size = file->size > 0 ? (uint64_t)file->size : 0;
	bool failed = false;

	if (!file->is_wheel)
		return item_failed(item, "a source distribution: " SDIST_NEEDS_BUILD, true, error);
	url = items->module->join(items->url.ptr, file->url.ptr);
	item->url = arena_copy(&items->arena, slice_of(url), &failed).ptr;
	if (failed)
		return error_nomem(error);
	if (!url)
		return item_failed(item, "its URL is neither http nor https", true, error);
	item->size = size;
	return size > WHEEL_TAIL ? ask_piece(item, size - WHEEL_TAIL, WHEEL_TAIL, error)
	                         : ask_piece(item, 0, size, error);
}

/*
 * wheel.c - reads two files of a wheel, METADATA and entry_points.txt, from pieces of it.
 */
#include "indexer/package_index/wheel.h"

#include <errno.h>
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/sha256.h"
#include "db/base/unicode.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/zip/zip.h"

void wheel_free(struct wheel *wheel)
{
	arena_free(&wheel->arena);
}

int wheel_add(struct wheel *wheel, uint64_t at, struct slice bytes, struct error *error)
{
	bool failed = false;

	wheel->fetched += bytes.len;
	if (wheel->piece_count == WHEEL_PIECES || wheel->fetched > WHEEL_FETCH_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "its metadata is spread over more than %d pieces", WHEEL_PIECES);
	wheel->pieces[wheel->piece_count++] =
	        (struct wheel_piece){at, arena_copy(&wheel->arena, bytes, &failed)};
	return failed ? error_nomem(error) : 0;
}

/* As pread(), of what was fetched; ENODATA where that does not begin at @at. */
static ssize_t read_pieces(void *payload, char *to, size_t size, uint64_t at)
{
	struct wheel *wheel = payload;

	for (size_t i = 0; i < wheel->piece_count; i++) {
		const struct wheel_piece *piece = &wheel->pieces[i];

		size_t skip = (size_t)(at - piece->at);

		if (at < piece->at || skip >= piece->bytes.len)
			continue;
		if (size > piece->bytes.len - skip)
			size = piece->bytes.len - skip;
		memcpy(to, piece->bytes.ptr + skip, size);
		return (ssize_t)size;
	}
	wheel->missing_at = at;
	wheel->missing_size = size;
	errno = ENODATA;
	return -1;
}

int wheel_take_metadata(struct wheel *wheel, struct slice text, struct slice sha256,
                        struct error *error)
{
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE + 1];
	struct metadata headers;
	bool failed = false;

	if (!slice_is_null(sha256)) {
		sha256_of(text.ptr, text.len, digest);
		sha256_hex(digest, hex);
		wheel->metadata_is_right = slice_equal(sha256, slice_of(hex));
		if (!wheel->metadata_is_right)
			return error_set(error, ERROR_CHANGED,
			                 "its METADATA is not the one whose hash the index gives");
	}
	if (metadata_parse(text, &wheel->arena, &headers) < 0)
		return error_nomem(error);
	if (!utf8_valid(text) || slice_is_null(headers.name) ||
	    memchr(headers.name.ptr, '\n', headers.name.len))
		return error_set(error, ERROR_FORMAT, "its METADATA gives no name");
	wheel->name = arena_copy(&wheel->arena, headers.name, &failed);
	wheel->version = arena_copy(&wheel->arena, headers.version, &failed);
	wheel->has_metadata = true;
	return failed ? error_nomem(error) : 0;
}

/* The one metadata directory at the top: its METADATA and entry_points.txt, NULL where there is
 * none. */
static int find_members(const struct zip *zip, const struct zip_member **metadata,
                        const struct zip_member **points, struct error *error)
{
	struct slice info = {0};

	for (size_t i = 0; i < zip->count; i++) {
		const struct zip_member *member = &zip->members[i];
		struct slice top = slice_before(member->name, '/');
		struct slice rest = slice_from(member->name, top.len);

		if (rest.len == 0 || !slice_ends(top, SLICE(".dist-info")))
			continue;
		if (!slice_is_null(info) && !slice_equal(info, top))
			return error_set(error, ERROR_FORMAT, "it has more than one .dist-info");
		info = top;
		if (slice_equal(rest, SLICE("/METADATA")))
			*metadata = member;
		else if (slice_equal(rest, SLICE("/entry_points.txt")))
			*points = member;
	}
	return *metadata ? 0 : error_set(error, ERROR_FORMAT, "it has no METADATA");
}

/* 1, 0 or an error, as wheel_read(). What is fetched of a member is all of it. */
static int read_member(struct wheel *wheel, const struct zip *zip, const struct zip_member *member,
                       size_t limit, struct slice *out, struct error *error)
{
	uint64_t end = zip_directory_next_start(zip, member->header_offset);
	int code = zip_read(zip, member, limit, out, error);

	if (code == 0 || !wheel->missing_size)
		return code < 0 ? code : 1;
	if (end > wheel->missing_at + wheel->missing_size)
		wheel->missing_size = end - wheel->missing_at;
	return code;
}

static int read_zip(struct wheel *wheel, const struct zip *zip, struct slice sha256,
                    struct error *error)
{
	const struct zip_member *metadata = NULL, *points = NULL;
	struct slice text;
	bool failed = false;
	int code = find_members(zip, &metadata, &points, error);

	if (code < 0)
		return code;
	wheel->info = arena_copy(&wheel->arena, slice_before(metadata->name, '/'), &failed);
	if (!wheel->has_metadata) {
		code = read_member(wheel, zip, metadata, METADATA_MAX, &text, error);
		if (code < 0)
			return code;
		code = wheel_take_metadata(wheel, text, sha256, error);
		free((char *)text.ptr);
	}
	if (code >= 0 && points && slice_is_null(wheel->entry_points)) {
		code = read_member(wheel, zip, points, ENTRY_POINTS_TXT_MAX, &text, error);
		if (code < 0)
			return code;
		wheel->entry_points = arena_copy(&wheel->arena, text, &failed);
		free((char *)text.ptr);
	}
	return failed ? error_nomem(error) : code < 0 ? code : 1;
}

int wheel_read(struct wheel *wheel, const char *name, struct slice sha256, struct error *error)
{
	CLEANUP(cleanup_zip) struct zip *zip = NULL;
	const struct zip_source source = {read_pieces, wheel, wheel->size};
	int code;

	wheel->missing_size = 0;
	code = zip_open_source(&source, name, &zip, error);
	if (code == 0)
		code = read_zip(wheel, zip, sha256, error);
	if (code >= 0 || !wheel->missing_size)
		return code;
	error_clear(error);
	if (wheel->missing_size < WHEEL_FETCH_MIN)
		wheel->missing_size = WHEEL_FETCH_MIN;
	if (wheel->missing_size > wheel->size - wheel->missing_at)
		wheel->missing_size = wheel->size - wheel->missing_at;
	if (wheel->missing_size > WHEEL_FETCH_MAX - wheel->fetched)
		return error_set(error, ERROR_LIMIT, "its metadata takes more than %llu bytes",
		                 (unsigned long long)WHEEL_FETCH_MAX);
	return 0;
}

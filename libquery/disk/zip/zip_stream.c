/*
 * zip_stream.c - see zip_stream.h. A stream holds one buffer of packed bytes and what zlib
 * needs, however large the member is.
 */
#include "libquery/disk/zip/zip_stream.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "db/base/cleanup.h"
#include "libquery/disk/zip/zip_file.h"

#define INPUT_SIZE ((size_t)32 << 10) /* bytes of packed data read at a time */
#define SKIP_SIZE  ((size_t)32 << 10) /* bytes unpacked at a time where they are not wanted */

struct zip_stream {
	const struct zip_file *file;
	struct zip_member member;
	uint64_t data;            /* where in the file its packed bytes are */
	uint64_t limit, unpacked; /* bytes, all passes together */
	uint64_t packed_at;       /* of the packed bytes: read so far in this pass */
	uint64_t at;              /* of the unpacked ones: next to come */
	bool ended;               /* of the pass */
	bool is_packed;
	z_stream inflate;
	char input[INPUT_SIZE];
};

void zip_stream_close(struct zip_stream *stream)
{
	if (!stream)
		return;
	if (stream->is_packed)
		inflateEnd(&stream->inflate);
	free(stream);
}

int zip_stream_open(struct zip *zip, const struct zip_member *member, uint64_t limit,
                    struct zip_stream **out, struct error *error)
{
	CLEANUP(cleanup_zip_stream) struct zip_stream *stream = calloc(1, sizeof(*stream));
	int code;

	if (!stream)
		return error_nomem(error);
	stream->file = zip_file_of(zip);
	stream->member = *member;
	stream->limit = limit;
	code = zip_locate(zip, member, &stream->data, error);
	if (code < 0)
		return code;
	if (member->method == ZIP_DEFLATED) {
		if (inflateInit2(&stream->inflate, -MAX_WBITS) != Z_OK)
			return error_nomem(error);
		stream->is_packed = true;
	}
	*out = take(stream);
	return 0;
}

uint64_t zip_stream_unpacked(const struct zip_stream *stream)
{
	return stream->unpacked;
}

static int damaged(const struct zip_stream *stream, struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: %.*s: its compressed data is damaged",
	                 stream->file->name, (int)stream->member.name.len, stream->member.name.ptr);
}

static int count(struct zip_stream *stream, size_t size, struct error *error)
{
	stream->unpacked += size;
	if (stream->unpacked <= stream->limit)
		return 0;
	return error_set(error, ERROR_LIMIT, "%s: %.*s: more than %llu bytes are to be unpacked",
	                 stream->file->name, (int)stream->member.name.len, stream->member.name.ptr,
	                 (unsigned long long)stream->limit);
}

/* How much of @size bytes from @at there is in @length. */
static size_t room(uint64_t length, uint64_t at, size_t size)
{
	if (at >= length)
		return 0;
	return length - at < size ? (size_t)(length - at) : size;
}

/* --- stored --- */

static int read_stored(struct zip_stream *stream, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error)
{
	const struct zip_member *member = &stream->member;
	uint64_t length = member->packed < member->size ? member->packed : member->size;

	size = room(length, at, size);
	*got = 0;
	if (size == 0)
		return 0;
	if (count(stream, size, error) < 0)
		return ERROR_LIMIT;
	return zip_file_read_some(stream->file, stream->data + at, to, size, got, error);
}

/* --- packed --- */

static int fill_input(struct zip_stream *stream, struct error *error)
{
	size_t size = room(stream->member.packed, stream->packed_at, sizeof(stream->input)),
	       got = 0;
	int code = 0;

	if (size > 0)
		code = zip_file_read_some(stream->file, stream->data + stream->packed_at,
		                          stream->input, size, &got, error);
	stream->packed_at += got;
	stream->inflate.next_in = (Bytef *)stream->input;
	stream->inflate.avail_in = (uInt)got;
	stream->ended = got == 0;
	return code;
}

/* The next bytes, up to @size of them, which is less than UINT_MAX. */
static int unpack(struct zip_stream *stream, char *to, size_t size, size_t *got,
                  struct error *error)
{
	z_stream *inflater = &stream->inflate;
	int code = 0, status = Z_OK;

	inflater->next_out = (Bytef *)to;
	inflater->avail_out = (uInt)size;
	while (code == 0 && status == Z_OK && inflater->avail_out > 0 && !stream->ended) {
		if (inflater->avail_in == 0)
			code = fill_input(stream, error);
		if (code == 0 && !stream->ended)
			status = inflate(inflater, Z_NO_FLUSH);
	}
	*got = size - inflater->avail_out;
	stream->at += *got;
	stream->ended |= status == Z_STREAM_END;
	if (code < 0)
		return code;
	if (status == Z_MEM_ERROR)
		return error_nomem(error);
	if (status != Z_OK && status != Z_STREAM_END)
		return damaged(stream, error);
	return count(stream, *got, error);
}

static int rewind_stream(struct zip_stream *stream, struct error *error)
{
	if (inflateReset(&stream->inflate) != Z_OK)
		return damaged(stream, error);
	stream->inflate.avail_in = 0;
	stream->at = stream->packed_at = 0;
	stream->ended = false;
	return 0;
}

static int skip_to(struct zip_stream *stream, uint64_t at, struct error *error)
{
	char nowhere[SKIP_SIZE];
	size_t got;
	int code = stream->at > at ? rewind_stream(stream, error) : 0;

	while (code == 0 && stream->at < at && !stream->ended)
		code = unpack(stream, nowhere, room(at, stream->at, sizeof(nowhere)), &got, error);
	return code;
}

static int read_packed(struct zip_stream *stream, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error)
{
	int code = 0;

	*got = 0;
	size = room(stream->member.size, at, size < UINT_MAX ? size : UINT_MAX - 1);
	if (size > 0)
		code = skip_to(stream, at, error);
	if (code < 0 || size == 0 || stream->ended)
		return code;
	return unpack(stream, to, size, got, error);
}

int zip_stream_read(struct zip_stream *stream, uint64_t at, char *to, size_t size, size_t *got,
                    struct error *error)
{
	return stream->is_packed ? read_packed(stream, at, to, size, got, error)
	                         : read_stored(stream, at, to, size, got, error);
}

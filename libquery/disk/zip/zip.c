/*
 * zip.c - unpacks members of a zip exactly as Python's zipfile does, hence without a library.
 *
 * zip_directory.c determines the members. By zipfile's rules the local header of a member is read,
 * too, and its name compared; sizes may be wrong as long as the checksum matches; overlapping
 * members are rejected, as in newer releases of CPython. Declared sizes are not trusted: no more
 * than the caller's limit is allocated, and no more than declared is passed on.
 */
#include "libquery/disk/zip/zip.h"

#include <stdlib.h>
#include <zlib.h>

#include "db/base/cleanup.h"

#define LOCAL_SIZE 30                 /* bytes of a local header without name and extra */
#define PIECE      ((size_t)32 << 10) /* bytes of packed data read, and unpacked, at a time */

/* The supported compression methods. */
enum method {
	STORED = 0,
	DEFLATED = 8,
};

/* --- opening --- */

void zip_close(struct zip *zip)
{
	if (!zip)
		return;
	arena_free(&zip->names);
	free(zip->starts);
	free(zip->members);
	free(zip->bytes);
	free(zip->path);
	free(zip);
}

static int open_zip(int fd, const struct zip_source *source, const char *path, struct zip **out,
                    struct error *error)
{
	CLEANUP(cleanup_zip) struct zip *zip = calloc(1, sizeof(*zip));
	int code;

	if (zip)
		zip->path = strdup(path ? path : "zip");
	if (!zip || !zip->path)
		return error_nomem(error);
	zip->fd = fd;
	if (source)
		zip->source = *source;
	code = zip_directory_load(zip, error);
	if (code == 0)
		*out = take(zip);
	return code;
}

int zip_open(int fd, const char *path, struct zip **out, struct error *error)
{
	return open_zip(fd, NULL, path, out, error);
}

int zip_open_source(const struct zip_source *source, const char *path, struct zip **out,
                    struct error *error)
{
	return open_zip(-1, source, path, out, error);
}

/* --- the start of a member --- */

/* The state of unpacking a member. */
struct unpacking {
	const struct zip *zip;
	const struct zip_member *member;
	uint64_t data, given; /* offset of the packed bytes; unpacked bytes so far */
	uLong crc;
	zip_sink *sink;
	void *payload;
	struct error *error;
};

/* Without the path of the zip: what is wrong with a distribution is recorded, and the zip may move.
 */
static int damaged(const struct unpacking *work, const char *problem)
{
	return error_set(work->error, ERROR_FORMAT, "%.*s: %s", (int)work->member->name.len,
	                 work->member->name.ptr, problem);
}

static int too_large(const struct unpacking *work, const char *problem, uint64_t limit)
{
	return error_set(work->error, ERROR_LIMIT, "%.*s: %s %llu bytes",
	                 (int)work->member->name.len, work->member->name.ptr, problem,
	                 (unsigned long long)limit);
}

/* Find the packed bytes: after the local header, whose name is compared. */
static int find_data(struct unpacking *work)
{
	const struct zip *zip = work->zip;
	CLEANUP(cleanup_free) char *name = NULL;
	uint64_t at = work->member->header_offset;
	char local[LOCAL_SIZE];
	size_t got;
	int code;

	if (zip->size < LOCAL_SIZE || at > zip->size - LOCAL_SIZE)
		return damaged(work, "its header is outside of the file");
	code = zip_file_read(zip, at, local, sizeof(local), work->error);
	if (code < 0)
		return code;
	if (!has_signature(local, 3, 4))
		return damaged(work, "its header does not start with its signature");
	name = malloc((size_t)get16(local + 26) + 1);
	if (!name)
		return error_nomem(work->error);
	code = zip_file_read_some(zip, at + LOCAL_SIZE, name, get16(local + 26), &got, work->error);
	if (code < 0)
		return code;
	code = zip_directory_is_named(zip, work->member, (struct slice){name, got},
	                              get16(local + 6));
	if (code < 0)
		return error_nomem(work->error);
	work->data = at + LOCAL_SIZE + got + get16(local + 28);
	return code ? 0 : damaged(work, "its two headers differ in the name");
}

static int check_readable(const struct unpacking *work)
{
	const struct zip_member *member = work->member;
	uint64_t end = zip_directory_next_start(work->zip, member->header_offset);

	if (member->flags & ZIP_PATCH)
		return damaged(work, "patched data is not supported");
	if (member->flags & (ZIP_ENCRYPTED | ZIP_STRONG_ENCRYPTION))
		return damaged(work, "is encrypted");
	if (work->data > end || member->packed > end - work->data)
		return damaged(work, "overlaps what follows it; this may be a zip bomb");
	if (member->method != STORED && member->method != DEFLATED)
		return error_set(work->error, ERROR_FORMAT,
		                 "%.*s: compression method %u is not supported",
		                 (int)member->name.len, member->name.ptr, member->method);
	return 0;
}

/* --- unpacking --- */

static int give(struct unpacking *work, const char *bytes, size_t size)
{
	if (size > work->member->size - work->given)
		return too_large(work, "expands beyond its declared", work->member->size);
	if (size == 0)
		return 0;
	work->given += size;
	work->crc = crc32_z(work->crc, (const Bytef *)bytes, size);
	return work->sink(work->payload, (struct slice){bytes, size}, work->error);
}

static void cleanup_inflate(z_stream *stream)
{
	inflateEnd(stream);
}

/* Pass on all output of inflate() for its input; *status is inflate()'s. */
static int drain_input(struct unpacking *work, z_stream *stream, int *status)
{
	char piece[PIECE];
	int code;

	do {
		stream->next_out = (Bytef *)piece;
		stream->avail_out = sizeof(piece);
		*status = inflate(stream, Z_NO_FLUSH);
		if (*status == Z_BUF_ERROR)
			*status = Z_OK;
		code = give(work, piece, sizeof(piece) - stream->avail_out);
	} while (code == 0 && *status == Z_OK && stream->avail_out == 0);
	return code;
}

/* As in Python, read at least once, and no more stored bytes than declared. */
static int give_all(struct unpacking *work)
{
	CLEANUP(cleanup_inflate) z_stream stream = {0};
	const struct zip_member *member = work->member;
	int status = Z_OK, code = 0;
	char piece[PIECE];
	size_t got;

	if (member->method == DEFLATED && inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return error_nomem(work->error);
	for (uint64_t at = 0; code == 0 && status == Z_OK && at < member->packed; at += got) {
		uint64_t packed = member->packed - at, left = member->size - work->given;

		code = zip_file_read_some(work->zip, work->data + at, piece,
		                          packed < PIECE ? (size_t)packed : PIECE, &got,
		                          work->error);
		if (code == 0 && got == 0)
			return left > 0 || at == 0 ? damaged(work, "the file ends within it") : 0;
		if (code == 0 && member->method == STORED) {
			code = give(work, piece, got < left ? got : (size_t)left);
			status = got < left ? Z_OK : Z_STREAM_END;
		} else if (code == 0) {
			stream.next_in = (Bytef *)piece;
			stream.avail_in = (uInt)got;
			code = drain_input(work, &stream, &status);
		}
	}
	if (code < 0)
		return code;
	if (status == Z_MEM_ERROR)
		return error_nomem(work->error);
	return status == Z_OK || status == Z_STREAM_END
	               ? 0
	               : damaged(work, "its compressed data is damaged");
}

int zip_unpack(const struct zip *zip, const struct zip_member *member, uint64_t limit,
               zip_sink *sink, void *payload, struct error *error)
{
	struct unpacking work = {
	        .zip = zip, .member = member, .sink = sink, .payload = payload, .error = error};
	int code = find_data(&work);

	if (code == 0)
		code = check_readable(&work);
	if (code == 0 && member->size > limit)
		return too_large(&work, "larger than", limit);
	if (code == 0)
		code = give_all(&work);
	if (code == 0 && work.crc != member->crc)
		return damaged(&work, "its checksum is wrong");
	return code;
}

static int put_in_memory(void *payload, struct slice bytes, struct error *error)
{
	char **at = payload;

	(void)error;
	memcpy(*at, bytes.ptr, bytes.len);
	*at += bytes.len;
	return 0;
}

int zip_read(const struct zip *zip, const struct zip_member *member, size_t limit,
             struct slice *out, struct error *error)
{
	size_t room = member->size <= limit && member->size < SIZE_MAX ? (size_t)member->size : 0;
	CLEANUP(cleanup_free) char *bytes = malloc(room + 1);
	char *at = bytes;
	int code;

	if (!bytes)
		return error_nomem(error);
	code = zip_unpack(zip, member, limit < SIZE_MAX ? limit : SIZE_MAX - 1, put_in_memory, &at,
	                  error);
	if (code < 0)
		return code;
	*at = '\0';
	*out = slice_between(bytes, at);
	bytes = NULL;
	return 0;
}

/*
 * zip.c - see zip.h.
 *
 * Why not a library: what matters here is not to read zips but to see in each of them
 * exactly what importlib.metadata would see through Python's zipfile. Which members
 * there are is told by zip_directory.c; this gives their bytes, by the same rules:
 * Python also reads the member's local header and compares the name; sizes may lie as
 * long as the checksum agrees; members that overlap are refused, as newer releases of
 * CPython do. What is declared is never believed: no more than the caller's limit is
 * allocated, and no more than one byte beyond the declared size is ever unpacked.
 */
#include "libquery/disk/zip/zip.h"

#include <limits.h>
#include <zlib.h>

#include "db/base/cleanup.h"
#include "libquery/disk/zip/zip_directory.h"
#include "libquery/disk/zip/zip_file.h"
#include "libquery/disk/zip/zip_starts.h"
#include "libquery/disk/zip/zip_text.h"

#define LOCAL_SIZE 30                 /* bytes of a local header without name and extra */
#define INPUT_SIZE ((size_t)32 << 10) /* bytes of packed data read at a time */

struct zip {
	struct zip_file file;
	struct zip_directory directory;
	struct zip_starts starts;
	char *name; /* the file's, for messages */
};

/* --- opening --- */

void zip_close(struct zip *zip)
{
	if (!zip)
		return;
	zip_directory_free(&zip->directory);
	zip_starts_free(&zip->starts);
	free(zip->name);
	free(zip);
}

int zip_open(int fd, const char *path, struct zip **out, struct error *error)
{
	CLEANUP(cleanup_zip) struct zip *zip = calloc(1, sizeof(*zip));
	int code;

	if (!zip)
		return error_nomem(error);
	zip_starts_init(&zip->starts);
	zip->name = strdup(path ? path : "zip");
	if (!zip->name)
		return error_nomem(error);
	code = zip_file_open(fd, zip->name, &zip->file, error);
	if (code == 0)
		code = zip_directory_load(&zip->directory, &zip->file, error);
	if (code == 0)
		*out = take(zip);
	return code;
}

/* --- walking --- */

size_t zip_count(const struct zip *zip)
{
	return zip->directory.count;
}

bool zip_next(const struct zip *zip, struct zip_cursor *cursor, struct zip_member *out)
{
	return zip_directory_next(&zip->directory, cursor, out);
}

bool zip_find(const struct zip *zip, struct slice name, struct zip_member *out)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member member;
	bool found = false;

	while (zip_next(zip, &cursor, &member)) {
		if (!slice_equal(member.name, name))
			continue;
		*out = member;
		found = true;
	}
	return found;
}

/* --- the start of a member --- */

static int damaged(const struct zip *zip, const struct zip_member *member, const char *problem,
                   struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: %.*s: %s", zip->file.name, (int)member->name.len,
	                 member->name.ptr, problem);
}

static int too_large(const struct zip *zip, const struct zip_member *member, const char *problem,
                     uint64_t limit, struct error *error)
{
	return error_set(error, ERROR_LIMIT, "%s: %.*s: %s %llu bytes", zip->file.name,
	                 (int)member->name.len, member->name.ptr, problem,
	                 (unsigned long long)limit);
}

/* Whether cp437 text and UTF-8 text say the same; 1, 0 or ERROR_NOMEM. */
static int same_across(struct slice foreign, struct slice utf8)
{
	CLEANUP(cleanup_free) char *converted = malloc(foreign.len * UTF8_PER_CP437 + 1);

	if (!converted)
		return ERROR_NOMEM;
	return slice_equal((struct slice){converted, zip_text_convert(foreign, converted)}, utf8);
}

/* Both headers name the member, each in a character set of its own. */
static int same_name(struct slice a, bool a_utf8, struct slice b, bool b_utf8)
{
	if (a_utf8 == b_utf8)
		return slice_equal(a, b);
	return a_utf8 ? same_across(b, a) : same_across(a, b);
}

/* Compare the name in the local header, @length bytes at @at; *after is where it ends. */
static int check_local_name(const struct zip *zip, const struct zip_member *member, uint16_t flags,
                            uint64_t at, size_t length, uint64_t *after, struct error *error)
{
	CLEANUP(cleanup_free) char *name = malloc(length + 1);
	size_t got;
	int code;

	if (!name)
		return error_nomem(error);
	code = zip_file_read_some(&zip->file, at, name, length, &got, error);
	if (code < 0)
		return code;
	code = same_name(zip_directory_name(&zip->directory, member->place),
	                 member->flags & ZIP_UTF8, (struct slice){name, got}, flags & ZIP_UTF8);
	if (code < 0)
		return error_nomem(error);
	if (code == 0)
		return damaged(zip, member, "its two headers differ in the name", error);
	*after = at + got;
	return 0;
}

/* Where the packed bytes of @member start. */
static int find_data(const struct zip *zip, const struct zip_member *member, uint64_t *out,
                     struct error *error)
{
	char local[LOCAL_SIZE];
	uint64_t at = member->header_offset;
	int code;

	if (zip->file.size < LOCAL_SIZE || at > zip->file.size - LOCAL_SIZE)
		return damaged(zip, member, "its header is outside of the file", error);
	code = zip_file_read(&zip->file, at, local, sizeof(local), error);
	if (code < 0)
		return code;
	if (!has_signature(local, 3, 4))
		return damaged(zip, member, "its header does not start with its signature", error);
	code = check_local_name(zip, member, get16(local + 6), at + LOCAL_SIZE, get16(local + 26),
	                        &at, error);
	if (code == 0)
		*out = at + get16(local + 28);
	return code;
}

/* --- its bytes --- */

static int check_readable(struct zip *zip, const struct zip_member *member, uint64_t data,
                          struct error *error)
{
	uint64_t end = zip_starts_next(&zip->starts, &zip->directory, member->header_offset);

	if (member->flags & ZIP_PATCH)
		return damaged(zip, member, "patched data is not supported", error);
	if (member->flags & (ZIP_ENCRYPTED | ZIP_STRONG_ENCRYPTION))
		return damaged(zip, member, "is encrypted", error);
	if (data > end || member->packed > end - data)
		return damaged(zip, member, "overlaps what follows it; this may be a zip bomb",
		               error);
	if (member->method != ZIP_STORED && member->method != ZIP_DEFLATED)
		return error_set(error, ERROR_FORMAT,
		                 "%s: %.*s: compression method %u is not supported", zip->file.name,
		                 (int)member->name.len, member->name.ptr, member->method);
	return 0;
}

/* The bytes of a member as they are gathered: room for one more than declared. */
struct output {
	char *bytes;
	size_t length, declared;
};

static int copy_stored(const struct zip *zip, const struct zip_member *member, uint64_t data,
                       struct output *out, struct error *error)
{
	size_t want = member->packed < out->declared ? (size_t)member->packed : out->declared;
	int code = zip_file_read_some(&zip->file, data, out->bytes, want, &out->length, error);

	if (code == 0 && (out->length < want || (member->packed > 0 && data >= zip->file.size)))
		return damaged(zip, member, "the file ends within it", error);
	return code;
}

static void cleanup_inflate(z_stream *stream)
{
	inflateEnd(stream);
}

/* One step: what inflate() makes of its input, at most one byte more than declared. */
static int inflate_some(z_stream *stream, struct output *out)
{
	size_t room = out->declared + 1 - out->length;
	int status;

	stream->next_out = (Bytef *)out->bytes + out->length;
	stream->avail_out = room < UINT_MAX ? (uInt)room : UINT_MAX;
	status = inflate(stream, Z_NO_FLUSH);
	out->length = (size_t)((char *)stream->next_out - out->bytes);
	return status == Z_BUF_ERROR ? Z_OK : status;
}

/* All that inflate() makes of its input; at one byte too many it stops. */
static int drain_input(z_stream *stream, struct output *out)
{
	int status;

	do {
		status = inflate_some(stream, out);
	} while (status == Z_OK && out->length <= out->declared && stream->avail_out == 0);
	return status;
}

static int inflate_member(const struct zip *zip, const struct zip_member *member, uint64_t data,
                          struct output *out, struct error *error)
{
	CLEANUP(cleanup_inflate) z_stream stream = {0};
	char buffer[INPUT_SIZE];
	int status = Z_OK, code;

	if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return error_nomem(error);
	for (uint64_t left = member->packed; status == Z_OK && left > 0; left -= stream.total_in) {
		size_t got, size = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);

		code = zip_file_read_some(&zip->file, data, buffer, size, &got, error);
		if (code < 0)
			return code;
		if (got == 0 && (out->length < out->declared || left == member->packed))
			return damaged(zip, member, "the file ends within it", error);
		if (got == 0)
			break;
		stream.next_in = (Bytef *)buffer;
		stream.avail_in = (uInt)got;
		stream.total_in = 0;
		status = drain_input(&stream, out);
		if (out->length > out->declared)
			return too_large(zip, member, "expands beyond its declared", out->declared,
			                 error);
		data += got;
	}
	if (status == Z_MEM_ERROR)
		return error_nomem(error);
	if (status != Z_OK && status != Z_STREAM_END)
		return damaged(zip, member, "its compressed data is damaged", error);
	return 0;
}

static int unpack(const struct zip *zip, const struct zip_member *member, uint64_t data,
                  struct output *out, struct error *error)
{
	uLong crc;
	int code;

	if (member->method == ZIP_STORED)
		code = copy_stored(zip, member, data, out, error);
	else
		code = inflate_member(zip, member, data, out, error);
	if (code < 0)
		return code;
	crc = crc32_z(0, (const Bytef *)out->bytes, out->length);
	if (crc != member->crc)
		return damaged(zip, member, "its checksum is wrong", error);
	return 0;
}

int zip_locate(struct zip *zip, const struct zip_member *member, uint64_t *offset,
               struct error *error)
{
	int code = find_data(zip, member, offset, error);

	return code < 0 ? code : check_readable(zip, member, *offset, error);
}

const struct zip_file *zip_file_of(const struct zip *zip)
{
	return &zip->file;
}

static int check_stored(const struct zip *zip, const struct zip_member *member, uint64_t at,
                        bool (*stop)(void), struct error *error)
{
	char buffer[INPUT_SIZE];
	uLong crc = 0;
	size_t got = 1;

	for (uint64_t left = member->size; left > 0; left -= got, at += got) {
		size_t size = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
		int code = zip_file_read_some(&zip->file, at, buffer, size, &got, error);

		if (code < 0)
			return code;
		if (got == 0)
			return damaged(zip, member, "the file ends within it", error);
		if (stop && stop())
			return error_set(error, ERROR_IO, "interrupted");
		crc = crc32_z(crc, (const Bytef *)buffer, got);
	}
	return crc == member->crc ? 0 : damaged(zip, member, "its checksum is wrong", error);
}

int zip_find_stored(struct zip *zip, const struct zip_member *member, bool (*stop)(void),
                    uint64_t *offset, struct error *error)
{
	uint64_t data = 0;
	int code = zip_locate(zip, member, &data, error);

	if (code < 0)
		return code;
	if (member->method != ZIP_STORED || member->packed != member->size)
		return 0;
	code = check_stored(zip, member, data, stop, error);
	*offset = data;
	return code < 0 ? code : 1;
}

int zip_read(struct zip *zip, const struct zip_member *member, size_t limit, struct slice *out,
             struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct output output;
	uint64_t data = 0;
	int code = zip_locate(zip, member, &data, error);

	if (code < 0)
		return code;
	if (member->size > limit || member->size > SIZE_MAX - 1)
		return too_large(zip, member, "larger than", limit, error);
	bytes = malloc((size_t)member->size + 1);
	if (!bytes)
		return error_nomem(error);
	output = (struct output){.bytes = bytes, .declared = (size_t)member->size};
	code = unpack(zip, member, data, &output, error);
	if (code < 0)
		return code;
	bytes[output.length] = '\0';
	out->len = output.length;
	out->ptr = take(bytes);
	return 0;
}

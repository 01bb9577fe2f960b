/*
 * zip_read.c - the bytes of one member, see zip.h.
 *
 * The directory is not enough: Python also reads the member's local header and
 * compares the name, so this does. What is declared is never believed: no more
 * than the caller's limit is allocated, and no more than one byte beyond the
 * declared size is ever unpacked.
 */
#include <limits.h>
#include <pthread.h>
#include <zlib.h>

#include "cleanup.h"
#include "zip_internal.h"

#define LOCAL_SIZE 30                 /* bytes of a local header without name and extra */
#define INPUT_SIZE ((size_t)32 << 10) /* bytes of packed data read at a time */
#define SORT_AFTER 8                  /* reads for which sorting all headers does not pay */

enum member_method {
	METHOD_STORED = 0,
	METHOD_DEFLATED = 8,
};

static int damaged(const struct zip *zip, const struct zip_member *m, const char *problem,
                   struct error *error)
{
	return error_set(error, ERROR_FORMAT, "%s: %.*s: %s", zip_path(zip), (int)m->name.len,
	                 m->name.ptr, problem);
}

static int too_large(const struct zip *zip, const struct zip_member *m, const char *problem,
                     uint64_t limit, struct error *error)
{
	return error_set(error, ERROR_LIMIT, "%s: %.*s: %s %llu bytes", zip_path(zip),
	                 (int)m->name.len, m->name.ptr, problem, (unsigned long long)limit);
}

/* Whether cp437 text and UTF-8 text say the same; false also when there is no memory. */
static bool same_across(struct slice foreign, struct slice utf8)
{
	CLEANUP(cleanup_free) char *converted = malloc(foreign.len * UTF8_PER_BYTE + 1);

	if (!converted)
		return false;
	return slice_equal((struct slice){converted, zip_convert_cp437(foreign, converted)}, utf8);
}

/* Both headers name the member, each in a character set of its own. */
static bool same_name(struct slice a, bool a_utf8, struct slice b, bool b_utf8)
{
	if (a_utf8 == b_utf8)
		return slice_equal(a, b);
	return a_utf8 ? same_across(b, a) : same_across(a, b);
}

/* Compare the name in the local header, @length bytes at @at; *after is where it ends. */
static int check_local_name(const struct zip *zip, const struct zip_member *m, uint16_t flags,
                            uint64_t at, size_t length, uint64_t *after, struct error *error)
{
	CLEANUP(cleanup_free) char *name = malloc(length + 1);
	struct record record;
	size_t got;
	int r;

	if (!name)
		return error_nomem(error);
	r = zip_read_some(zip, at, name, length, &got, error);
	if (r < 0)
		return r;
	zip_split_record(zip, m->place, &record);
	if (!same_name(record.name, m->flags & FLAG_UTF8, (struct slice){name, got},
	               flags & FLAG_UTF8))
		return damaged(zip, m, "its two headers differ in the name", error);
	*after = at + got;
	return 0;
}

/* Where the packed bytes of @m start. */
static int find_data(const struct zip *zip, const struct zip_member *m, uint64_t *out,
                     struct error *error)
{
	char local[LOCAL_SIZE];
	uint64_t at = m->header_offset;
	int r;

	if (zip->file_size < LOCAL_SIZE || at > zip->file_size - LOCAL_SIZE)
		return damaged(zip, m, "its header is outside of the file", error);
	r = zip_read_all(zip, at, local, sizeof(local), error);
	if (r < 0)
		return r;
	if (!has_signature(local, 3, 4))
		return damaged(zip, m, "its header does not start with its signature", error);
	r = check_local_name(zip, m, get16(local + 6), at + LOCAL_SIZE, get16(local + 26), &at,
	                     error);
	if (r == 0)
		*out = at + get16(local + 28);
	return r;
}

/*
 * Where members start. Each read asks for the start of the next member. For a few
 * reads a walk through the directory is the cheapest answer; many would take time
 * with the square of the members, so that then the starts are sorted, once. Reads
 * may come from several threads: the lock guards the making, and what is made does
 * not change until the zip is closed.
 */
struct headers {
	pthread_mutex_t lock;
	unsigned reads;   /* counted up to SORT_AFTER */
	uint64_t *sorted; /* NULL: not made, or no memory */
	size_t count;
};

struct headers *zip_headers_new(void)
{
	struct headers *headers = calloc(1, sizeof(*headers));

	if (headers)
		pthread_mutex_init(&headers->lock, NULL);
	return headers;
}

void zip_headers_free(struct headers *headers)
{
	if (!headers)
		return;
	pthread_mutex_destroy(&headers->lock);
	free(headers->sorted);
	free(headers);
}

static int by_offset(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void sort_headers(const struct zip *zip, struct headers *headers)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	uint64_t *sorted = reallocarray(NULL, zip->count, sizeof(*sorted));
	struct zip_member m;
	bool in_order = true; /* as is usual */
	size_t count = 0;

	if (!sorted)
		return;
	while (zip_next(zip, &cursor, &m)) {
		if (m.header_offset == UINT64_MAX)
			continue;
		in_order &= count == 0 || sorted[count - 1] <= m.header_offset;
		sorted[count++] = m.header_offset;
	}
	if (!in_order)
		qsort(sorted, count, sizeof(*sorted), by_offset);
	headers->count = count;
	headers->sorted = sorted;
}

/* Count one more read; NULL as long as the headers are not sorted. */
static const uint64_t *sorted_headers(const struct zip *zip)
{
	struct headers *headers = zip->headers;
	const uint64_t *sorted;

	pthread_mutex_lock(&headers->lock);
	if (headers->reads < SORT_AFTER && ++headers->reads == SORT_AFTER)
		sort_headers(zip, headers);
	sorted = headers->sorted;
	pthread_mutex_unlock(&headers->lock);
	return sorted;
}

/* The first of the sorted headers behind @offset, or else the directory. */
static uint64_t search_next(const struct zip *zip, const uint64_t *sorted, uint64_t offset)
{
	size_t low = 0, high = zip->headers->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < zip->headers->count ? sorted[low] : zip->start;
}

/* The same by a walk. */
static uint64_t walk_to_next(const struct zip *zip, uint64_t offset)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member other;
	uint64_t end = UINT64_MAX;
	bool is_last = true;

	while (zip_next(zip, &cursor, &other)) {
		if (other.header_offset <= offset || other.header_offset == UINT64_MAX)
			continue;
		is_last = false;
		if (other.header_offset < end)
			end = other.header_offset;
	}
	return is_last ? zip->start : end;
}

/* Where the next member, or else the directory, starts: the packed bytes end before. */
static uint64_t end_of_room(const struct zip *zip, const struct zip_member *m)
{
	const uint64_t *sorted = sorted_headers(zip);

	return sorted ? search_next(zip, sorted, m->header_offset)
	              : walk_to_next(zip, m->header_offset);
}

static int check_readable(const struct zip *zip, const struct zip_member *m, uint64_t data,
                          struct error *error)
{
	uint64_t end = end_of_room(zip, m);

	if (m->flags & FLAG_PATCH)
		return damaged(zip, m, "patched data is not supported", error);
	if (m->flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION))
		return damaged(zip, m, "is encrypted", error);
	if (data > end || m->packed > end - data)
		return damaged(zip, m, "overlaps what follows it; this may be a zip bomb", error);
	if (m->method != METHOD_STORED && m->method != METHOD_DEFLATED)
		return error_set(error, ERROR_FORMAT,
		                 "%s: %.*s: compression method %u is not supported", zip_path(zip),
		                 (int)m->name.len, m->name.ptr, m->method);
	return 0;
}

/* The bytes of a member as they are gathered: room for one more than declared. */
struct output {
	char *bytes;
	size_t length, declared;
};

static int copy_stored(const struct zip *zip, const struct zip_member *m, uint64_t data,
                       struct output *out, struct error *error)
{
	size_t want = m->packed < out->declared ? (size_t)m->packed : out->declared;
	int r = zip_read_some(zip, data, out->bytes, want, &out->length, error);

	if (r == 0 && (out->length < want || (m->packed > 0 && data >= zip->file_size)))
		return damaged(zip, m, "the file ends within it", error);
	return r;
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

/* Give @stream all that follows from @buffer; stop at the end of either, or at one byte too many.
 */
static int drain_input(z_stream *stream, struct output *out)
{
	int status;

	do {
		status = inflate_some(stream, out);
	} while (status == Z_OK && out->length <= out->declared && stream->avail_out == 0);
	return status;
}

static int inflate_member(const struct zip *zip, const struct zip_member *m, uint64_t data,
                          struct output *out, struct error *error)
{
	CLEANUP(cleanup_inflate) z_stream stream = {0};
	char buffer[INPUT_SIZE];
	int status = Z_OK, r;

	if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return error_nomem(error);
	for (uint64_t left = m->packed; status == Z_OK && left > 0; left -= stream.total_in) {
		size_t got, size = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);

		r = zip_read_some(zip, data, buffer, size, &got, error);
		if (r < 0)
			return r;
		if (got == 0 && (out->length < out->declared || left == m->packed))
			return damaged(zip, m, "the file ends within it", error);
		if (got == 0)
			break;
		stream.next_in = (Bytef *)buffer;
		stream.avail_in = (uInt)got;
		stream.total_in = 0;
		status = drain_input(&stream, out);
		if (out->length > out->declared)
			return too_large(zip, m, "expands beyond its declared", out->declared,
			                 error);
		data += got;
	}
	if (status == Z_MEM_ERROR)
		return error_nomem(error);
	if (status != Z_OK && status != Z_STREAM_END)
		return damaged(zip, m, "its compressed data is damaged", error);
	return 0;
}

static int unpack(const struct zip *zip, const struct zip_member *m, uint64_t data,
                  struct output *out, struct error *error)
{
	uLong crc;
	int r;

	if (m->method == METHOD_STORED)
		r = copy_stored(zip, m, data, out, error);
	else
		r = inflate_member(zip, m, data, out, error);
	if (r < 0)
		return r;
	crc = crc32_z(0, (const Bytef *)out->bytes, out->length);
	if (crc != m->crc)
		return damaged(zip, m, "its checksum is wrong", error);
	return 0;
}

int zip_read(const struct zip *zip, const struct zip_member *member, size_t limit,
             struct slice *out, struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct output output;
	uint64_t data = 0;
	int r = find_data(zip, member, &data, error);

	if (r == 0)
		r = check_readable(zip, member, data, error);
	if (r < 0)
		return r;
	if (member->size > limit || member->size > SIZE_MAX - 1)
		return too_large(zip, member, "larger than", limit, error);
	bytes = malloc((size_t)member->size + 1);
	if (!bytes)
		return error_nomem(error);
	output = (struct output){.bytes = bytes, .declared = (size_t)member->size};
	r = unpack(zip, member, data, &output, error);
	if (r < 0)
		return r;
	bytes[output.length] = '\0';
	out->len = output.length;
	out->ptr = take(bytes);
	return 0;
}

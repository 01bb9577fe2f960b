/*
 * test_zip.c - properties of zip.c that zip_oracle.py, which compares it with Python for many
 * random zips, cannot test: limits, messages, and files that change.
 */
#include <sys/mman.h>
#include <zlib.h>

#include "test.h"

#include "db/base/cleanup.h"
#include "libquery/disk/zip/zip.h"

#define ROOM ((size_t)4 << 20) /* bytes of the largest zip here */

/* A zip under construction, and its opened form. */
struct fixture {
	char bytes[ROOM], directory[ROOM];
	size_t length, directory_length, count;
	int fd;
	struct zip *zip;
	struct error error;
};

/* A member to be written. */
struct member {
	const char *name;
	const char *local_name; /* NULL: the same name */
	struct slice data;
	bool deflate;
	uint16_t method, flags;
	uint32_t size; /* declared; 0: the actual size */
	uint32_t crc_error;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->fd = memfd_create("zip", MFD_CLOEXEC);
	*state = f;
	return f->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	zip_close(f->zip);
	error_clear(&f->error);
	close(f->fd);
	free(f);
	return 0;
}

static void put(char *to, size_t *length, const void *bytes, size_t size)
{
	assert_true(*length + size <= ROOM);
	if (size > 0)
		memcpy(to + *length, bytes, size);
	*length += size;
}

static void put_number(char *to, size_t *length, uint64_t value, size_t size)
{
	for (; size > 0; size--, value >>= 8) {
		char byte = (char)value;

		put(to, length, &byte, 1);
	}
}

static struct slice deflated(struct slice data, char *room, size_t size)
{
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)data.ptr;
	z.avail_in = (uInt)data.len;
	z.next_out = (Bytef *)room;
	z.avail_out = (uInt)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return (struct slice){room, size - z.avail_out};
}

/* The fields common to both headers, from the flags to the length of the name. */
static void put_common(char *to, size_t *length, const struct member *m, size_t packed,
                       size_t name_length)
{
	uint16_t method = m->deflate ? 8 : m->method;
	uLong crc = crc32(0, (const Bytef *)m->data.ptr, (uInt)m->data.len) + m->crc_error;

	put_number(to, length, m->flags, 2);
	put_number(to, length, method, 2);
	put_number(to, length, 0, 4);
	put_number(to, length, crc, 4);
	put_number(to, length, packed, 4);
	put_number(to, length, m->size ? m->size : m->data.len, 4);
	put_number(to, length, name_length, 2);
}

static void add(struct fixture *f, struct member m)
{
	char room[8192];
	struct slice packed = m.deflate ? deflated(m.data, room, sizeof(room)) : m.data;
	size_t length = strlen(m.name);
	const char *local = m.local_name ? m.local_name : m.name;
	size_t offset = f->length, local_length = strlen(local);

	put(f->bytes, &f->length, "PK\3\4\24\0", 6);
	put_common(f->bytes, &f->length, &m, packed.len, local_length);
	put_number(f->bytes, &f->length, 0, 2);
	put(f->bytes, &f->length, local, local_length);
	put(f->bytes, &f->length, packed.ptr, packed.len);
	put(f->directory, &f->directory_length, "PK\1\2\24\3", 6);
	put_number(f->directory, &f->directory_length, 20, 2);
	put_common(f->directory, &f->directory_length, &m, packed.len, length);
	put_number(f->directory, &f->directory_length, 0, 12);
	put_number(f->directory, &f->directory_length, offset, 4);
	put(f->directory, &f->directory_length, m.name, length);
	f->count++;
}

static void finish(struct fixture *f)
{
	size_t start = f->length;

	put(f->bytes, &f->length, f->directory, f->directory_length);
	put(f->bytes, &f->length, "PK\5\6\0\0\0\0", 8);
	put_number(f->bytes, &f->length, f->count, 2);
	put_number(f->bytes, &f->length, f->count, 2);
	put_number(f->bytes, &f->length, f->directory_length, 4);
	put_number(f->bytes, &f->length, start, 4);
	put_number(f->bytes, &f->length, 0, 2);
}

static int reopen(struct fixture *f)
{
	assert_int_equal(pwrite(f->fd, f->bytes, f->length, 0), (ssize_t)f->length);
	return zip_open(f->fd, "some.zip", &f->zip, &f->error);
}

/* The last member of this name. */
static struct zip_member find(struct fixture *f, const char *name)
{
	for (size_t i = f->zip->count; i-- > 0;)
		if (slice_equal(f->zip->members[i].name, slice_of(name)))
			return f->zip->members[i];
	fail_msg("no member %s", name);
	return (struct zip_member){0};
}

static void assert_read(struct fixture *f, const char *name, struct slice expected)
{
	struct zip_member m = find(f, name);
	struct slice data;

	assert_int_equal(zip_read(f->zip, &m, ROOM, &data, &f->error), 0);
	assert_true(slice_equal(data, expected));
	assert_int_equal(data.ptr[data.len], '\0');
	free((char *)data.ptr);
}

static void assert_unreadable(struct fixture *f, const char *name, int code, const char *text)
{
	struct zip_member m = find(f, name);
	struct slice data = {0};

	assert_int_equal(zip_read(f->zip, &m, 1000, &data, &f->error), code);
	assert_null(data.ptr);
	assert_non_null(strstr(error_text(&f->error), text));
}

static void test_refused_members(void **state)
{
	struct fixture *f = *state;

	add(f, (struct member){.name = "secret", .flags = 1, .data = SLICE("x")});
	add(f, (struct member){.name = "bzip2", .method = 12, .data = SLICE("x")});
	add(f, (struct member){.name = "other", .local_name = "OTHER", .data = SLICE("x")});
	add(f, (struct member){.name = "crc", .crc_error = 1, .data = SLICE("x")});
	add(f, (struct member){.name = "garbage", .method = 8, .data = SLICE("\xff\xff\xff")});
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_unreadable(f, "secret", ERROR_FORMAT, "secret: is encrypted");
	assert_unreadable(f, "bzip2", ERROR_FORMAT, "compression method 12 is not supported");
	assert_unreadable(f, "other", ERROR_FORMAT, "differ in the name");
	assert_unreadable(f, "crc", ERROR_FORMAT, "checksum");
	assert_unreadable(f, "garbage", ERROR_FORMAT, "damaged");
}

static void test_limits(void **state)
{
	struct fixture *f = *state;
	static char zeros[100000];
	struct slice large = {zeros, sizeof(zeros)};

	add(f, (struct member){.name = "large", .deflate = true, .data = large});
	add(f, (struct member){.name = "bomb", .deflate = true, .data = large, .size = 10});
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_unreadable(f, "large", ERROR_LIMIT, "larger than 1000 bytes");
	assert_unreadable(f, "bomb", ERROR_LIMIT, "expands beyond its declared 10 bytes");
	assert_read(f, "large", large);
}

static int refuse_third(void *payload, struct slice bytes, struct error *error)
{
	size_t *pieces = payload;

	assert_true(bytes.len > 0);
	return ++*pieces < 3 ? 0 : error_set(error, ERROR_IO, "no room");
}

/* The member is delivered in pieces until the callback stops it. */
static void test_unpack(void **state)
{
	struct fixture *f = *state;
	static char data[100000];

	add(f, (struct member){.name = "packed", .deflate = true, .data = {data, sizeof(data)}});
	add(f, (struct member){.name = "stored", .data = {data, sizeof(data)}});
	finish(f);
	assert_int_equal(reopen(f), 0);
	for (size_t i = 0; i < 2; i++) {
		struct zip_member m = find(f, i ? "stored" : "packed");
		size_t pieces = 0;

		assert_int_equal(
		        zip_unpack(f->zip, &m, sizeof(data) - 1, refuse_third, &pieces, &f->error),
		        ERROR_LIMIT);
		assert_int_equal(pieces, 0);
		assert_int_equal(
		        zip_unpack(f->zip, &m, sizeof(data), refuse_third, &pieces, &f->error),
		        ERROR_IO);
		assert_int_equal(pieces, 3);
		assert_string_equal(error_text(&f->error), "no room");
	}
}

/* If the file shrinks while it is open, reads fail without killing the process. */
static void test_shrinks(void **state)
{
	struct fixture *f = *state;

	add(f, (struct member){.name = "a", .data = SLICE("1")});
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_int_equal(ftruncate(f->fd, 3), 0);
	assert_unreadable(f, "a", ERROR_FORMAT, "ends");
}

static void test_not_a_file(void **state)
{
	struct fixture *f = *state;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(zip_open(fds[0], NULL, &f->zip, &f->error), ERROR_FORMAT);
	assert_int_equal(zip_open(-1, NULL, &f->zip, NULL), ERROR_IO);
	close(fds[0]);
	close(fds[1]);
	zip_close(NULL);
}

RUN_TESTS(TEST(test_refused_members), TEST(test_limits), TEST(test_unpack), TEST(test_shrinks),
          TEST(test_not_a_file))

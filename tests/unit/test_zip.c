/*
 * test_zip.c - the rules of zip.h one by one, on zips written here byte by byte.
 * zip_oracle.py compares many more with Python.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "db/base/cleanup.h"
#include "libquery/disk/zip/zip.h"
#include "libquery/disk/zip/zip_stream.h"

#define ROOM    ((size_t)4 << 20) /* bytes of the largest zip here */
#define MANY    20000             /* members of it */
#define SECONDS 4                 /* of processor time for reading them: 100 times the usual */
#define THREADS 4

/* One zip in the making, and what was opened of it. */
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
	size_t name_length;     /* 0: up to the NUL */
	const char *local_name; /* NULL: the same */
	struct slice data;
	bool deflate;
	uint16_t method, flags;
	uint32_t size; /* declared; 0: the truth */
	uint32_t crc_error;
	struct slice extra;
	uint8_t version;
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

/* The fields that both headers share, from the flags to the length of the name. */
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
	size_t length = m.name_length ? m.name_length : strlen(m.name);
	const char *local = m.local_name ? m.local_name : m.name;
	size_t offset = f->length, local_length = m.local_name ? strlen(local) : length;

	put(f->bytes, &f->length, "PK\3\4\24\0", 6);
	put_common(f->bytes, &f->length, &m, packed.len, local_length);
	put_number(f->bytes, &f->length, 0, 2);
	put(f->bytes, &f->length, local, local_length);
	put(f->bytes, &f->length, packed.ptr, packed.len);
	put(f->directory, &f->directory_length, "PK\1\2\24\3", 6);
	put_number(f->directory, &f->directory_length, m.version ? m.version : 20, 2);
	put_common(f->directory, &f->directory_length, &m, packed.len, length);
	put_number(f->directory, &f->directory_length, m.extra.len, 2);
	put_number(f->directory, &f->directory_length, 0, 10);
	put_number(f->directory, &f->directory_length, offset, 4);
	put(f->directory, &f->directory_length, m.name, length);
	put(f->directory, &f->directory_length, m.extra.ptr, m.extra.len);
	f->count++;
}

static void put_end(struct fixture *f, uint64_t size, uint64_t start, struct slice comment)
{
	put(f->bytes, &f->length, "PK\5\6\0\0\0\0", 8);
	put_number(f->bytes, &f->length, f->count, 2);
	put_number(f->bytes, &f->length, f->count, 2);
	put_number(f->bytes, &f->length, size, 4);
	put_number(f->bytes, &f->length, start, 4);
	put_number(f->bytes, &f->length, comment.len, 2);
	put(f->bytes, &f->length, comment.ptr, comment.len);
}

static void finish(struct fixture *f)
{
	size_t start = f->length;

	put(f->bytes, &f->length, f->directory, f->directory_length);
	put_end(f, f->directory_length, start, SLICE(""));
}

static int open_bytes(struct fixture *f, const char *bytes, size_t length)
{
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(pwrite(f->fd, bytes, length, 0), (ssize_t)length);
	return zip_open(f->fd, "some.zip", &f->zip, &f->error);
}

static int reopen(struct fixture *f)
{
	return open_bytes(f, f->bytes, f->length);
}

static void assert_read(struct fixture *f, const char *name, struct slice expected)
{
	struct zip_member m;
	struct slice data;

	assert_true(zip_find(f->zip, slice_of(name), &m));
	assert_int_equal(zip_read(f->zip, &m, ROOM, &data, &f->error), 0);
	assert_true(slice_equal(data, expected));
	assert_int_equal(data.ptr[data.len], '\0');
	free((char *)data.ptr);
}

static void assert_unreadable(struct fixture *f, const char *name, int code, const char *text)
{
	struct zip_member m;
	struct slice data = {0};

	assert_true(zip_find(f->zip, slice_of(name), &m));
	assert_int_equal(zip_read(f->zip, &m, 1000, &data, &f->error), code);
	assert_null(data.ptr);
	assert_non_null(strstr(error_text(&f->error), text));
}

static void assert_names(struct fixture *f, const char *const *names, size_t count)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member m;

	assert_int_equal(zip_count(f->zip), count);
	for (size_t i = 0; i < count; i++) {
		assert_true(zip_next(f->zip, &cursor, &m));
		assert_true(slice_equal(m.name, slice_of(names[i])));
	}
	assert_false(zip_next(f->zip, &cursor, &m));
}

static void test_empty(void **state)
{
	struct fixture *f = *state;

	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_names(f, NULL, 0);
}

static void test_stored_and_deflated(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"a", "d/b", "empty"};

	add(f, (struct member){.name = "a", .data = SLICE("stored")});
	add(f, (struct member){.name = "d/b", .data = SLICE("deflated\n"), .deflate = true});
	add(f, (struct member){.name = "empty", .data = SLICE(""), .deflate = true});
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_names(f, names, 3);
	assert_read(f, "a", SLICE("stored"));
	assert_read(f, "d/b", SLICE("deflated\n"));
	assert_read(f, "empty", SLICE(""));
	assert_false(zip_find(f->zip, SLICE("b"), &(struct zip_member){0}));
}

static void test_prefix(void **state)
{
	struct fixture *f = *state;
	char shifted[4096] = "#!/usr/bin/env python3\n";
	size_t prefix = strlen(shifted);

	add(f, (struct member){.name = "a", .data = SLICE("behind a prefix")});
	finish(f);
	memcpy(shifted + prefix, f->bytes, f->length);
	assert_int_equal(open_bytes(f, shifted, prefix + f->length), 0);
	assert_read(f, "a", SLICE("behind a prefix"));
}

static void test_comment(void **state)
{
	struct fixture *f = *state;
	static char comment[65535];
	size_t start;

	memset(comment, 'c', sizeof(comment));
	add(f, (struct member){.name = "a", .data = SLICE("1")});
	start = f->length;
	put(f->bytes, &f->length, f->directory, f->directory_length);
	put_end(f, f->directory_length, start, (struct slice){comment, sizeof(comment)});
	assert_int_equal(reopen(f), 0);
	assert_read(f, "a", SLICE("1"));
}

static void test_duplicates(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"a", "b", "a"};

	add(f, (struct member){.name = "a", .data = SLICE("first")});
	add(f, (struct member){.name = "b", .data = SLICE("other")});
	add(f, (struct member){.name = "a", .data = SLICE("last")});
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_names(f, names, 3);
	assert_read(f, "a", SLICE("last"));
}

static void test_names(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"\u00e9\u2591", "x", "\u00e9", "cut", "plain"};
	/* version 1, the checksum of "?" and the name */
	static const char path[] = "\x75\x70\x07\0\1\x5b\x78\x06\x7d\xc3\xa9";
	char extra[sizeof(path) - 1];
	uLong crc = crc32(0, (const Bytef *)"?", 1);

	memcpy(extra, path, sizeof(extra));
	for (int i = 0; i < 4; i++)
		extra[5 + i] = (char)(crc >> (8 * i));
	add(f, (struct member){.name = "\x82\xb0", .data = SLICE("1")});
	add(f, (struct member){.name = "x", .data = SLICE("2")});
	add(f, (struct member){.name = "?", .data = SLICE("3"), .extra = {extra, sizeof(extra)}});
	add(f, (struct member){.name = "cut\0off", .name_length = 7, .data = SLICE("4")});
	add(f, (struct member){.name = "plain", .flags = 0x800, .data = SLICE("5")});
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_names(f, names, 5);
	assert_read(f, "\u00e9\u2591", SLICE("1"));
	assert_read(f, "\u00e9", SLICE("3"));
	assert_read(f, "cut", SLICE("4"));
}

static void test_name_not_utf8(void **state)
{
	struct fixture *f = *state;

	add(f, (struct member){.name = "\xed\xa0\x80", .flags = 0x800, .data = SLICE("")});
	finish(f);
	assert_int_equal(reopen(f), ERROR_FORMAT);
	assert_string_equal(error_text(&f->error), "some.zip: a name is not UTF-8");
}

static void test_zip64(void **state)
{
	struct fixture *f = *state;
	size_t start, end;

	add(f, (struct member){.name = "a",
	                       .size = UINT32_MAX,
	                       .data = SLICE("six"),
	                       .extra = SLICE("\1\0\10\0\3\0\0\0\0\0\0\0")});
	start = f->length;
	put(f->bytes, &f->length, f->directory, f->directory_length);
	end = f->length;
	put(f->bytes, &f->length, "PK\6\6\54\0\0\0\0\0\0\0\55\0\55\0\0\0\0\0\0\0\0\0", 24);
	put_number(f->bytes, &f->length, 1, 8);
	put_number(f->bytes, &f->length, 1, 8);
	put_number(f->bytes, &f->length, f->directory_length, 8);
	put_number(f->bytes, &f->length, start, 8);
	put(f->bytes, &f->length, "PK\6\7\0\0\0\0", 8);
	put_number(f->bytes, &f->length, end, 8);
	put_number(f->bytes, &f->length, 1, 4);
	put_end(f, UINT32_MAX, UINT32_MAX, SLICE(""));
	assert_int_equal(reopen(f), 0);
	assert_read(f, "a", SLICE("six"));
}

static void test_zip64_number_missing(void **state)
{
	struct fixture *f = *state;

	add(f, (struct member){.name = "a",
	                       .size = UINT32_MAX,
	                       .data = SLICE("six"),
	                       .extra = SLICE("\1\0\4\0\3\0\0\0")});
	finish(f);
	assert_int_equal(reopen(f), ERROR_FORMAT);
}

static void test_newer_version(void **state)
{
	struct fixture *f = *state;

	add(f, (struct member){.name = "a", .version = 64, .data = SLICE("")});
	finish(f);
	assert_int_equal(reopen(f), ERROR_FORMAT);
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
	assert_unreadable(f, "secret", ERROR_FORMAT, "some.zip: secret: is encrypted");
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

static void assert_streamed(struct zip_stream *stream, uint64_t at, size_t size,
                            struct slice expected)
{
	char bytes[256];
	size_t got;

	assert_true(size <= sizeof(bytes));
	assert_int_equal(zip_stream_read(stream, at, bytes, size, &got, NULL), 0);
	assert_true(slice_equal((struct slice){bytes, got}, expected));
}

/* Any part of a member, in any order; and as much as is allowed, which going back costs again. */
static void test_stream(void **state)
{
	struct fixture *f = *state;
	static char data[100000];
	struct slice large = {data, sizeof(data)};
	struct zip_member m;
	size_t got;

	memcpy(data, "begin", 5);
	memcpy(data + sizeof(data) - 3, "end", 3);
	add(f, (struct member){.name = "packed", .deflate = true, .data = large});
	add(f, (struct member){.name = "stored", .data = large});
	finish(f);
	assert_int_equal(reopen(f), 0);
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(cleanup_zip_stream) struct zip_stream *stream = NULL;

		assert_true(zip_find(f->zip, i ? SLICE("stored") : SLICE("packed"), &m));
		assert_int_equal(zip_stream_open(f->zip, &m, 250000, &stream, NULL), 0);
		assert_streamed(stream, 0, 5, SLICE("begin"));
		assert_streamed(stream, sizeof(data) - 3, 200, SLICE("end"));
		assert_streamed(stream, sizeof(data), 1, SLICE(""));
		assert_streamed(stream, sizeof(data) + 5, 1, SLICE(""));
		assert_streamed(stream, 2, 3, SLICE("gin"));
		assert_int_equal(zip_stream_unpacked(stream), i ? 11 : 100005);
		assert_streamed(stream, sizeof(data) - 3, 3, SLICE("end"));
		assert_streamed(stream, 0, 0, SLICE(""));
		assert_streamed(stream, 0, 1, SLICE("b"));
		assert_int_equal(zip_stream_read(stream, 90000, data, 1, &got, &f->error),
		                 i ? 0 : ERROR_LIMIT);
	}
}

static void test_stream_of_a_liar(void **state)
{
	struct fixture *f = *state;
	CLEANUP(cleanup_zip_stream) struct zip_stream *stream = NULL;
	static char data[100000] = "begin";
	struct zip_member m;
	char bytes[16];
	size_t got;

	add(f, (struct member){
	               .name = "liar", .deflate = true, .data = {data, sizeof(data)}, .size = 4});
	add(f, (struct member){.name = "garbage", .method = 8, .data = SLICE("\377\377\377\377")});
	add(f, (struct member){.name = "other", .local_name = "else", .data = SLICE("x")});
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_true(zip_find(f->zip, SLICE("liar"), &m));
	assert_int_equal(zip_stream_open(f->zip, &m, 1000, &stream, NULL), 0);
	assert_streamed(stream, 0, 16, SLICE("begi"));
	zip_stream_close(take(stream));
	assert_true(zip_find(f->zip, SLICE("garbage"), &m));
	assert_int_equal(zip_stream_open(f->zip, &m, 1000, &stream, NULL), 0);
	assert_int_equal(zip_stream_read(stream, 0, bytes, 4, &got, NULL), ERROR_FORMAT);
	zip_stream_close(take(stream));
	assert_true(zip_find(f->zip, SLICE("other"), &m));
	assert_int_equal(zip_stream_open(f->zip, &m, 1000, &stream, NULL), ERROR_FORMAT);
}

/* Each record of the directory names the same bytes: a bomb without any depth. */
static void test_overlap(void **state)
{
	struct fixture *f = *state;

	add(f, (struct member){.name = "a", .data = SLICE("a very long member")});
	add(f, (struct member){.name = "b", .data = SLICE("x")});
	memset(f->directory + 46 + 1 + 42, 0, 4);
	f->directory[46 + 1 + 42] = 35; /* within a */
	finish(f);
	assert_int_equal(reopen(f), 0);
	assert_unreadable(f, "a", ERROR_FORMAT, "overlaps");
}

/* As the first read is refused, so is a later one, which no walk answers. */
static void test_overlap_of_many(void **state)
{
	struct fixture *f = *state;
	size_t record;

	add(f, (struct member){.name = "a", .data = SLICE("a very long member")});
	add(f, (struct member){.name = "b", .data = SLICE("b")});
	record = f->directory_length;
	add(f, (struct member){.name = "within", .data = SLICE("x")});
	add(f, (struct member){.name = "last", .data = SLICE("last")});
	memset(f->directory + record + 42, 0, 4);
	f->directory[record + 42] = 35; /* within a: neither is it in order */
	finish(f);
	assert_int_equal(reopen(f), 0);
	for (int i = 0; i < 50; i++) {
		assert_unreadable(f, "a", ERROR_FORMAT, "overlaps");
		error_clear(&f->error);
		assert_read(f, "b", SLICE("b"));
		assert_read(f, "last", SLICE("last"));
	}
}

static void add_many(struct fixture *f)
{
	char name[32];

	for (int i = 0; i < MANY; i++) {
		int length = snprintf(name, sizeof(name), "%d", i);

		add(f, (struct member){.name = name, .data = {name, (size_t)length}});
	}
	finish(f);
	assert_int_equal(reopen(f), 0);
}

/* Each member holds its own name. */
static void *read_them_all(void *payload)
{
	struct zip *zip = payload;
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member m;
	size_t wrong = 0;

	while (zip_next(zip, &cursor, &m)) {
		struct slice data = {0};

		wrong += zip_read(zip, &m, ROOM, &data, NULL) < 0 || !slice_equal(data, m.name);
		free((char *)data.ptr);
	}
	return wrong ? payload : NULL;
}

/* SIGPROF ends the program if reading takes time with the square of the members. */
static void test_many(void **state)
{
	struct itimerval limit = {.it_value.tv_sec = SECONDS};
	struct fixture *f = *state;

	add_many(f);
	assert_int_equal(setitimer(ITIMER_PROF, &limit, NULL), 0);
	assert_null(read_them_all(f->zip));
	limit.it_value.tv_sec = 0;
	assert_int_equal(setitimer(ITIMER_PROF, &limit, NULL), 0);
}

static void test_threads(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[THREADS];
	void *wrong;

	add_many(f);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_them_all, f->zip), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

/* Cut at every length: never more than an error. */
static void test_truncated(void **state)
{
	struct fixture *f = *state;

	add(f, (struct member){.name = "a", .data = SLICE("1"), .deflate = true});
	add(f, (struct member){.name = "\x82", .data = SLICE("2")});
	finish(f);
	for (size_t length = 0; length < f->length; length++)
		assert_int_equal(open_bytes(f, f->bytes, length), ERROR_FORMAT);
	assert_null(f->zip);
}

/* The file shrinks while it is open: the bytes are gone, the process is not. */
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

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_empty),
	        TEST(test_stored_and_deflated),
	        TEST(test_prefix),
	        TEST(test_comment),
	        TEST(test_duplicates),
	        TEST(test_names),
	        TEST(test_name_not_utf8),
	        TEST(test_zip64),
	        TEST(test_zip64_number_missing),
	        TEST(test_newer_version),
	        TEST(test_refused_members),
	        TEST(test_limits),
	        TEST(test_stream),
	        TEST(test_stream_of_a_liar),
	        TEST(test_overlap),
	        TEST(test_overlap_of_many),
	        TEST(test_many),
	        TEST(test_threads),
	        TEST(test_truncated),
	        TEST(test_shrinks),
	        TEST(test_not_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

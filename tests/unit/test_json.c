/*
 * test_json.c - lines of JSON: every kind of value, what must be escaped, and
 * that nothing of one object is left for the next.
 */
#include "db/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const keys[] = {"name", "count", "extras[]"};

struct fixture {
	struct json *json;
	FILE *stream;
	char *text;
	size_t size, seen; /* seen: by check(), so far */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->stream = open_memstream(&f->text, &f->size);
	return f->stream ? json_open(keys, 3, &f->json, NULL) : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	json_close(f->json);
	json_close(NULL);
	fclose(f->stream);
	free(f->text);
	free(f);
	return 0;
}

static void check(struct fixture *f, const char *expected)
{
	json_write(f->json, f->stream);
	fflush(f->stream);
	assert_string_equal(f->text + f->seen, expected);
	f->seen = f->size;
}

static void test_values(void **state)
{
	struct fixture *f = *state;

	json_text(f->json, 0, SLICE("n"));
	json_number(f->json, 1, INT64_MIN);
	json_words(f->json, 2, SLICE("a,b"));
	check(f, "{\"name\":\"n\",\"count\":-9223372036854775808,\"extras\":[\"a\",\"b\"]}\n");
	check(f, "{\"name\":null,\"count\":null,\"extras\":[]}\n");
	json_text(f->json, 0, SLICE(""));
	json_words(f->json, 2, SLICE(""));
	check(f, "{\"name\":\"\",\"count\":null,\"extras\":[]}\n");
	json_words(f->json, 2, SLICE("one"));
	check(f, "{\"name\":null,\"count\":null,\"extras\":[\"one\"]}\n");
}

static void test_escapes(void **state)
{
	struct fixture *f = *state;

	json_text(f->json, 0, SLICE("\"\\\n\t\x01 \xc3\xa9"));
	check(f, "{\"name\":\"\\\"\\\\\\n\\t\\u0001 \xc3\xa9\",\"count\":null,\"extras\":[]}\n");
}

/* What a terminal would obey; the last two are U+202E and U+009B. */
static void test_controls(void **state)
{
	struct fixture *f = *state;

	json_text(f->json, 0, SLICE("\x1b[31m\x7f\xe2\x80\xae\xc2\x9b"));
	check(f, "{\"name\":\"\\u001b[31m\\u007f\\u202e\\u009b\",\"count\":null,\"extras\":[]}\n");
}

/* Bytes that are no UTF-8, a surrogate's among them, are each a lone surrogate. */
static void test_bytes(void **state)
{
	struct fixture *f = *state;

	json_text(f->json, 0, SLICE("a\xff\xed\xa0\x80\xc3"));
	json_words(f->json, 2, SLICE("\x80,b"));
	check(f, "{\"name\":\"a\\udcff\\udced\\udca0\\udc80\\udcc3\",\"count\":null,"
	         "\"extras\":[\"\\udc80\",\"b\"]}\n");
}

static void test_nul(void **state)
{
	struct fixture *f = *state;

	json_text(f->json, 0, SLICE("n\0m"));
	check(f, "{\"name\":\"n\\u0000m\",\"count\":null,\"extras\":[]}\n");
}

static void test_no_json_inside(void **state)
{
	struct fixture *f = *state;

	json_text(f->json, 0, SLICE("{\"a\":1}"));
	check(f, "{\"name\":\"{\\\"a\\\":1}\",\"count\":null,\"extras\":[]}\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_values), TEST(test_escapes), TEST(test_controls),
	        TEST(test_bytes),  TEST(test_nul),     TEST(test_no_json_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

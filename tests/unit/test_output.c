/*
 * test_output.c - rows as JSON and tab-separated text: value types, escaping and the selection of
 * columns. (Aligned rows: tests/cli/test_terminal.py.)
 */
#include "indexer/output.h"

#include "test.h"

static const struct column columns[] = {
        COLUMN("name", "NAME", STYLE_NAME),
        HEADING("SHOWN", STYLE_PLAIN),
        COLUMN("count", "COUNT", STYLE_PLAIN),
        KEY("extras"),
};

struct fixture {
	struct output output;
	FILE *stream;
	char *text;
	size_t size, seen; /* seen: the part that check() has compared */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->stream = open_memstream(&f->text, &f->size);
	f->output = OUTPUT_BEGIN(columns, true);
	f->output.stream = f->stream;
	return f->stream ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int code = output_end(&f->output, NULL);

	fclose(f->stream);
	free(f->text);
	free(f);
	return code;
}

static void put(struct fixture *f, struct slice name, int64_t count, struct slice extras)
{
	output_text(&f->output, name);
	output_string(&f->output, "shown");
	output_number(&f->output, count);
	output_words(&f->output, extras);
}

static void check(struct fixture *f, const char *expected)
{
	fflush(f->stream);
	assert_string_equal(f->text + f->seen, expected);
	f->seen = f->size;
}

static void test_values(void **state)
{
	struct fixture *f = *state;

	put(f, SLICE("n"), INT64_MIN, SLICE("a,b"));
	check(f, "{\"name\":\"n\",\"count\":-9223372036854775808,\"extras\":[\"a\",\"b\"]}\n");
	put(f, (struct slice){0}, 0, (struct slice){0});
	check(f, "{\"name\":null,\"count\":0,\"extras\":[]}\n");
	put(f, SLICE(""), 1, SLICE(""));
	check(f, "{\"name\":\"\",\"count\":1,\"extras\":[]}\n");
	put(f, SLICE("n"), 1, SLICE("one"));
	put(f, SLICE("n"), 1, SLICE(",a,"));
	check(f, "{\"name\":\"n\",\"count\":1,\"extras\":[\"one\"]}\n"
	         "{\"name\":\"n\",\"count\":1,\"extras\":[\"\",\"a\",\"\"]}\n");
}

static void check_name(struct fixture *f, struct slice name, const char *expected)
{
	put(f, name, 1, SLICE(""));
	check(f, expected);
}

static void test_escapes(void **state)
{
	check_name(*state, SLICE("\"\\\n\t\x01 \xc3\xa9"),
	           "{\"name\":\"\\\"\\\\\\n\\t\\u0001 \xc3\xa9\",\"count\":1,\"extras\":[]}\n");
	check_name(*state, SLICE("n\0m"), "{\"name\":\"n\\u0000m\",\"count\":1,\"extras\":[]}\n");
	check_name(*state, SLICE("{\"a\":1}"),
	           "{\"name\":\"{\\\"a\\\":1}\",\"count\":1,\"extras\":[]}\n");
}

/* Terminal control characters; the last two are U+202E and U+009B. */
static void test_controls(void **state)
{
	check_name(*state, SLICE("\x1b[31m\x7f\xe2\x80\xae\xc2\x9b"),
	           "{\"name\":\"\\u001b[31m\\u007f\\u202e\\u009b\",\"count\":1,\"extras\":[]}\n");
}

/* Each byte that is not valid UTF-8, encoded surrogates included, becomes a lone surrogate. */
static void test_bytes(void **state)
{
	struct fixture *f = *state;

	put(f, SLICE("a\xff\xed\xa0\x80\xc3"), 1, SLICE("\x80,b"));
	check(f, "{\"name\":\"a\\udcff\\udced\\udca0\\udc80\\udcc3\",\"count\":1,"
	         "\"extras\":[\"\\udc80\",\"b\"]}\n");
}

static void test_tabs(void **state)
{
	struct fixture *f = *state;

	f->output.form = OUTPUT_TABS;
	put(f, SLICE("a\tb"), 12, SLICE("x,y"));
	put(f, (struct slice){0}, -1, SLICE(""));
	check(f, "a\\x09b\tshown\t12\n\tshown\t-1\n");
}

RUN_TESTS(TEST(test_values), TEST(test_escapes), TEST(test_controls), TEST(test_bytes),
          TEST(test_tabs))

/*
 * test_pyproject.c - inputs of pyproject.h that tests/cli/test_add.py cannot provide: invalid
 * UTF-8, deep nesting, long names, and lack of memory.
 */
#include "test.h"

#include "indexer/archive/pyproject.h"

struct fixture {
	size_t most; /* calls before the callback runs out of memory */
	char problem[PYPROJECT_PROBLEM_SIZE];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (f)
		f->most = SIZE_MAX;
	return f ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static int take_fact(void *payload, enum pyproject_fact fact, struct pyproject_text text)
{
	struct fixture *f = payload;

	(void)fact;
	(void)text;
	return f->most-- == 0;
}

static int take_entry_point(void *payload, struct pyproject_text group, struct pyproject_text name,
                            struct pyproject_text value)
{
	(void)group;
	(void)name;
	return take_fact(payload, PYPROJECT_NAME, value);
}

static enum pyproject_status read_text(struct fixture *f, const char *text)
{
	struct pyproject_sink sink = {f, take_fact, take_entry_point};

	return pyproject_read(text, strlen(text), &sink, f->problem);
}

static void test_not_toml(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(read_text(f, "a\n"), PYPROJECT_BAD);
	assert_memory_equal(f->problem, "line 1: ", 8);
	assert_int_equal(read_text(f, "\n\na = 1\na = 2\n"), PYPROJECT_BAD);
	assert_memory_equal(f->problem, "line 4: ", 8);
	assert_int_equal(read_text(f, "a = '\xff'\n"), PYPROJECT_BAD);
}

/* Deep nesting must be refused before the stack overflows. */
static void test_deep(void **state)
{
	static const char *const ways[][3] = {
	        {"a = ", "[", ""}, {"a = ", "{a=", ""}, {"", "a.", "a = 1"}, {"[", "a.", "a]"}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		char *text = NULL;
		size_t length;
		FILE *stream = open_memstream(&text, &length);

		fputs(ways[i][0], stream);
		for (int depth = 0; depth < 1000000; depth++)
			fputs(ways[i][1], stream);
		fputs(ways[i][2], stream);
		assert_int_equal(fclose(stream), 0);
		assert_int_equal(read_text(f, text), PYPROJECT_BAD);
		free(text);
	}
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;

	for (size_t calls = 0; calls < 3; calls++) {
		f->most = calls;
		assert_int_equal(
		        read_text(f, "[project]\nname = 'a'\n[project.scripts]\nb = 'c'\n"),
		        PYPROJECT_NOMEM);
	}
}

/* A long name is truncated in the message, which remains one line that fits its buffer. */
static void test_long_problem(void **state)
{
	struct fixture *f = *state;
	char text[1024], name[700];

	memset(name, 'a', sizeof(name));
	snprintf(text, sizeof(text), "[project.scripts]\n%.*s = 1\n", (int)sizeof(name), name);
	assert_int_equal(read_text(f, text), PYPROJECT_BAD);
	assert_int_equal(strlen(f->problem), PYPROJECT_PROBLEM_SIZE - 1);
}

RUN_TESTS(TEST(test_not_toml), TEST(test_deep), TEST(test_no_memory), TEST(test_long_problem))

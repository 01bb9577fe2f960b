/*
 * test_pyproject.c - what the shim of pyproject.h tells, and what it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "indexer/archive/pyproject.h"

/* All that was told, one line each. */
struct fixture {
	char told[4096];
	size_t length;
	size_t most; /* calls, after which the sink has no memory */
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

static int tell(struct fixture *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int tell(struct fixture *f, const char *format, ...)
{
	va_list arguments;
	int n;

	if (f->most-- == 0)
		return 1;
	va_start(arguments, format);
	n = vsnprintf(f->told + f->length, sizeof(f->told) - f->length, format, arguments);
	va_end(arguments);
	f->length += (size_t)n;
	return 0;
}

static int take_fact(void *payload, enum pyproject_fact fact, struct pyproject_text text)
{
	static const char *const names[] = {"name", "version", "backend", "project", "dynamic"};

	return tell(payload, "%s %.*s\n", names[fact], (int)text.length, text.text);
}

static int take_entry_point(void *payload, struct pyproject_text group, struct pyproject_text name,
                            struct pyproject_text value)
{
	return tell(payload, "[%.*s] %.*s = %.*s\n", (int)group.length, group.text,
	            (int)name.length, name.text, (int)value.length, value.text);
}

static enum pyproject_status read_text(struct fixture *f, const char *text)
{
	struct pyproject_sink sink = {f, take_fact, take_entry_point};

	f->length = 0;
	f->told[0] = '\0';
	return pyproject_read(text, strlen(text), &sink, f->problem);
}

static void check(struct fixture *f, const char *text, const char *told)
{
	assert_int_equal(read_text(f, text), PYPROJECT_OK);
	assert_string_equal(f->told, told);
}

static void check_bad(struct fixture *f, const char *text, const char *problem)
{
	assert_int_equal(read_text(f, text), PYPROJECT_BAD);
	assert_string_equal(f->problem, problem);
}

static void test_facts(void **state)
{
	check(*state, "", "");
	check(*state, "[build-system]\nbuild-backend = 'x.y'\n", "backend x.y\n");
	check(*state, "[project]\nname = 'a'\nversion = '1'\n", "project \nname a\nversion 1\n");
	check(*state, "[project]\nname = 1\n", "project \n");
	check(*state, "[tool.x]\nproject = 1\n", "");
}

static void test_entry_points(void **state)
{
	check(*state, "[project.scripts]\nb = 'c:d'\n[project.gui-scripts]\ne = 'f'\n",
	      "project \n[console_scripts] b = c:d\n[gui_scripts] e = f\n");
	check(*state, "[project.entry-points.g]\na = 'b'\n[project.entry-points.'h.i']\nc = 'd'\n",
	      "project \n[g] a = b\n[h.i] c = d\n");
	check(*state, "project.scripts.a = \"\\u00fc\"\n",
	      "project \n[console_scripts] a = \xc3\xbc\n");
}

static void test_dynamic(void **state)
{
	check(*state, "[project]\ndynamic = []\n", "project \n");
	check(*state, "[project]\ndynamic = ['version', 'readme']\n", "project \n");
	check(*state, "[project]\ndynamic = ['entry-points']\n", "project \ndynamic \n");
	check(*state, "[project]\ndynamic = ['scripts']\n", "project \ndynamic \n");
	check(*state, "[project]\ndynamic = ['gui-scripts']\n", "project \ndynamic \n");
	check_bad(*state, "[project]\ndynamic = 1\n", "project.dynamic is not an array");
	check_bad(*state, "[project]\ndynamic = [1]\n",
	          "project.dynamic contains something other than strings");
}

static void test_against_the_specification(void **state)
{
	check_bad(*state, "project = 1\n", "project is not a table");
	check_bad(*state, "build-system = 1\n", "build-system is not a table");
	check_bad(*state, "[project]\nscripts = []\n", "project.scripts is not a table");
	check_bad(*state, "[project.scripts]\na = 1\n", "project.scripts.a is not a string");
	check_bad(*state, "[project.entry-points]\na = 'b'\n",
	          "project.entry-points.a is not a table");
	check_bad(*state, "[project.entry-points.a.b]\nc = 'd'\n",
	          "project.entry-points.a.b is not a string");
	check_bad(*state, "[project.entry-points.console_scripts]\n",
	          "project.entry-points.console_scripts is not allowed: use project.scripts");
	check_bad(*state, "[project.entry-points.gui_scripts]\n",
	          "project.entry-points.gui_scripts is not allowed: use project.gui-scripts");
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

/* Deep nesting must end in a refusal, not at the end of the stack. */
static void test_deep(void **state)
{
	struct fixture *f = *state;
	size_t length = 100000;
	char *text = malloc(length + 1);

	memset(text, '[', length);
	memcpy(text, "a = ", 4);
	text[length] = '\0';
	assert_int_equal(read_text(f, text), PYPROJECT_BAD);
	free(text);
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

/* A long name is cut in the message, which stays one line in its room. */
static void test_long_problem(void **state)
{
	struct fixture *f = *state;
	char text[1024], name[700];

	memset(name, 'a', sizeof(name));
	snprintf(text, sizeof(text), "[project.scripts]\n%.*s = 1\n", (int)sizeof(name), name);
	assert_int_equal(read_text(f, text), PYPROJECT_BAD);
	assert_int_equal(strlen(f->problem), PYPROJECT_PROBLEM_SIZE - 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_facts),     TEST(test_entry_points),
	        TEST(test_dynamic),   TEST(test_against_the_specification),
	        TEST(test_not_toml),  TEST(test_deep),
	        TEST(test_no_memory), TEST(test_long_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

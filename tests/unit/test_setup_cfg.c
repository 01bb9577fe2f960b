/*
 * test_setup_cfg.c - the rules of setup_cfg.h one by one; test_add.py compares
 * whole files with setuptools.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "indexer/archive/setup_cfg.h"

#define SECTION "[options.entry_points]\n"

struct fixture {
	struct arena arena;
	struct setup_cfg cfg;
	struct error error;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_free(&f->arena);
	error_clear(&f->error);
	free(f);
	return 0;
}

static void check_text(struct slice got, const char *expected)
{
	assert_int_equal(slice_is_null(got), expected == NULL);
	if (!expected)
		return;
	assert_int_equal(got.len, strlen(expected));
	assert_memory_equal(got.ptr, expected, got.len);
}

static void check(struct fixture *f, struct slice text, const char *entry_points, const char *files)
{
	assert_int_equal(setup_cfg_read(text, &f->arena, &f->cfg, &f->error), 0);
	check_text(f->cfg.entry_points, entry_points);
	check_text(f->cfg.files, files);
}

static void check_error(struct fixture *f, struct slice text, const char *message)
{
	struct setup_cfg untouched = {.files = SLICE("untouched")};

	assert_int_equal(setup_cfg_read(text, &f->arena, &untouched, &f->error), ERROR_FORMAT);
	assert_string_equal(error_text(&f->error), message);
	check_text(untouched.files, "untouched");
}

static void test_nothing(void **state)
{
	check(*state, SLICE(""), NULL, NULL);
	check(*state, SLICE("\n \n# c\n; c\n"), NULL, NULL);
	check(*state, SLICE("[metadata]\nname = x\n"), NULL, NULL);
	check(*state, SLICE(SECTION), NULL, NULL);
	check(*state, SLICE("[options]\nentry_points =\n"), NULL, NULL);
}

static void test_values(void **state)
{
	check(*state, SLICE(SECTION "a = b=c, d=e\n"), "[a]\nb=c\nd=e\n", NULL);
	check(*state, SLICE(SECTION "a =\n b=c, d=e\n"), "[a]\nb=c, d=e\n", NULL);
	check(*state, SLICE(SECTION "a:b=c"), "[a]\nb=c\n", NULL);
	check(*state, SLICE(SECTION "a =\n"), "[a]\n", NULL);
	check(*state, SLICE(SECTION "a = ,, b=c ,\n"), "[a]\nb=c\n", NULL);
}

static void test_continuation(void **state)
{
	check(*state, SLICE(SECTION "a =\n  b=c\n\n  # no\n  ; no\n\td=e\nf = g=h\n"),
	      "[a]\nb=c\nd=e\n[f]\ng=h\n", NULL);
	check(*state, SLICE(SECTION "  a =\n    b=c\n  d =\n    e=f\n"), "[a]\nb=c\n[d]\ne=f\n",
	      NULL);
	check(*state, SLICE(SECTION "a =\n [x]\n"), "[a]\n[x]\n", NULL);
	check(*state,
	      SLICE(SECTION "a =\n\xc2\xa0"
	                    "b=c\n"),
	      "[a]\nb=c\n", NULL);
}

static void test_line_ends(void **state)
{
	check(*state, SLICE(SECTION "a =\r\n b=c\r\n"), "[a]\nb=c\n", NULL);
	check(*state, SLICE(SECTION "a =\r b=c\r d=e"), "[a]\nb=c\nd=e\n", NULL);
	check(*state,
	      SLICE(SECTION "a =\n b=c\x0b"
	                    "d=e\n"),
	      "[a]\nb=c\nd=e\n", NULL);
}

static void test_nul(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
	        setup_cfg_read(SLICE(SECTION "a = b\0=c\n"), &f->arena, &f->cfg, &f->error), 0);
	assert_true(slice_equal(f->cfg.entry_points, SLICE("[a]\nb\0=c\n")));
}

static void test_headers(void **state)
{
	check(*state, SLICE("[options.entry_points] tail\na = b=c\n"), "[a]\nb=c\n", NULL);
	check(*state, SLICE("[x]y]\n[]=1\n" SECTION "a = b=c\n"), "[a]\nb=c\n", NULL);
}

static void test_files(void **state)
{
	struct slice name;

	check(*state, SLICE("[options]\nentry_points = file: a.ini , b/c.ini\n"), NULL,
	      " a.ini , b/c.ini");
	assert_true(setup_cfg_next_file(&((struct fixture *)*state)->cfg.files, &name));
	check_text(name, "a.ini");
	assert_true(setup_cfg_next_file(&((struct fixture *)*state)->cfg.files, &name));
	check_text(name, "b/c.ini");
	assert_false(setup_cfg_next_file(&((struct fixture *)*state)->cfg.files, &name));
	check(*state, SLICE("[options]\nentry-points = file:a\n"), NULL, "a");
	check(*state, SLICE("[options]\nentry_points =\n  [a]\n  b=c\n"), "\n[a]\nb=c", NULL);
}

/* The first of the two that says anything counts. */
static void test_both(void **state)
{
	check(*state, SLICE("[options]\nentry_points = file:f\n" SECTION "a = b=c\n"), NULL, "f");
	check(*state, SLICE(SECTION "a = b=c\n[options]\nentry_points = file:f\n"), "[a]\nb=c\n",
	      NULL);
	check(*state, SLICE("[options]\nentry_points =\n" SECTION "a = b=c\n"), "[a]\nb=c\n", NULL);
}

static void test_interpolation(void **state)
{
	check(*state, SLICE(SECTION "a = b=100%%\n"), "[a]\nb=100%\n", NULL);
	check(*state, SLICE(SECTION "x = y=z\na = b=c, %(x)s\n"), "[x]\ny=z\n[a]\nb=c\ny=z\n",
	      NULL);
	check(*state, SLICE("[DEFAULT]\nx = y=z\n" SECTION "a = b=c, %(x)s\n"),
	      "[x]\ny=z\n[a]\nb=c\ny=z\n", NULL);
	check(*state, SLICE("[DEFAULT]\nx = y=z\n" SECTION "x = k=v\n"), "[x]\nk=v\n", NULL);
	check(*state, SLICE("[other]\na = %(nothing)s\n"), NULL, NULL);
}

static void test_bad_interpolation(void **state)
{
	struct fixture *f = *state;

	check_error(f, SLICE(SECTION "a = %b\n"),
	            "[options.entry_points]: '%' must be followed by '%' or '('");
	check_error(f, SLICE(SECTION "a = %(b)s\n"),
	            "[options.entry_points]: reference to an option that does not exist");
	check_error(f, SLICE(SECTION "a = %(b\n"), "[options.entry_points]: bad interpolation");
	check_error(f, SLICE(SECTION "a = %()s\n"), "[options.entry_points]: bad interpolation");
	check_error(f, SLICE(SECTION "a = x%(a)s\n"),
	            "[options.entry_points]: references are nested too deeply");
}

/* Ten levels of ten references each: few bytes, many steps. */
static void test_interpolation_bomb(void **state)
{
	struct fixture *f = *state;
	char text[4096] = SECTION "a0 =\n";
	size_t length = strlen(text);

	for (int i = 1; i < 10; i++) {
		length += (size_t)snprintf(text + length, sizeof(text) - length, "a%d = ", i);
		for (int j = 0; j < 20; j++)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%%(a%d)s",
			                           i - 1);
		text[length++] = '\n';
	}
	assert_int_equal(
	        setup_cfg_read((struct slice){text, length}, &f->arena, &f->cfg, &f->error),
	        ERROR_FORMAT);
}

static void test_errors(void **state)
{
	check_error(*state, SLICE("a = b\n"), "line 1: not in any section");
	check_error(*state, SLICE("[a]\nb\n"), "line 2: neither a section nor an option");
	check_error(*state, SLICE("[a]\n= b\n"), "line 2: an option without a name");
	check_error(*state, SLICE("[a]\n[b]\n[a]\n"), "line 3: duplicate section");
	check_error(*state, SLICE("[a]\nb=1\nb=2\n"), "line 3: duplicate option");
	check_error(*state, SLICE("[DEFAULT]\nb=1\n[DEFAULT]\nb=2\n"), "line 4: duplicate option");
	check_error(*state, SLICE("[a]\nb=\xff\n"), "not valid UTF-8");
	check_error(*state, SLICE("\xef\xbb\xbf[a]\n"), "line 1: not in any section");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_nothing),
	        TEST(test_values),
	        TEST(test_continuation),
	        TEST(test_line_ends),
	        TEST(test_nul),
	        TEST(test_headers),
	        TEST(test_files),
	        TEST(test_both),
	        TEST(test_interpolation),
	        TEST(test_bad_interpolation),
	        TEST(test_interpolation_bomb),
	        TEST(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

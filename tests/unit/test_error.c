/*
 * test_error.c - errors: what they hold, whose they are, and what is said when
 * there is no memory to say it.
 */
#include "error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct error error;

static int teardown(void **state)
{
	(void)state;
	error_clear(&error);
	return 0;
}

static void test_set(void **state)
{
	(void)state;
	assert_string_equal(error_text(&error), "no error");
	assert_int_equal(error_set(&error, ERROR_LIMIT, "%s: %d", "file", 7), ERROR_LIMIT);
	assert_int_equal(error.code, ERROR_LIMIT);
	assert_string_equal(error_text(&error), "file: 7");
	assert_int_equal(error_set(&error, ERROR_BUSY, "another"), ERROR_BUSY);
	assert_string_equal(error_text(&error), "another");
	error_clear(&error);
	assert_int_equal(error.code, 0);
	assert_string_equal(error_text(&error), "no error");
}

static void test_errno(void **state)
{
	static const struct {
		int errnum, code;
	} rows[] = {
	        {ENOMEM, ERROR_NOMEM},     {ENOENT, ERROR_NOTFOUND},
	        {ENOTDIR, ERROR_NOTFOUND}, {EACCES, ERROR_PERMISSION},
	        {EPERM, ERROR_PERMISSION}, {EROFS, ERROR_PERMISSION},
	        {EIO, ERROR_IO},           {ENOSPC, ERROR_IO},
	        {ELOOP, ERROR_IO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(error_errno(&error, rows[i].errnum, "f"), rows[i].code);
		assert_int_equal(error_errno(NULL, rows[i].errnum, "f"), rows[i].code);
	}
	error_errno(&error, ENOENT, "cannot open %s", "x");
	assert_string_equal(error_text(&error), "cannot open x: No such file or directory");
}

static void test_no_memory(void **state)
{
	(void)state;
	error_set(&error, ERROR_IO, "before");
	assert_int_equal(error_nomem(&error), ERROR_NOMEM);
	assert_null(error.message);
	assert_string_equal(error_text(&error), "out of memory");
	assert_int_equal(error_nomem(NULL), ERROR_NOMEM);
	assert_int_equal(error_set(NULL, ERROR_IO, "%s", "nobody asks"), ERROR_IO);
}

#define TEST(function) cmocka_unit_test_teardown(function, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_set),
	        TEST(test_errno),
	        TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_error.c - errors: content, ownership, and behaviour without memory.
 */
#include "db/base/error.h"

#include <errno.h>

#include "test.h"

static struct error error;

static int teardown(void **state)
{
	error_clear(&error);
	return 0;
}

static void test_set(void **state)
{
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
	        {ELOOP, ERROR_FORMAT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(error_errno(&error, rows[i].errnum, "f"), rows[i].code);
		assert_int_equal(error_errno(NULL, rows[i].errnum, "f"), rows[i].code);
	}
	error_errno(&error, ENOENT, "cannot open %s", "x");
	assert_string_equal(error_text(&error), "cannot open x: No such file or directory");
}

/* Errors that say something about the file are facts; all others are transient failures. */
static void test_failures(void **state)
{
	static const int facts[] = {ENOENT, ENOTDIR, EACCES, EPERM,       ELOOP,
	                            ENXIO,  ENODEV,  EISDIR, ENAMETOOLONG};
	static const int failures[] = {EIO,   ENOMEM, EMFILE,    ENFILE,
	                               EINTR, ESTALE, ETIMEDOUT, ENOTCONN};

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		assert_false(errno_is_failure(facts[i]));
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++)
		assert_true(errno_is_failure(failures[i]));
}

static void test_move_failure(void **state)
{
	struct error from = {0};

	assert_int_equal(error_move_failure(&error, &from), 0);
	error_errno(&from, ENOENT, "f");
	assert_int_equal(error_move_failure(&error, &from), 0);
	assert_int_equal(from.code, 0);
	assert_null(error.message);
	error_errno(&from, EIO, "f");
	assert_int_equal(error_move_failure(&error, &from), ERROR_IO);
	assert_int_equal(from.code, 0);
	assert_non_null(strstr(error_text(&error), strerror(EIO)));
}

static void test_no_memory(void **state)
{
	error_set(&error, ERROR_IO, "before");
	assert_int_equal(error_nomem(&error), ERROR_NOMEM);
	assert_null(error.message);
	assert_string_equal(error_text(&error), "out of memory");
	assert_int_equal(error_nomem(NULL), ERROR_NOMEM);
	assert_int_equal(error_set(NULL, ERROR_IO, "%s", "nobody asks"), ERROR_IO);
}

#undef TEST
#define TEST(function) cmocka_unit_test_teardown(function, teardown)

static void test_move(void **state)
{
	struct error from = {0}, to = {0};

	error_set(&to, ERROR_IO, "before");
	error_set(&from, ERROR_LIMIT, "why");
	assert_int_equal(error_move(&to, &from), ERROR_LIMIT);
	assert_string_equal(error_text(&to), "why");
	assert_int_equal(from.code, 0);
	assert_null(from.message);
	assert_int_equal(error_move(NULL, &to), ERROR_LIMIT);
	assert_null(to.message);
}

RUN_TESTS(TEST(test_set), TEST(test_errno), TEST(test_failures), TEST(test_move_failure),
          TEST(test_no_memory), TEST(test_move))

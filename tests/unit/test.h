/*
 * test.h - the common includes and main() of the C tests.
 */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A test with the setup() and teardown() of its file. */
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* Defines main(), which runs these tests; the second form executes @begin first. */
#define RUN_TESTS(...) RUN_TESTS_AFTER((void)0, __VA_ARGS__)
#define RUN_TESTS_AFTER(begin, ...)                                                                \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                                   \
                                                                                                   \
		begin;                                                                             \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}

#endif

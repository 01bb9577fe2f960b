/*
 * test_arena.c - arenas: alignment, separation, release, and failing allocations.
 */
#include "db/base/arena.h"

#include "test.h"

static struct arena arena;

static int teardown(void **state)
{
	arena_free(&arena);
	return 0;
}

static void test_alignment(void **state)
{
	static const size_t sizes[] = {1, 7, 16, 0, 100, 5000, 63 * 1024, 64 * 1024, 200000, 3};
	unsigned char *pieces[1000];

	for (size_t i = 0; i < 1000; i++) {
		size_t size = sizes[i % 10];

		pieces[i] = arena_alloc(&arena, size);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
		memset(pieces[i], (int)(i % 251), size);
	}
	for (size_t i = 0; i < 1000; i++)
		for (size_t at = 0; at < sizes[i % 10]; at++)
			if (pieces[i][at] != i % 251)
				fail_msg("piece %zu was overwritten", i);
}

static void test_small_results_are_cheap(void **state)
{
	assert_null(arena.blocks);
	arena_alloc(&arena, 100);
	assert_true(arena.end - arena.next < 1024);
}

static void test_free_and_use_again(void **state)
{
	arena_free(&arena);
	arena_alloc(&arena, 10);
	arena_free(&arena);
	assert_null(arena.blocks);
	assert_non_null(arena_alloc(&arena, 10));
}

static void test_zeroed(void **state)
{
	char *bytes;

	memset(arena_alloc(&arena, 600), 0xff, 600);
	bytes = arena_calloc(&arena, 100, 7);
	for (size_t i = 0; i < 700; i++)
		assert_int_equal(bytes[i], 0);
	assert_non_null(arena_calloc(&arena, 0, 7));
}

static void test_overflow(void **state)
{
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_alloc(&arena, SIZE_MAX - 20));
	assert_null(arena_calloc(&arena, SIZE_MAX / 2, 3));
	assert_non_null(arena_alloc(&arena, 1));
}

static void test_copy(void **state)
{
	struct slice copy;
	bool failed = false;

	assert_true(slice_is_null(arena_copy(&arena, (struct slice){0}, &failed)));
	copy = arena_copy(&arena, SLICE(""), &failed);
	assert_string_equal(copy.ptr, "");
	copy = arena_copy(&arena, SLICE("a\0b"), &failed);
	assert_int_equal(copy.len, 3);
	assert_memory_equal(copy.ptr, "a\0b", 4);
	assert_false(failed);
	copy = arena_copy(&arena, (struct slice){"x", SIZE_MAX - 20}, &failed);
	assert_true(slice_is_null(copy) && failed);
}

#undef TEST
#define TEST(function) cmocka_unit_test_teardown(function, teardown)

RUN_TESTS(TEST(test_alignment), TEST(test_small_results_are_cheap), TEST(test_free_and_use_again),
          TEST(test_zeroed), TEST(test_overflow), TEST(test_copy))

/*
 * test_name_map.c - names and their numbers: first come, first kept; the empty
 * name is one, too; and names with the same hash stay apart.
 */
#include "db/base/digest.h"
#include "db/base/name_map.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define MANY 100000

static struct name_map map;

static int teardown(void **state)
{
	(void)state;
	name_map_free(&map);
	return 0;
}

static uint32_t put(const char *name, uint32_t number)
{
	bool failed = false;
	uint32_t got = name_map_put(&map, slice_of(name), number, &failed);

	assert_false(failed);
	return got;
}

static void test_first_is_kept(void **state)
{
	(void)state;
	assert_int_equal(name_map_get(&map, SLICE("a")), NAME_MAP_NONE);
	assert_int_equal(put("a", 1), 1);
	assert_int_equal(put("a", 2), 1);
	assert_int_equal(put("b", 2), 2);
	assert_int_equal(name_map_get(&map, SLICE("a")), 1);
	assert_int_equal(name_map_get(&map, SLICE("ab")), NAME_MAP_NONE);
	assert_int_equal(map.count, 2);
}

static void test_ask_without_giving(void **state)
{
	(void)state;
	assert_int_equal(put("a", NAME_MAP_NONE), NAME_MAP_NONE);
	assert_int_equal(map.count, 0);
	assert_int_equal(put("a", 0), 0);
	assert_int_equal(put("a", NAME_MAP_NONE), 0);
}

static void test_set(void **state)
{
	bool failed = false;

	(void)state;
	name_map_set(&map, SLICE("a"), 1, &failed);
	name_map_set(&map, SLICE("a"), 2, &failed);
	assert_int_equal(name_map_get(&map, SLICE("a")), 2);
	assert_int_equal(map.count, 1);
	name_map_set(&map, SLICE("a"), NAME_MAP_NONE, &failed);
	assert_int_equal(name_map_get(&map, SLICE("a")), NAME_MAP_NONE);
	name_map_set(&map, SLICE("a"), 3, &failed);
	assert_int_equal(name_map_get(&map, SLICE("a")), 3);
	assert_false(failed);
}

static void test_empty_and_nul(void **state)
{
	bool failed = false;

	(void)state;
	assert_int_equal(put("", 5), 5);
	assert_int_equal(name_map_get(&map, (struct slice){0}), 5);
	name_map_put(&map, SLICE("a\0b"), 6, &failed);
	name_map_put(&map, SLICE("a\0c"), 7, &failed);
	assert_int_equal(name_map_get(&map, SLICE("a\0b")), 6);
	assert_int_equal(name_map_get(&map, SLICE("a\0c")), 7);
	assert_int_equal(name_map_get(&map, SLICE("a")), NAME_MAP_NONE);
}

static void test_many(void **state)
{
	static char names[MANY][8];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u", i);
		assert_int_equal(put(names[i], i), i);
	}
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(name_map_get(&map, slice_of(names[i])), i);
	assert_int_equal(map.count, MANY);
	assert_true(map.room >= 2 * MANY);
}

/* The state of digest() after the first of two words. */
static uint64_t after_one_word(uint64_t word)
{
	uint64_t h = (0x9e3779b97f4a7c15u ^ 16) ^ word;

	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	return h + 0x9e3779b97f4a7c15u;
}

/*
 * Names that collide under digest(), which anybody can compute: a zip with 80,000 of them
 * took half a minute when the table used it.
 */
static void test_flood(void **state)
{
	static uint64_t names[MANY][2];
	clock_t began = clock();
	uint64_t first, other;
	bool failed = false;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		names[i][0] = htole64(i);
		names[i][1] = htole64(after_one_word(i)); /* cancels what the first has made */
		name_map_put(&map, (struct slice){(char *)names[i], 16}, i, &failed);
	}
	assert_false(failed);
	first = digest(names[0], 16);
	other = digest(names[MANY - 1], 16);
	assert_true(first == other);
	assert_int_equal(map.count, MANY);
	assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
}

#define TEST(function) cmocka_unit_test_teardown(function, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_first_is_kept), TEST(test_ask_without_giving),
	        TEST(test_set),           TEST(test_empty_and_nul),
	        TEST(test_many),          TEST(test_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_name_map.c - maps of names to numbers: the first number of a name is kept, the empty name is
 * valid, and names with equal hashes are distinguished.
 */
#include "db/base/name_map.h"

#include "test.h"

#define MANY 100000

static struct name_map map;

static int teardown(void **state)
{
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
	assert_int_equal(name_map_get(&map, SLICE("a")), NAME_MAP_NONE);
	assert_int_equal(put("a", 1), 1);
	assert_int_equal(put("a", 2), 1);
	assert_int_equal(put("b", 2), 2);
	assert_int_equal(name_map_get(&map, SLICE("a")), 1);
	assert_int_equal(name_map_get(&map, SLICE("ab")), NAME_MAP_NONE);
	assert_int_equal(map.count, 2);
}

static void test_set(void **state)
{
	bool failed = false;

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

	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u", i);
		assert_int_equal(put(names[i], i), i);
	}
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(name_map_get(&map, slice_of(names[i])), i);
	assert_int_equal(map.count, MANY);
	assert_true(map.room >= 2 * MANY);
}

/* With a known key, anyone could choose the names in a zip so that they collide. */
static void test_key(void **state)
{
	struct hash_key own = hash_own_key();
	bool failed = false;

	name_map_put(&map, SLICE("a"), 1, &failed);
	assert_memory_equal(&map.key, &own, sizeof(own));
}

#undef TEST
#define TEST(function) cmocka_unit_test_teardown(function, teardown)

RUN_TESTS(TEST(test_first_is_kept), TEST(test_set), TEST(test_empty_and_nul), TEST(test_many),
          TEST(test_key))

/*
 * test_carried.c - detects files that were copied or moved with their directory, and files that
 * were not.
 */
#include "db/carried.h"

#include "test.h"

#define SECOND ((int64_t)1000000000)
#define NOW    (1700000000 * SECOND)
#define INODE  7

static const struct publication_record published = {.inode = INODE, .time = NOW + 5};
static const struct stamp here = {.mtime = 1, .ctime = 2, .inode = 3};
static const struct stamp there = {.mtime = 1, .ctime = 9, .inode = 4};

static struct timespec timespec(int64_t time)
{
	return (struct timespec){.tv_sec = time / SECOND, .tv_nsec = (long)(time % SECOND)};
}

static struct carried carried(ino_t inode, int64_t mtime, int64_t ctime)
{
	struct stat file = {
	        .st_ino = inode, .st_mtim = timespec(mtime), .st_ctim = timespec(ctime)};

	return carried_of(&published, &file);
}

static void test_unchanged_file(void **state)
{
	struct carried file = carried(INODE, NOW + 6, NOW + 7);

	assert_false(carried_with(&file, here, here));
	assert_false(carried_with(&file, here, there));
	file = carried(INODE, NOW, NOW); /* a file system with whole seconds */
	assert_false(carried_with(&file, here, there));
	assert_false(file.is_set_back);
}

static void test_another_file(void **state)
{
	struct carried file = carried(INODE + 1, NOW + 6, NOW + 7);

	assert_true(carried_with(&file, here, there));
	assert_true(carried_with(&file, here, here));
}

/* It was renamed, linked or chmod'ed, or a new file happens to have the same inode. */
static void test_the_same_inode(void **state)
{
	struct carried file = carried(INODE, NOW + 6, NOW + 3600 * SECOND);

	assert_false(carried_with(&file, here, (struct stamp){5, 6, here.inode}));
	assert_true(carried_with(&file, here, there));
	file = carried(INODE, NOW + 6, NOW - 3600 * SECOND);
	assert_true(carried_with(&file, here, there));
}

static bool same(const struct carried *carried, struct outline recorded, struct outline now)
{
	return carried_same(carried, &recorded, &now, carried->time);
}

static struct outline file(int64_t size, int64_t mtime)
{
	return (struct outline){true, size, mtime};
}

static void test_outline(void **state)
{
	const struct outline none = {0};
	struct carried other = carried(INODE + 1, NOW + 6, NOW + 7);
	int64_t then = NOW - 10 * SECOND + 123456789;

	assert_true(same(&other, none, none));
	assert_false(same(&other, none, file(0, 0)));
	assert_false(same(&other, file(0, 0), none));
	assert_true(same(&other, file(9, then), file(9, then)));
	assert_false(same(&other, file(9, then), file(8, then)));
	assert_true(same(&other, file(9, then), file(9, then - 123456789))); /* seconds, */
	assert_true(same(&other, file(9, then), file(9, then - 789)));       /* microseconds, */
	assert_true(same(&other, file(9, then), file(9, then + 211)));       /* a double */
	assert_false(same(&other, file(9, then), file(9, then - 123456789 - SECOND)));
	assert_false(same(&other, file(9, then), file(9, then - 123456789 + SECOND)));
	assert_false(same(&other, file(9, then), file(9, then + 1000000)));
	assert_false(same(&other, file(9, then), file(9, then - 1000000)));
	assert_true(same(&other, file(9, -1), file(9, -SECOND))); /* before 1970 */
	assert_false(same(&other, file(9, INT64_MIN), file(9, INT64_MAX)));
	assert_false(same(&other, file(9, INT64_MAX), file(9, INT64_MIN)));
}

/* Two builds may be of the same second. */
static void test_directory_is_younger(void **state)
{
	const struct carried other = carried(INODE + 1, NOW + 6, NOW + 7);
	int64_t then = NOW - 10 * SECOND + 123456789;
	const struct outline recorded = file(9, then), whole = file(9, then - 123456789),
	                     micro = file(9, then - 789);

	assert_true(carried_same(&other, &recorded, &whole, other.time));
	assert_false(carried_same(&other, &recorded, &whole, other.time + 1));
	assert_true(carried_same(&other, &recorded, &recorded, other.time + 1));
	assert_true(carried_same(&other, &recorded, &micro, other.time + 1));
	assert_true(carried_same(&other, &whole, &whole, other.time + 1));
}

/* All times were set to the same value, which the database reveals. */
static void test_set_back(void **state)
{
	struct carried file_of_1970 = carried(INODE + 1, SECOND, NOW + 7);
	int64_t then = NOW - 10 * SECOND;

	assert_true(file_of_1970.is_set_back);
	assert_true(same(&file_of_1970, file(9, then), file(9, SECOND)));
	assert_false(same(&file_of_1970, file(9, then), file(8, SECOND)));
	assert_true(same(&file_of_1970, file(9, then), file(9, then)));
	assert_false(same(&file_of_1970, file(9, then), file(9, 2 * SECOND)));
	assert_false(same(&file_of_1970, file(9, 0), file(9, SECOND))); /* never set forward */
}

static void test_sealed(void **state)
{
	const struct publication_record said = {.sealed = true};
	struct stat status = {.st_ino = INODE, .st_mtim = timespec(NOW), .st_ctim = timespec(NOW)};
	struct carried file_now = carried_of(&said, &status);

	assert_true(carried_with(&file_now, (struct stamp){0}, here));
	assert_true(carried_names_suffice(&file_now, (struct stamp){.mtime = NOW}));
	assert_false(carried_names_suffice(&file_now, (struct stamp){.mtime = NOW + 1}));
	assert_true(same(&file_now, file(9, 0), file(9, NOW)));
	assert_false(same(&file_now, file(9, 0), file(9, NOW + 1)));
	assert_false(same(&file_now, file(9, 0), file(8, NOW)));
	file_now = carried(INODE + 1, NOW, NOW);
	assert_false(carried_names_suffice(&file_now, (struct stamp){.mtime = 0}));
}

RUN_TESTS(cmocka_unit_test(test_unchanged_file), cmocka_unit_test(test_another_file),
          cmocka_unit_test(test_the_same_inode), cmocka_unit_test(test_outline),
          cmocka_unit_test(test_directory_is_younger), cmocka_unit_test(test_set_back),
          cmocka_unit_test(test_sealed))

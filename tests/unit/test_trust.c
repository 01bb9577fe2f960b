/*
 * test_trust.c - which owners and permissions are trusted.
 */
#include "db/base/trust.h"

#include <fcntl.h>

#include "scratch.h"

#define STRANGER 12345

static int top; /* open on a file without an access control list */

static enum trust judge(uid_t uid, gid_t gid, mode_t mode)
{
	struct stat status = {.st_uid = uid, .st_gid = gid, .st_mode = mode};

	return trust_of(top, &status, TRUST_NO_OTHER);
}

static void test_owners(void **state)
{
	struct stat status = {.st_uid = STRANGER, .st_mode = S_IFREG | 0644};

	assert_int_equal(judge(0, 0, S_IFREG | 0644), TRUST_BELIEVED);
	assert_int_equal(judge(geteuid(), 0, S_IFREG | 0644), TRUST_BELIEVED);
	assert_int_equal(judge(STRANGER, 0, S_IFREG | 0644), TRUST_FOREIGN);
	assert_int_equal(judge((uid_t)-1, 0, S_IFREG | 0644), TRUST_FOREIGN);
	assert_int_equal(trust_of(top, &status, STRANGER), TRUST_BELIEVED);
	assert_int_equal(trust_of(top, &status, STRANGER + 1), TRUST_FOREIGN);
}

static void test_writable(void **state)
{
	assert_int_equal(judge(0, 0, S_IFREG | 0646), TRUST_WRITABLE);
	assert_int_equal(judge(0, STRANGER, S_IFREG | 0664), TRUST_WRITABLE);
	assert_int_equal(judge(0, 0, S_IFREG | 0664), TRUST_BELIEVED);
	assert_int_equal(judge(geteuid(), geteuid() + 1, S_IFREG | 0664), TRUST_WRITABLE);
	assert_int_equal(judge(0, STRANGER, S_IFREG | 0644), TRUST_BELIEVED);
}

/* Where others may create, but not replace. */
static void test_sticky(void **state)
{
	assert_int_equal(judge(0, 0, S_IFDIR | 0777), TRUST_WRITABLE);
	assert_int_equal(judge(0, 0, S_IFDIR | S_ISVTX | 0777), TRUST_BELIEVED);
	assert_int_equal(judge(0, STRANGER, S_IFDIR | S_ISVTX | 0775), TRUST_BELIEVED);
	assert_int_equal(judge(STRANGER, 0, S_IFDIR | S_ISVTX | 0777), TRUST_FOREIGN);
	assert_int_equal(judge(0, 0, S_IFREG | S_ISVTX | 0666), TRUST_WRITABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_owners),
	        cmocka_unit_test(test_writable),
	        cmocka_unit_test(test_sticky),
	};

	top = open("/", O_PATH | O_CLOEXEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

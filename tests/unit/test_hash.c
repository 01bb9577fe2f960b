/*
 * test_hash.c - SipHash-1-3: values under the zero key are stable, and each process has a random
 * key. SHA-256 of a file ends at its size.
 */
#include "db/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "db/base/sha256.h"

#include "test.h"

/* The stamps in databases of earlier versions are compared with these values. */
static void test_numbers(void **state)
{
	static const uint64_t words[] = {0x3736353433323130, 0x6665646362613938};

	assert_true(hash_numbers(words, 2) == hash_stable("0123456789abcdef", 16));
	assert_true(hash_numbers(words, 1) == hash_stable("01234567", 8));
	assert_true(hash_numbers(words, 0) == hash_stable("", 0));
}

static void test_lengths_differ(void **state)
{
	static const char bytes[] = "0123456789abcdef\0";
	uint64_t seen[sizeof(bytes)];

	for (size_t i = 0; i < sizeof(bytes); i++) { /* of every length, followed by NULs */
		seen[i] = hash_stable(bytes, i);
		for (size_t j = 0; j < i; j++)
			assert_true(seen[i] != seen[j]);
	}
}

/* The values of hash() of bytes in CPython 3.11 with PYTHONHASHSEED=0, the zero key. */
static void test_known_values(void **state)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} known[] = {
	        {"a", 0x407448d2b89b1813},
	        {"ab", 0x555508cbc6add439},
	        {"01234567", 0xda3dcedf84ea6cc6},
	        {"0123456789abcdef", 0x1d42b30f7e060c24},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_true(hash_stable(known[i].text, strlen(known[i].text)) == known[i].hash);
}

static void test_key(void **state)
{
	struct hash_key key = hash_own_key(), again = hash_own_key();

	assert_memory_equal(&key, &again, sizeof(key));
	assert_true(key.words[0] != 0 || key.words[1] != 0);
	assert_true(hash_keyed(key, "a", 1) != hash_stable("a", 1));
}

static void test_file_without_end(void **state)
{
	uint8_t digest[SHA256_SIZE];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(sha256_of_file(fd, 1 << 20, NULL, digest), -1);
	assert_int_equal(errno, EFBIG);
	close(fd);
}

RUN_TESTS(cmocka_unit_test(test_numbers), cmocka_unit_test(test_lengths_differ),
          cmocka_unit_test(test_known_values), cmocka_unit_test(test_key),
          cmocka_unit_test(test_file_without_end))

/*
 * test_digest.c - the two hashes: the one that is written down never changes, the other
 * is SipHash-1-3 under a key that the process draws.
 */
#include "db/base/digest.h"
#include "db/base/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The stamps in a database of an earlier version are compared with these. */
static void test_digest_never_changes(void **state)
{
	static const uint64_t words[] = {1, 2, 4096, 64769};

	(void)state;
	assert_true(digest("", 0) == 0x17fb89ee9dcab42a);
	assert_true(digest("0123456789", 10) == 0xd3f7b15a57be22ed);
	assert_true(digest_numbers(words, 4) == 0x93a9cdbfac6eefd9);
}

static void test_digest_tells_lengths_apart(void **state)
{
	static const char bytes[] = "0123456789abcdef\0";
	uint64_t seen[sizeof(bytes)];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) { /* of every length, and with a NUL behind */
		seen[i] = digest(bytes, i);
		for (size_t j = 0; j < i; j++)
			assert_true(seen[i] != seen[j]);
	}
}

/* What hash() of bytes gives in CPython 3.11 under PYTHONHASHSEED=0, a key of zeros. */
static void test_siphash(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_true(siphash((struct siphash_key){{0, 0}}, known[i].text,
		                    strlen(known[i].text)) == known[i].hash);
}

static void test_key(void **state)
{
	struct siphash_key key = siphash_own_key(), again = siphash_own_key();

	(void)state;
	assert_memory_equal(&key, &again, sizeof(key));
	assert_true(key.words[0] != 0 || key.words[1] != 0);
	assert_true(siphash(key, "a", 1) != siphash((struct siphash_key){{0, 0}}, "a", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_digest_never_changes),
	        cmocka_unit_test(test_digest_tells_lengths_apart),
	        cmocka_unit_test(test_siphash),
	        cmocka_unit_test(test_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

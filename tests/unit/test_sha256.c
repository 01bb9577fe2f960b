/*
 * test_sha256.c - the digests of FIPS 180-4's examples, at every way to cut the text, and
 * the letters of RECORD.
 */
#include "test.h"

#include "db/base/sha256.h"

static const char long_text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

static void check(const char *text, const char *expected)
{
	size_t len = strlen(text);

	for (size_t cut = 0; cut <= len; cut++) {
		uint8_t digest[SHA256_SIZE];
		char hex[2 * SHA256_SIZE + 1];
		struct sha256 sha;

		sha256_begin(&sha);
		sha256_add(&sha, text, cut);
		sha256_add(&sha, text + cut, len - cut);
		sha256_end(&sha, digest);
		for (size_t i = 0; i < SHA256_SIZE; i++)
			snprintf(hex + 2 * i, 3, "%02x", digest[i]);
		assert_string_equal(hex, expected);
	}
}

static void test_examples(void **state)
{
	check("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check(long_text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_a_million(void **state)
{
	uint8_t digest[SHA256_SIZE];
	char thousand[1000], base64[SHA256_BASE64_SIZE + 1];
	struct sha256 sha;

	memset(thousand, 'a', sizeof(thousand));
	sha256_begin(&sha);
	for (int i = 0; i < 1000; i++)
		sha256_add(&sha, thousand, sizeof(thousand));
	sha256_end(&sha, digest);
	sha256_base64(digest, base64);
	assert_string_equal(base64, "zcduXJkU-5KBocfihNc-Z_GAmkiklyAOBG05zMcRLNA");
}

RUN_TESTS(cmocka_unit_test(test_examples), cmocka_unit_test(test_a_million))

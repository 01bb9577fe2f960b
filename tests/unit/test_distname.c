/*
 * test_distname.c - the names of distributions, where the rules of importlib.metadata differ
 * from one another and from what one would expect.
 */
#include "libquery/disk/tree/distname.h"

#include "test.h"

#define ROOM 128

static const struct {
	const char *child;
	bool info;
	const char *key, *stem; /* a null stem: METADATA must be asked */
} rows[] = {
        {"Foo-1.0.dist-info", true, "foo", "Foo"},
        {"FOO-3.egg-info", true, "foo", "FOO"},
        {"my-pkg-1.0.dist-info", true, "my", "my"},
        {"a.-_b-1.dist-info", true, "a_", "a."},
        {"a__b.c-1.dist-info", true, "a_b_c", "a__b.c"},
        {"a.egg-info", true, "a", "a"},
        {"a-1.0-py3.12.egg-info", true, "a", "a"},
        {"X.DIST-INFO", true, "x", NULL},
        {"X-1.Egg-Info", true, "x", NULL},
        {".dist-info", true, "", NULL},
        {"..dist-info", true, "_", NULL},
        {".a.dist-info", true, "_a", ".a"},
        {"-1.0.dist-info", true, "", NULL},
        {"a-1.dist-info ", false, NULL, NULL},
        {"dist-info", false, NULL, NULL},
        {"a.egg", false, NULL, NULL},
        {"EGG-INFO", false, NULL, NULL},
        {"", false, NULL, NULL},
        {"\xC4\xB0-1.dist-info", true, "i\xCC\x87", "\xC4\xB0"},
        {"a-1.d\xC4\xB0st-info", false, NULL, NULL},
        {"\xFF-1.dist-info", true, "\xFF", "\xFF"},
        /* the sigma is final in the stem, and is not before ".dist-info" */
        {"A\xCE\xA3.dist-info", true, "a\xCF\x83", "A\xCE\xA3"},
        {"A\xCE\xA3-1.dist-info", true, "a\xCF\x82", "A\xCE\xA3"},
};

static void test_children(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct slice child = slice_of(rows[i].child), stem = {0};
		char key[ROOM];

		assert_int_equal(distname_is_info(child), rows[i].info);
		assert_int_equal(distname_stem(child, &stem), rows[i].stem != NULL);
		assert_true(slice_equal(stem, slice_of(rows[i].stem)));
		if (rows[i].key) {
			size_t n = distname_lookup_key(child, key, ROOM);

			assert_true(slice_equal((struct slice){key, n}, slice_of(rows[i].key)));
		}
	}
}

/* In an archive, where the directories before it may have a '-', too. */
static void test_below(void **state)
{
	struct slice stem = {0};

	assert_true(distname_stem(SLICE("usr/lib/python3/dist-packages/a-1.dist-info"), &stem));
	assert_true(slice_equal(stem, SLICE("a")));
	assert_true(distname_stem(SLICE("a-1.0/b.egg-info"), &stem));
	assert_true(slice_equal(stem, SLICE("b")));
	assert_false(distname_stem(SLICE("a-1/-1.dist-info"), &stem));
}

static void test_eggs(void **state)
{
	assert_true(distname_is_egg_info(SLICE("EGG-INFO")));
	assert_true(distname_is_egg_info(SLICE("Egg-Info")));
	assert_false(distname_is_egg_info(SLICE("a.egg-info")));
	assert_false(distname_is_egg_info(SLICE("")));
	assert_true(distname_is_egg_base(SLICE("/x/a-1-py3.egg")));
	assert_true(distname_is_egg_base(SLICE("a.EGG")));
	assert_true(distname_is_egg_base(SLICE("/x/.egg")));
	assert_false(distname_is_egg_base(SLICE("/x/a.egg/")));
	assert_false(distname_is_egg_base(SLICE("/x.egg/a")));
	assert_false(distname_is_egg_base(SLICE("")));
}

static void test_normalize(void **state)
{
	static const char *const names[][2] = {
	        {"", ""},
	        {"Foo", "foo"},
	        {"a-_.b", "a_b"},
	        {"--", "_"},
	        {".a.", "_a_"},
	        {"A\xCE\xA3.B", "a\xCF\x82_b"}, /* '.' is replaced before lower() sees it */
	        {"\xC8\xBA\xC8\xBA-", "\xE2\xB1\xA5\xE2\xB1\xA5_"},
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		struct slice name = slice_of(names[i][0]);
		char out[ROOM];
		size_t n = distname_normalize(name, out, DISTNAME_ROOM(name.len));

		assert_true(slice_equal((struct slice){out, n}, slice_of(names[i][1])));
	}
}

RUN_TESTS(cmocka_unit_test(test_children), cmocka_unit_test(test_below),
          cmocka_unit_test(test_eggs), cmocka_unit_test(test_normalize))

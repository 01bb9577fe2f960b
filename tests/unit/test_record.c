/*
 * test_record.c - the names of target kinds and states, part of the SQL interface.
 */
#include "db/record.h"

#include "test.h"

static void test_names_of_kinds(void **state)
{
	static const char *const words[] = {"unresolved", "python", "native", "extension",
	                                    "bundled"};
	unsigned kind = TARGET_NATIVE;

	for (int i = 0; i <= TARGET_BUNDLED; i++) {
		assert_string_equal(target_kinds.all[(enum target_kind)i], words[i]);
		assert_true(words_find(&target_kinds, slice_of(words[i]), &kind));
		assert_int_equal(kind, i);
	}
}

static void test_names_of_states(void **state)
{
	static const char *const words[] = {"ok", "missing", "no-symbol", "ambiguous",
	                                    "unresolved-editable"};
	unsigned found = TARGET_MISSING;

	for (int i = 0; i <= TARGET_UNRESOLVED_EDITABLE; i++) {
		assert_string_equal(target_states.all[(enum target_state)i], words[i]);
		assert_true(words_find(&target_states, slice_of(words[i]), &found));
		assert_int_equal(found, i);
	}
}

static void test_unknown_names(void **state)
{
	unsigned kind = TARGET_NATIVE;
	unsigned found = TARGET_MISSING;

	assert_false(words_find(&target_kinds, SLICE("natives"), &kind));
	assert_false(words_find(&target_kinds, (struct slice){0}, &kind));
	assert_false(words_find(&target_states, SLICE("o"), &found));
	assert_false(words_find(&target_states, (struct slice){0}, &found));
	assert_int_equal(kind, TARGET_NATIVE);
	assert_int_equal(found, TARGET_MISSING);
}

RUN_TESTS(cmocka_unit_test(test_names_of_kinds), cmocka_unit_test(test_names_of_states),
          cmocka_unit_test(test_unknown_names))

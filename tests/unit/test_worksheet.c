/*
 * test_worksheet.c - queries of a worksheet: their work is limited in proportion to its rows.
 */
#include "db/worksheet.h"

#include "test.h"

#define SCRIPT                                                                                     \
	"CREATE TABLE word (text TEXT, number INTEGER);"                                           \
	"CREATE VIEW sorted AS SELECT * FROM word ORDER BY number DESC;"                           \
	"CREATE VIEW chosen AS SELECT number AS key, text FROM word;"                              \
	"CREATE VIEW large AS SELECT hex(zeroblob(100000)) || a.number AS text FROM word a, word " \
	"b ORDER BY text;"                                                                         \
	"CREATE VIEW pairs AS SELECT a.text FROM word a, word b;"                                  \
	"CREATE VIEW no_pairs AS SELECT a.text FROM word a, word b WHERE a.text <> b.text"

static int setup(void **state)
{
	struct worksheet *sheet = NULL;
	int code = worksheet_open(SCRIPT, &sheet, NULL);

	*state = sheet;
	return code;
}

static int teardown(void **state)
{
	worksheet_close(*state);
	return 0;
}

static void fill(struct worksheet *sheet, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		worksheet_put(sheet, "word", FACTS(fact("word"), fact(i)));
}

static int64_t count(struct worksheet_rows *rows)
{
	int64_t number = 0;

	while (worksheet_next(rows))
		number++;
	return number;
}

static void test_rows(void **state)
{
	struct worksheet_rows *rows;

	fill(*state, 3);
	worksheet_put(*state, "word", FACTS(fact_null(), fact(7)));
	rows = worksheet_walk(*state, "sorted", NULL);
	assert_true(worksheet_next(rows));
	assert_true(slice_is_null(worksheet_text(rows, 0)));
	assert_int_equal(worksheet_number(rows, 1), 7);
	assert_true(worksheet_next(rows));
	assert_true(slice_equal(worksheet_text(rows, 0), SLICE("word")));
	assert_int_equal(count(worksheet_walk(*state, "chosen", FACTS(fact(2)))), 1);
	assert_int_equal(worksheet_failure(*state, NULL), 0);
	assert_int_equal(count(worksheet_walk(*state, "missing", NULL)), 0);
	assert_int_equal(worksheet_failure(*state, NULL), ERROR_IO);
}

/* In one query with results or without, and over all runs of one. */
static void test_limit(void **state)
{
	static const char *const views[] = {"pairs", "no_pairs"};
	struct worksheet_rows *rows;
	struct error error = {0};

	for (size_t i = 0; i < COUNT(views); i++) {
		assert_int_equal(setup(state), 0);
		fill(*state, 100000);
		assert_int_equal(count(worksheet_walk(*state, "sorted", NULL)), 100000);
		assert_int_equal(worksheet_failure(*state, NULL), 0);
		assert_in_range(count(worksheet_walk(*state, views[i], NULL)), 0, 100000000);
		assert_int_equal(worksheet_failure(*state, &error), ERROR_LIMIT);
		assert_non_null(strstr(error_text(&error), views[i]));
		error_clear(&error);
		assert_true(worksheet_gave_up(*state, &error));
		assert_non_null(strstr(error_text(&error), views[i]));
		error_clear(&error);
		assert_false(worksheet_gave_up(*state, &error));
		assert_int_equal(count(worksheet_walk(*state, "sorted", NULL)), 100000);
		assert_int_equal(worksheet_failure(*state, NULL), 0);
		teardown(state);
	}
	assert_int_equal(setup(state), 0);
	fill(*state, 1000);
	for (int64_t i = 0; i < 10000 && worksheet_failure(*state, NULL) == 0; i++)
		for (rows = worksheet_walk(*state, "chosen", FACTS(fact(-1)));
		     worksheet_next(rows);)
			fail();
	assert_int_equal(worksheet_failure(*state, NULL), ERROR_LIMIT);
	teardown(state);
}

/* What a query sorts may be far larger than the rows. */
static void test_memory(void **state)
{
	struct error error = {0};

	fill(*state, 100);
	assert_int_equal(count(worksheet_walk(*state, "large", NULL)), 0);
	assert_int_equal(worksheet_failure(*state, &error), ERROR_LIMIT);
	assert_non_null(strstr(error_text(&error), "too much memory"));
	error_clear(&error);
	assert_true(worksheet_gave_up(*state, &error));
	error_clear(&error);
	assert_int_equal(count(worksheet_walk(*state, "sorted", NULL)), 100);
	assert_int_equal(worksheet_failure(*state, NULL), 0);
}

RUN_TESTS(TEST(test_rows), TEST(test_memory), cmocka_unit_test(test_limit))

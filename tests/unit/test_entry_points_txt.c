/*
 * test_entry_points_txt.c - the text format, one row for each rule that importlib.metadata
 * was seen to follow. What is expected is written as "number:group|name|value;".
 */
#include "db/entry_points_txt.h"

#include "test.h"

static const struct {
	const char *text, *expected;
} rows[] = {
        {"", ""},
        {"[g]\na = b:c\n", "2:g|a|b:c;"},
        {"[g]\na = b", "2:g|a|b;"},
        /* line ends and white space */
        {"[g]\ra=1\r\nb=2\n\rc=3", "2:g|a|1;3:g|b|2;5:g|c|3;"},
        {"[g]\va=1\fb=2\x1C"
         "c=3\x1D"
         "d=4\x1E"
         "e=5",
         "2:g|a|1;3:g|b|2;4:g|c|3;5:g|d|4;6:g|e|5;"},
        {"[g]\xC2\x85"
         "a=1\xE2\x80\xA8"
         "b=2\xE2\x80\xA9"
         "c=3",
         "2:g|a|1;3:g|b|2;4:g|c|3;"},
        {"[g]\n\x1F\xC2\xA0 a\t=\xE3\x80\x80 b \xE1\x9A\x80\n", "2:g|a|b;"},
        {"  [g]  \n a = b", "2:g|a|b;"},
        /* comments */
        {"[g]\n# a = b\n ; c = d\n\n  # e\n", "3:g|; c|d;"},
        {"[g]\na = b # c\n", "2:g|a|b # c;"},
        {"[g]\n; c\n", "error: line 2: no '=' in \"; c\""},
        /* sections */
        {"[[g]]\na=b", "2:g|a|b;"},
        {"[ g ]\na=b", "2: g |a|b;"},
        {"[]\na=b", "2:|a|b;"},
        {"[a][b]\na=b", "2:a][b|a|b;"},
        {"[g]\n[x = m:f [e]\na=b", "3:x = m:f [e|a|b;"},
        {"[g] # c\na=b", ""},
        {"[g]\n[h] # c\n", "error: line 2: no '=' in \"[h] # c\""},
        {"[g]\n[\n", "error: line 2: no '=' in \"[\""},
        {"[g]\n[h]\n[g]\na=b\n[h]\na=b", "4:g|a|b;6:h|a|b;"},
        /* before the first section */
        {"a=b\nbad\n[g]\nc=d", "4:g|c|d;"},
        {"\xEF\xBB\xBF[g]\na=b\n[h]\nc=d", "4:h|c|d;"},
        /* items */
        {"[g]\na : b\n", "error: line 2: no '=' in \"a : b\""},
        {"[g]\na = b\n  c\nd = e\n", "2:g|a|b;error: line 3: no '=' in \"c\"4:g|d|e;"},
        {"[g]\n= b\na =\na == b\n=", "2:g||b;3:g|a|;4:g|a|= b;5:g||;"},
        {"[g]\na=1\na=1\nA=2", "2:g|a|1;3:g|a|1;4:g|A|2;"},
        {"[DEFAULT]\na=%(x)s", "2:DEFAULT|a|%(x)s;"},
        /* errors are of one printable line and not long */
        {"[g]\n\x01\"\\\xC3\xA9", "error: line 2: no '=' in \"\\x01\\x22\\x5c\\xc3\\xa9\""},
        {"[g]\n0123456789012345678901234567890123456789012345678901234567890",
         "error: line 2: no '=' in "
         "\"012345678901234567890123456789012345678901234567890123456789\"..."},
};

static void print_all(FILE *out, const char *text)
{
	struct entry_points_txt txt;
	struct entry_points_line line;
	struct error error = {0};
	int status;

	entry_points_txt_begin(&txt, slice_of(text));
	while ((status = entry_points_txt_next(&txt, &line, &error)) != 0) {
		if (status < 0)
			fprintf(out, "error: %s", error_text(&error));
		else
			fprintf(out, "%zu:%.*s|%.*s|%.*s;", line.number, (int)line.group.len,
			        line.group.ptr, (int)line.name.len, line.name.ptr,
			        (int)line.value.len, line.value.ptr);
	}
	error_clear(&error);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *printed = NULL;
		size_t size;
		FILE *out = open_memstream(&printed, &size);

		print_all(out, rows[i].text);
		fclose(out);
		assert_string_equal(printed, rows[i].expected);
		free(printed);
	}
}

static void test_out_untouched_on_error(void **state)
{
	struct entry_points_txt txt;
	struct entry_points_line line = {.number = 42};

	entry_points_txt_begin(&txt, SLICE("[g]\nbad\n"));
	assert_int_equal(entry_points_txt_next(&txt, &line, NULL), ERROR_FORMAT);
	assert_int_equal(line.number, 42);
	assert_int_equal(entry_points_txt_next(&txt, &line, NULL), 0);
	assert_int_equal(line.number, 42);
}

static void test_nul_and_null(void **state)
{
	struct entry_points_txt txt;
	struct entry_points_line line;

	entry_points_txt_begin(&txt, (struct slice){0});
	assert_int_equal(entry_points_txt_next(&txt, &line, NULL), 0);
	entry_points_txt_begin(&txt, SLICE("[g]\na\0b = c\0d\n"));
	assert_int_equal(entry_points_txt_next(&txt, &line, NULL), 1);
	assert_true(slice_equal(line.name, SLICE("a\0b")));
	assert_true(slice_equal(line.value, SLICE("c\0d")));
}

RUN_TESTS(cmocka_unit_test(test_rows), cmocka_unit_test(test_out_untouched_on_error),
          cmocka_unit_test(test_nul_and_null))

/*
 * test_module_text.c - what a module's text tells; and that no text, cut anywhere, leads
 * beyond its end.
 */
#include "indexer/verbs/module_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
	const char *text;
	size_t imports_host, has_attr;
	bool may_have_any;
} cases[] = {
        {"", 0, 0, false},
        {"import torch\ndef run(): pass\n", 1, 2, false},
        {"from torch import nn\nrun = 1\n", 1, 2, false},
        {"import os, torch.nn as nn\n", 1, 0, false},
        {"import torchvision\nfrom .torch import x\nimport a.torch\n", 0, 0, false},
        {"torch = 1\n", 0, 0, false},
        {"def run():\n    import torch\n", 0, 1, false},
        {"class A:\n    run = 1\n", 0, 0, false},
        {"try:\n    import torch\nexcept ImportError:\n    pass\n", 2, 0, false},
        {"if x:\n    def run(): pass\n", 0, 2, false},
        {"@decorated\nasync def run():\n    pass\n", 0, 2, false},
        {"from x import (\n    a,\n    run,\n)\n", 0, 3, false},
        {"x = [\nrun]\nimport torch", 3, 2, false},
        {"import \\\n  torch\n", 2, 0, false},
        {"'''\nimport torch\n'''\n\"\"\"run\"\"\"\nrun\n", 0, 5, false},
        {"'import torch \\' run'\nr\"run\\\\\"\nrun\n", 0, 3, false},
        {"'not closed\nrun\n", 0, 2, false},
        {"# import torch\n  # run\nrun # run\n", 0, 3, false},
        {"from x import *\n", 0, 0, true},
        {"x = 2 * 3\n", 0, 0, false},
        {"def __getattr__(name): pass\n", 0, 0, true},
        {"def f():\n    globals()['run'] = 1\n", 0, 0, true},
        {"'''run", 0, 0, false},
        {")))]\nrun", 0, 2, false},
        {"\xc3\xa9run = 1\nrun\xc3\xa9 = 1\n", 0, 0, false},
};

#define CASE_COUNT (sizeof(cases) / sizeof(*cases))

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASE_COUNT; i++) {
		struct module_facts facts =
		        module_text_read(slice_of(cases[i].text), SLICE("torch"), SLICE("run"));

		assert_int_equal(facts.imports_host, cases[i].imports_host);
		assert_int_equal(facts.has_attr, cases[i].has_attr);
		assert_int_equal(facts.may_have_any, cases[i].may_have_any);
	}
}

/* In memory that ends where the text does. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASE_COUNT; i++)
		for (size_t length = 0; length <= strlen(cases[i].text); length++) {
			char *text = malloc(length + (length == 0));

			assert_non_null(text);
			memcpy(text, cases[i].text, length);
			module_text_read((struct slice){text, length}, SLICE("torch"),
			                 SLICE("run"));
			free(text);
		}
}

static void test_null(void **state)
{
	struct module_facts facts =
	        module_text_read((struct slice){0}, (struct slice){0}, (struct slice){0});

	(void)state;
	assert_int_equal(facts.imports_host + facts.has_attr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_cases),
	        cmocka_unit_test(test_cut),
	        cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

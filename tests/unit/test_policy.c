/*
 * test_policy.c - which rules match which entry points: groups and names may contain separators,
 * and only exact matches count.
 */
#include "test.h"

#include "indexer/verbs/enable.h"
#include "libquery/policy.h"

static struct policy_verdict decide(const char *rules, struct slice group, struct slice name)
{
	const struct policy policy = {.disabled = slice_of(rules)};
	const struct policy_subject subject = {.group = group, .name = name};

	return policy_decide(&policy, &subject);
}

static void test_rules(void **state)
{
	static const struct {
		const char *rules, *group, *name, *rule; /* rule: the decisive one; NULL: allowed */
	} rows[] = {
	        {NULL, "g", "n", NULL},
	        {"", "g", "n", NULL},
	        {"g", "g", "n", "g"},
	        {"g", "gg", "n", NULL},
	        {"gg", "g", "n", NULL},
	        {"g/n", "g", "n", "g/n"},
	        {"g/n", "g", "m", NULL},
	        {"g/n", "g", "nn", NULL},
	        {"g/nn", "g", "n", NULL},
	        {"g/", "g", "n", NULL},
	        {"g/", "g", "", "g/"},
	        {"other,g/n", "g", "n", "g/n"},
	        {",,g/n,", "g", "n", "g/n"},
	        {"g/n,g", "g", "n", "g/n"}, /* the first of several matches */
	        {"f, g/n o ,h", "g", "n o", "g/n o"},
	        {"g , h", "h", "n", "h"},
	        {"a/b", "a/b", "n", "a/b"},
	        {"a/b", "a", "b", "a/b"},
	        {"a/b/c", "a/b", "c", "a/b/c"},
	        {"a/b/c", "a", "b/c", "a/b/c"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy_verdict verdict =
		        decide(rows[i].rules, slice_of(rows[i].group), slice_of(rows[i].name));

		assert_int_equal(verdict.allowed, rows[i].rule == NULL);
		assert_true(slice_equal(verdict.word, slice_of(rows[i].rule)));
	}
}

/* A text is compared beyond a NUL. */
static void test_embedded_nul(void **state)
{
	assert_true(decide("g", SLICE("g\0h"), SLICE("n")).allowed);
	assert_true(decide("g/n", SLICE("g"), SLICE("n\0m")).allowed);
}

static void test_reason(void **state)
{
	struct policy_verdict verdict = decide("other,g/n,more", SLICE("g"), SLICE("n"));
	char *reason = policy_reason(&verdict);

	assert_string_equal(reason, "ENTRYDB_DISABLE names g/n");
	free(reason);
	assert_null(decide("other", SLICE("g"), SLICE("n")).origin);
}

/* --- files --- */

struct layers {
	struct policy_layer items[2];
	struct policy policy;
};

/* The text with precedence comes first; NULL: there is no second one. */
static void read_layers(struct layers *layers, const char *near, const char *far)
{
	const char *const texts[] = {near, far}, *const names[] = {"near", "far"};

	*layers = (struct layers){0};
	for (size_t i = 0; i < 2; i++) {
		layers->items[i].path = (char *)names[i];
		assert_int_equal(policy_rules_read(slice_of(texts[i] ? texts[i] : ""),
		                                   &layers->items[i].rules, NULL),
		                 0);
	}
	layers->policy = (struct policy){.layers = layers->items, .count = 2};
}

static void free_layers(struct layers *layers)
{
	policy_rules_free(&layers->items[0].rules);
	policy_rules_free(&layers->items[1].rules);
}

#define TEN   "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

/* The entry point n in group g of distribution a_b, looked up by the program prog. */
static const struct policy_subject subject = {
        {"g", 1}, {"n", 1}, {"a_b", 3}, {"prog", 4}, {"/mine", 5}};

static void test_files(void **state)
{
	static const struct {
		const char *near, *far;
		bool allowed;
		const char *reason;
	} rows[] = {
	        {"", "", true, NULL},
	        {"[g]\nn = disable", "", false, "near, line 2: [g] n = disable"},
	        {"[h]\nn = disable\n[g]\nm = disable", "", true, NULL},
	        {"", "[g]\n\n* = disable", false, "far, line 3: [g] * = disable"},
	        {"[g]\nn = enable", "[g]\n* = disable", true, "near, line 2: [g] n = enable"},
	        {"[g]\n* = disable", "[g]\nn = enable", false, "near, line 2: [g] * = disable"},
	        {"[g]\n* = disable\nn = enable", "", true, "near, line 3: [g] n = enable"},
	        {"[g]\nn = enable\n* = disable", "", true, "near, line 2: [g] n = enable"},
	        {"[g]\nn = enable\nn = disable", "", false, "near, line 3: [g] n = disable"},
	        {"[*]\n* = disable distribution=A-b", "", false,
	         "near, line 2: [*] * = disable distribution=A-b"},
	        {"[*]\n* = disable distribution=a", "", true, NULL},
	        {"[g]\n* = disable program=prog", "", false,
	         "near, line 2: [g] * = disable program=prog"},
	        {"[g]\n* = disable program=other", "", true, NULL},
	        {"[g]\n* = disable program=prog\nn = enable program=prog # and no other", "", true,
	         "near, line 3: [g] n = enable program=prog # and no other"},
	        {"[g]\nn = priority=3", "[g]\nn = disable", false, "far, line 2: [g] n = disable"},
	        {"[g]\nn = disabel", "", false,
	         "near, line 2, which is malformed: [g] n = disabel"},
	        {"[g]\nn =", "", false, "near, line 2, which is malformed: [g] n = "},
	        {"[g]\nn = disable enable", "", false,
	         "near, line 2, which is malformed: [g] n = disable enable"},
	        {"[g]\nn = enable program=", "", false,
	         "near, line 2, which is malformed: [g] n = enable program="},
	        {"[g]\nn = enable priority=1x", "", false,
	         "near, line 2, which is malformed: [g] n = enable priority=1x"},
	        {"[g]\njunk\n", "", false, "near, line 2, which is malformed: [g] * = (no '=')"},
	        {"[h]\njunk\n", "", true, NULL},
	        {"n = disable\n", "", true, NULL}, /* before the first group */
	        {"[g]\n* = disable program=prog\n[*]\n* = enable distribution=a_b", "", true,
	         "near, line 4: [*] * = enable distribution=a_b"},
	        {"[*]\n* = enable program=prog\n[g]\n* = disable", "", true,
	         "near, line 2: [*] * = enable program=prog"},
	        {"[g]\n* = disable #" FIFTY FIFTY FIFTY FIFTY FIFTY, "", false,
	         "near, line 2: [g] * = disable #" FIFTY FIFTY FIFTY FIFTY TEN TEN TEN TEN
	         "0123456..."},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct layers layers;
		struct policy_verdict verdict;
		char *reason;

		read_layers(&layers, rows[i].near, rows[i].far);
		verdict = policy_decide(&layers.policy, &subject);
		reason = verdict.origin ? policy_reason(&verdict) : NULL;
		if (rows[i].reason && reason)
			assert_string_equal(reason, rows[i].reason);
		assert_int_equal(reason == NULL, rows[i].reason == NULL);
		assert_int_equal(verdict.allowed, rows[i].allowed);
		free(reason);
		free_layers(&layers);
	}
}

static void test_variable_before_files(void **state)
{
	struct layers layers;
	struct policy_verdict verdict;

	read_layers(&layers, "[g]\nn = enable priority=7", "");
	layers.policy.disabled = SLICE("g/n");
	verdict = policy_decide(&layers.policy, &subject);
	assert_false(verdict.allowed);
	assert_string_equal(verdict.origin, "ENTRYDB_DISABLE");
	assert_int_equal(verdict.priority, 7);
	free_layers(&layers);
}

static void test_priority(void **state)
{
	static const struct {
		const char *near, *far;
		int priority;
	} rows[] = {
	        {"[g]\nn = enable", "", 0},
	        {"[g]\nn = priority=5", "", 5},
	        {"[g]\nn = priority=-5", "[g]\nn = priority=7", -5},
	        {"[g]\nn = enable", "[g]\n* = priority=7", 7},
	        {"[g]\nn = priority=1000000", "", 1000000},
	        {"[g]\nn = priority=1000001", "", 0},
	        {"[g]\nn = priority=99999999999999999999", "", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct layers layers;

		read_layers(&layers, rows[i].near, rows[i].far);
		assert_int_equal(policy_decide(&layers.policy, &subject).priority,
		                 rows[i].priority);
		free_layers(&layers);
	}
}

/* An unknown property of an entry point matches no rule. */
static void test_unknown(void **state)
{
	struct layers layers;
	struct policy_subject bare = {.group = SLICE("g"), .name = SLICE("n")};

	read_layers(&layers, "[g]\nn = disable distribution=a\n* = disable program=prog", "");
	assert_true(policy_decide(&layers.policy, &bare).allowed);
	free_layers(&layers);
}

/* The rules of an environment apply to its own entry points, in any order of the environments. */
static void test_environments(void **state)
{
	static const struct {
		const char *prefix;
		bool allowed;
	} rows[] = {{"/mine", true}, {"/other", false}, {"/min", false}, {"", false}, {NULL, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy_subject asked = subject;
		struct layers layers;

		asked.prefix = slice_of(rows[i].prefix); /* NULL: unknown */
		read_layers(&layers, "[g]\nn = enable priority=3", "[g]\nn = disable");
		layers.items[0].prefix = "/mine";
		assert_int_equal(policy_decide(&layers.policy, &asked).allowed, rows[i].allowed);
		assert_int_equal(policy_decide(&layers.policy, &asked).priority,
		                 rows[i].allowed ? 3 : 0);
		free_layers(&layers);
	}
}

/* --- writing --- */

static void check_put(const char *before, struct policy_rule rule, const char *after)
{
	struct error error = {0};
	char *made = NULL;
	int code = policy_edit(slice_of(before), &rule, &made, &error);

	if (after)
		assert_string_equal(made ? made : error_text(&error), after);
	else
		assert_int_equal(code, ERROR_INVALID);
	free(made);
	error_clear(&error);
}

static void test_put(void **state)
{
	struct policy_rule disable = {
	        .group = SLICE("g"), .name = SLICE("n"), .action = POLICY_DISABLE};
	struct policy_rule enable = disable, nothing = disable, whole = disable, first = disable;
	struct policy_rule of_a = disable, for_p = disable;

	enable.action = POLICY_ENABLE;
	nothing.action = POLICY_SILENT;
	whole.name = SLICE("*");
	first.has_priority = true;
	first.priority = -3;
	of_a.distribution = SLICE("a");
	for_p.program = SLICE("p");
	check_put("", disable, "[g]\nn = disable\n");
	check_put("# mine", disable, "# mine\n[g]\nn = disable\n");
	check_put("[g]\nm = disable\n\n[h]\nx = disable\n", disable,
	          "[g]\nm = disable\nn = disable\n\n[h]\nx = disable\n");
	check_put("[g]\n  n = disable # why\nm = disable\n", enable,
	          "[g]\nn = enable\nm = disable\n");
	check_put("[g]\nn = disable\nm = disable", nothing, "[g]\nm = disable");
	check_put("[g]\nn = disable priority=4\n", nothing, "[g]\nn = priority=4\n");
	check_put("[g]\nn = disable\n", whole, "[g]\nn = disable\n* = disable\n");
	check_put("[g]\nn = enable\n", first, "[g]\nn = disable priority=-3\n");
	check_put("[g]\nn = enable\n", of_a, "[g]\nn = enable\nn = disable distribution=a\n");
	check_put("[g]\nn = enable distribution=A program=p\n", for_p,
	          "[g]\nn = enable distribution=A program=p\nn = disable program=p\n");
	check_put("[g]\nn", disable, "[g]\nn\nn = disable\n");
}

static void test_put_invalid(void **state)
{
	static const struct slice names[] = {{"a=b", 3}, {"a\nb", 3}, {"#a", 2}, {" a", 2}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_put("", (struct policy_rule){SLICE("g"), names[i], .action = POLICY_DISABLE},
		          NULL);
	check_put("", (struct policy_rule){SLICE("g]"), SLICE("n"), .action = POLICY_DISABLE},
	          NULL);
	check_put("",
	          (struct policy_rule){SLICE("g"), SLICE("n"), .program = SLICE("a b"),
	                               .action = POLICY_DISABLE},
	          NULL);
}

static void test_invalid_texts(void **state)
{
	struct policy_rules rules = {0};
	char *large = malloc(POLICY_TEXT_MAX + 1);

	assert_int_equal(policy_rules_read(SLICE("[g]\nn = \xff"), &rules, NULL), ERROR_FORMAT);
	memset(large, '\n', POLICY_TEXT_MAX + 1);
	assert_int_equal(
	        policy_rules_read((struct slice){large, POLICY_TEXT_MAX + 1}, &rules, NULL),
	        ERROR_LIMIT);
	assert_int_equal(policy_rules_read((struct slice){large, POLICY_TEXT_MAX}, &rules, NULL),
	                 0);
	assert_int_equal(rules.count, 0);
	memcpy(large, "[g]", 3);
	for (size_t i = 0; i <= POLICY_RULES_MAX; i++)
		large[4 + 2 * i] = 'a';
	assert_int_equal(
	        policy_rules_read((struct slice){large, 4 + 2 * POLICY_RULES_MAX}, &rules, NULL),
	        0);
	assert_int_equal(rules.count, POLICY_RULES_MAX);
	policy_rules_free(&rules);
	assert_int_equal(
	        policy_rules_read((struct slice){large, 5 + 2 * POLICY_RULES_MAX}, &rules, NULL),
	        ERROR_LIMIT);
	policy_rules_free(&rules);
	free(large);
}

RUN_TESTS(cmocka_unit_test(test_rules), cmocka_unit_test(test_embedded_nul),
          cmocka_unit_test(test_reason), cmocka_unit_test(test_files),
          cmocka_unit_test(test_variable_before_files), cmocka_unit_test(test_priority),
          cmocka_unit_test(test_unknown), cmocka_unit_test(test_environments),
          cmocka_unit_test(test_put), cmocka_unit_test(test_put_invalid),
          cmocka_unit_test(test_invalid_texts))

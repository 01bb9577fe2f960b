/*
 * fuzz_policy_text.c - a rule written into any policy file is read back equal and takes effect;
 * writing it again changes nothing.
 *
 * The input is "group\0name\0program\0text".
 */
#include "db/base/cleanup.h"
#include "indexer/verbs/enable.h"
#include "tests/fuzz/input.h"

static void must_decide(const char *text, const struct policy_rule *rule)
{
	CLEANUP(policy_rules_free) struct policy_rules rules = {0};
	const struct policy_rule *found;

	require(policy_rules_read(slice_of(text), &rules, NULL) == 0);
	found = policy_edit_find(&rules, rule);
	require(found && found->action == POLICY_DISABLE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = input_of(data, size);
	struct policy_rule rule = {.group = input_piece(&rest),
	                           .name = input_piece(&rest),
	                           .program = input_piece(&rest),
	                           .action = POLICY_DISABLE};
	CLEANUP(cleanup_free) char *once = NULL;
	CLEANUP(cleanup_free) char *twice = NULL;

	if (rule.program.len == 0)
		rule.program = (struct slice){0};
	if (memchr(rest.ptr, '\0', rest.len) || policy_edit(rest, &rule, &once, NULL) < 0)
		return 0;
	must_decide(once, &rule);
	require(policy_edit(slice_of(once), &rule, &twice, NULL) == 0);
	require(slice_equal(slice_of(once), slice_of(twice)));
	return 0;
}

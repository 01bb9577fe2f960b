/*
 * fuzz_policy.c - a rule decides as if all rules were compared one by one with the two
 * ways in which an entry point can be named.
 *
 * The input is "rules\0group\0name\0".
 */
#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "libquery/policy.h"
#include "tests/fuzz/input.h"

/* The plain way: each piece between commas against GROUP and GROUP/NAME. */
static bool is_disabled(struct slice rules, struct slice group, struct slice whole)
{
	while (rules.len > 0) {
		const char *comma = memchr(rules.ptr, ',', rules.len);
		struct slice rule = comma ? slice_between(rules.ptr, comma) : rules;

		if (slice_equal(rule, group) || slice_equal(rule, whole))
			return true;
		rules = slice_from(rules, rule.len + (comma != NULL));
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = input_of(data, size);
	struct policy policy = {.disabled = input_piece(&rest)};
	struct policy_subject subject = {.group = input_piece(&rest), .name = input_piece(&rest)};
	CLEANUP(cleanup_free)
	char *whole = text_format("%.*s/%.*s", (int)subject.group.len, subject.group.ptr,
	                          (int)subject.name.len, subject.name.ptr);
	CLEANUP(cleanup_free) char *reason = NULL;
	struct policy_verdict verdict = policy_decide(&policy, &subject);

	require(whole != NULL);
	require(verdict.allowed != is_disabled(policy.disabled, subject.group, slice_of(whole)));
	if (verdict.allowed)
		return 0;
	reason = policy_reason(&verdict);
	require(reason && slice_starts(slice_of(reason), SLICE("ENTRYDB_DISABLE names ")) &&
	        slice_ends(slice_of(reason), verdict.word));
	return 0;
}

/*
 * policy.c - see policy.h.
 */
#include "libquery/native/policy.h"

#include <stdlib.h>

#include "db/base/text.h"

/* --- ENTRYDB_DISABLE --- */

/* GROUP, or GROUP/NAME: a group may have slashes in it, and so may a name. */
static bool word_names(struct slice word, const struct policy_subject *subject)
{
	struct slice name;

	if (slice_is_null(subject->group) || !slice_starts(word, subject->group))
		return false;
	name = slice_from(word, subject->group.len);
	if (name.len == 0)
		return true;
	return name.ptr[0] == '/' && !slice_is_null(subject->name) &&
	       slice_equal(slice_from(name, 1), subject->name);
}

/* Cut the text before the first comma off @list; false at its end. */
static bool next_word(struct slice *list, struct slice *word)
{
	const char *comma;

	if (slice_is_null(*list) || list->len == 0)
		return false;
	comma = memchr(list->ptr, ',', list->len);
	*word = comma ? slice_between(list->ptr, comma) : *list;
	*list = slice_from(*list, word->len + (comma ? 1 : 0));
	return true;
}

/* The word that names the subject; null: none does. */
static struct slice find_word(struct slice list, const struct policy_subject *subject)
{
	struct slice word;

	while (next_word(&list, &word))
		if (word_names(word, subject))
			return word;
	return (struct slice){0};
}

/* --- files --- */

/* How much a rule says: higher numbers say more. */
enum { SAYS_GROUP = 1, SAYS_PROGRAM = 2, SAYS_DISTRIBUTION = 4, SAYS_NAME = 8, SAYS_NOTHING = 0 };

/* Add @weight to *says where @wanted is what @given is; false: it is another one. */
static bool compare(struct slice wanted, struct slice given, int weight, int *says)
{
	if (slice_is_null(wanted) || slice_equal(wanted, SLICE("*")))
		return true;
	*says += weight;
	return !slice_is_null(given) && slice_equal(wanted, given);
}

/* How much @rule says about the subject; -1: it is about another one. */
static int weigh(const struct policy_rule *rule, const struct policy_subject *subject)
{
	int says = SAYS_NOTHING;

	if (compare(rule->group, subject->group, SAYS_GROUP, &says) &&
	    compare(rule->name, subject->name, SAYS_NAME, &says) &&
	    compare(rule->distribution, subject->distribution, SAYS_DISTRIBUTION, &says) &&
	    compare(rule->program, subject->program, SAYS_PROGRAM, &says))
		return says;
	return -1;
}

static bool decides(const struct policy_rule *rule)
{
	return rule->action != POLICY_SILENT;
}

static bool ranks(const struct policy_rule *rule)
{
	return rule->has_priority;
}

static const struct policy_rule *find_in_layer(const struct policy_layer *layer,
                                               const struct policy_subject *subject,
                                               bool (*serves)(const struct policy_rule *))
{
	const struct policy_rule *best = NULL;
	int most = SAYS_NOTHING;

	for (size_t i = 0; i < layer->count; i++) {
		int says = serves(&layer->rules[i]) ? weigh(&layer->rules[i], subject) : -1;

		if (says < most)
			continue;
		most = says;
		best = &layer->rules[i];
	}
	return best;
}

/* The rule of the first layer that has one; *origin: that layer's. */
static const struct policy_rule *find_rule(const struct policy *policy,
                                           const struct policy_subject *subject,
                                           bool (*serves)(const struct policy_rule *),
                                           const char **origin)
{
	const struct policy_rule *found = NULL;

	for (size_t i = 0; !found && i < policy->layer_count; i++) {
		found = find_in_layer(&policy->layers[i], subject, serves);
		*origin = found ? policy->layers[i].origin : NULL;
	}
	return found;
}

struct policy_verdict policy_decide(const struct policy *policy,
                                    const struct policy_subject *subject)
{
	struct policy_verdict verdict = {.allowed = true};
	const char *rank_origin = NULL;
	const struct policy_rule *rank = find_rule(policy, subject, ranks, &rank_origin);

	if (rank)
		verdict.priority = rank->priority;
	verdict.word = find_word(policy->disabled, subject);
	if (!slice_is_null(verdict.word)) {
		verdict.allowed = false;
		verdict.origin = POLICY_DISABLE_VARIABLE;
		return verdict;
	}
	verdict.rule = find_rule(policy, subject, decides, &verdict.origin);
	if (verdict.rule)
		verdict.allowed = verdict.rule->action == POLICY_ENABLE;
	return verdict;
}

bool policy_is_empty(const struct policy *policy)
{
	if (policy->disabled.len > 0)
		return false;
	for (size_t i = 0; i < policy->layer_count; i++)
		if (policy->layers[i].count > 0)
			return false;
	return true;
}

char *policy_reason(const struct policy_verdict *verdict)
{
	const struct policy_rule *rule = verdict->rule;

	if (!rule)
		return text_format("%s names %.*s", verdict->origin, (int)verdict->word.len,
		                   verdict->word.ptr);
	return text_format("%s, line %zu%s: [%.*s] %.*s = %.*s", verdict->origin, rule->number,
	                   rule->action == POLICY_UNCLEAR ? ", which cannot be understood" : "",
	                   (int)rule->group.len, rule->group.ptr, (int)rule->name.len,
	                   rule->name.ptr, (int)rule->value.len, rule->value.ptr);
}

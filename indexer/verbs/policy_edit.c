/*
 * policy_edit.c - changes a line of a policy file, and leaves all others as their author wrote
 * them.
 */
#include "indexer/verbs/policy_edit.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "db/entry_points_txt.h"

static bool is_about_the_same(const struct policy_rule *a, const struct policy_rule *b)
{
	return slice_equal(a->group, b->group) && slice_equal(a->name, b->name) &&
	       slice_equal(a->distribution, b->distribution) &&
	       slice_equal(a->program, b->program) && b->action != POLICY_UNCLEAR;
}

const struct policy_rule *policy_edit_find(const struct policy_rules *rules,
                                           const struct policy_rule *rule)
{
	for (size_t i = rules->count; i > 0; i--)
		if (is_about_the_same(rule, &rules->items[i - 1]))
			return &rules->items[i - 1];
	return NULL;
}

/* Where @rule stands, or, if it is NULL, where a line of @group can be put in. */
struct place {
	const char *begin, *end; /* of the line, its end included */
	bool in_group;
};

static const char *skip_back(struct slice text, const char *at)
{
	while (at > text.ptr && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	return at;
}

static struct place find_place(struct slice text, const struct policy_rule *rule,
                               struct slice group)
{
	struct place place = {text.ptr + text.len, text.ptr + text.len, false};
	struct entry_points_txt txt;
	struct entry_points_line line;
	int next;

	entry_points_txt_begin(&txt, text);
	while ((next = entry_points_txt_next(&txt, &line, NULL)) != 0) {
		bool is_it = rule && txt.number == rule->number;

		if (!is_it && (rule || !slice_equal(txt.group, group)))
			continue;
		place = (struct place){txt.rest.ptr, txt.rest.ptr, true};
		if (is_it) {
			place.begin = skip_back(text, line.name.ptr);
			break;
		}
	}
	return place;
}

static void put_rule(FILE *stream, const struct policy_rule *rule)
{
	fprintf(stream, "%.*s =", (int)rule->name.len, rule->name.ptr);
	if (rule->action != POLICY_SILENT)
		fputs(rule->action == POLICY_ENABLE ? " enable" : " disable", stream);
	if (rule->has_priority)
		fprintf(stream, " priority=%d", rule->priority);
	if (!slice_is_null(rule->distribution))
		fprintf(stream, " distribution=%.*s", (int)rule->distribution.len,
		        rule->distribution.ptr);
	if (!slice_is_null(rule->program))
		fprintf(stream, " program=%.*s", (int)rule->program.len, rule->program.ptr);
	fputc('\n', stream);
}

static int compose(struct slice text, const struct place *place, const struct policy_rule *rule,
                   char **out)
{
	size_t size;
	FILE *stream = open_memstream(out, &size);
	const char *end = text.ptr + text.len;
	bool is_empty = rule->action == POLICY_SILENT && !rule->has_priority;

	if (!stream)
		return ERROR_NOMEM;
	fwrite(text.ptr, 1, (size_t)(place->begin - text.ptr), stream);
	if (!is_empty && place->begin > text.ptr && place->begin[-1] != '\n')
		fputc('\n', stream);
	if (!is_empty && !place->in_group)
		fprintf(stream, "[%.*s]\n", (int)rule->group.len, rule->group.ptr);
	if (!is_empty)
		put_rule(stream, rule);
	fwrite(place->end, 1, (size_t)(end - place->end), stream);
	return text_close(stream, out) ? 0 : ERROR_NOMEM;
}

/* Is @rule in @text, as it was meant? */
static int check_written(const char *text, const struct policy_rule *rule, struct error *error)
{
	CLEANUP(policy_rules_free) struct policy_rules rules = {0};
	int code = policy_rules_read(slice_of(text), &rules, error);
	const struct policy_rule *found = code == 0 ? policy_edit_find(&rules, rule) : NULL;

	if (code < 0)
		return code;
	if (found ? found->action == rule->action
	          : rule->action == POLICY_SILENT && !rule->has_priority)
		return 0;
	return error_set(
	        error, ERROR_INVALID, "a rule about [%.*s] %.*s cannot be written in a policy file",
	        (int)rule->group.len, rule->group.ptr, (int)rule->name.len, rule->name.ptr);
}

int policy_edit(struct slice text, const struct policy_rule *wanted, char **out,
                struct error *error)
{
	CLEANUP(policy_rules_free) struct policy_rules rules = {0};
	CLEANUP(cleanup_free) char *made = NULL;
	struct policy_rule rule = *wanted;
	const struct policy_rule *old;
	struct place place;
	int code = policy_rules_read(text, &rules, error);

	if (code < 0)
		return code;
	old = policy_edit_find(&rules, &rule);
	if (old && old->has_priority && !rule.has_priority) {
		rule.priority = old->priority;
		rule.has_priority = true;
	}
	place = find_place(text, old, rule.group);
	if (compose(text, &place, &rule, &made) < 0)
		return error_nomem(error);
	code = check_written(made, &rule, error);
	if (code == 0)
		*out = take(made);
	return code;
}

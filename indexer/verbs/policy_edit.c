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

const struct policy_rule *policy_edit_find(const struct policy_rules *rules,
                                           const struct policy_rule *rule)
{
	for (size_t i = rules->count; i > 0; i--) {
		const struct policy_rule *line = &rules->items[i - 1];

		if (line->action != POLICY_UNCLEAR && slice_equal(line->group, rule->group) &&
		    slice_equal(line->name, rule->name) &&
		    slice_equal(line->distribution, rule->distribution) &&
		    slice_equal(line->program, rule->program))
			return line;
	}
	return NULL;
}

/* Where @rule stands, or, if it is NULL, where a line of @group can be put in. */
struct place {
	const char *begin, *end; /* of the line, its end included */
	bool in_group;
};

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
		if (!is_it)
			continue;
		place.begin = line.name.ptr;
		while (place.begin > text.ptr &&
		       (place.begin[-1] == ' ' || place.begin[-1] == '\t'))
			place.begin--;
		break;
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

int policy_edit(struct slice text, const struct policy_rule *wanted, char **out,
                struct error *error)
{
	CLEANUP(policy_rules_free) struct policy_rules rules = {0};
	CLEANUP(policy_rules_free) struct policy_rules written = {0};
	CLEANUP(cleanup_free) char *made = NULL;
	struct policy_rule rule = *wanted;
	const struct policy_rule *line;
	struct place place;
	int code = policy_rules_read(text, &rules, error);

	if (code < 0)
		return code;
	line = policy_edit_find(&rules, &rule);
	if (line && line->has_priority && !rule.has_priority) {
		rule.priority = line->priority;
		rule.has_priority = true;
	}
	place = find_place(text, line, rule.group);
	if (compose(text, &place, &rule, &made) < 0)
		return error_nomem(error);
	/* Is it there as it was meant? */
	code = policy_rules_read(slice_of(made), &written, error);
	if (code < 0)
		return code;
	line = policy_edit_find(&written, &rule);
	if (line ? line->action != rule.action : rule.action != POLICY_SILENT || rule.has_priority)
		return error_set(error, ERROR_INVALID,
		                 "a rule about [%.*s] %.*s cannot be written in a policy file",
		                 (int)rule.group.len, rule.group.ptr, (int)rule.name.len,
		                 rule.name.ptr);
	*out = take(made);
	return 0;
}

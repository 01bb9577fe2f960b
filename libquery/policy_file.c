/*
 * policy_file.c - parses the text of policy files.
 */
#include "libquery/policy_file.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/tree/distname.h"

#define PRIORITY_MAX 1000000 /* absolute value */

/* --- the text --- */

void policy_rules_free(struct policy_rules *rules)
{
	free(rules->items);
	arena_free(&rules->arena);
	*rules = (struct policy_rules){0};
}

/* The value of a word "KEY=VALUE"; false if it is empty. */
static bool has_key(struct slice word, struct slice key, struct slice *value)
{
	if (!slice_starts(word, key) || word.len == key.len)
		return false;
	*value = slice_from(word, key.len);
	return true;
}

static bool read_priority(struct slice digits, struct policy_rule *rule)
{
	char text[sizeof("-1000000")] = "", *end;
	long number;

	if (digits.len >= sizeof(text))
		return false;
	memcpy(text, digits.ptr, digits.len);
	number = strtol(text, &end, 10);
	rule->priority = (int)number;
	rule->has_priority = true;
	return !*end && number <= PRIORITY_MAX && number >= -PRIORITY_MAX;
}

/* False for an unknown word or a second action. */
static bool read_word(struct policy_rules *rules, struct policy_rule *rule, struct slice word,
                      bool *failed)
{
	bool is_disable = slice_equal(word, SLICE("disable"));
	bool is_first = rule->action == POLICY_SILENT;
	struct slice value;

	if (is_disable || slice_equal(word, SLICE("enable"))) {
		rule->action = is_disable ? POLICY_DISABLE : POLICY_ENABLE;
		return is_first;
	}
	if (has_key(word, SLICE("priority="), &value))
		return read_priority(value, rule);
	if (has_key(word, SLICE("program="), &rule->program))
		return true;
	if (!has_key(word, SLICE("distribution="), &value))
		return false;
	rule->distribution = distname_normalize_in(&rules->arena, value, failed);
	return true;
}

static void read_value(struct policy_rules *rules, struct policy_rule *rule, bool *failed)
{
	const struct policy_rule named = *rule;
	struct slice rest = rule->value, word;
	bool clear = true;

	while (clear && (word = unicode_take_word(&rest)).len > 0 && word.ptr[0] != '#')
		clear = read_word(rules, rule, word, failed);
	if (clear && (rule->action != POLICY_SILENT || rule->has_priority))
		return;
	*rule = named;
	rule->action = POLICY_UNCLEAR;
}

/* @line: NULL for one without '=', which disables its group. */
static int add_rule(struct policy_rules *rules, const struct entry_points_txt *txt,
                    const struct entry_points_line *line)
{
	struct policy_rule rule = {
	        .group = txt->group,
	        .name = line ? line->name : SLICE("*"),
	        .value = line ? line->value : SLICE("(no '=')"),
	        .number = txt->number,
	};
	bool failed = false;

	if (rules->count == POLICY_RULES_MAX)
		return ERROR_LIMIT;
	read_value(rules, &rule, &failed);
	if (failed || !array_grow(&rules->items, rules->count, sizeof(*rules->items), &rules->room))
		return ERROR_NOMEM;
	rules->items[rules->count++] = rule;
	return 0;
}

int policy_rules_read(struct slice text, struct policy_rules *rules, struct error *error)
{
	struct entry_points_txt txt;
	struct entry_points_line line;
	int code = 0, next;

	if (text.len > POLICY_TEXT_MAX)
		return error_set(error, ERROR_LIMIT, "larger than %zu bytes", POLICY_TEXT_MAX);
	if (!utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "not UTF-8");
	entry_points_txt_begin(&txt, text);
	while (code == 0 && (next = entry_points_txt_next(&txt, &line, NULL)) != 0)
		code = add_rule(rules, &txt, next > 0 ? &line : NULL);
	if (code == ERROR_LIMIT)
		return error_set(error, code, "more than %d rules", POLICY_RULES_MAX);
	return code < 0 ? error_nomem(error) : 0;
}

bool policy_is_empty(const struct policy *policy)
{
	if (policy->disabled.len > 0)
		return false;
	for (size_t i = 0; i < policy->count; i++)
		if (policy->layers[i].rules.count > 0 || policy->layers[i].why.code < 0)
			return false;
	return true;
}

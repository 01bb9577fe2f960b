/*
 * policy_text.c - see policy_text.h.
 */
#include "libquery/policy_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/tree/distname.h"

#define PRIORITY_MAX 1000000 /* and the same below zero */

void policy_rules_free(struct policy_rules *rules)
{
	free(rules->items);
	arena_free(&rules->arena);
	*rules = (struct policy_rules){0};
}

/* --- reading --- */

/* Cut the next word off @text; false at its end, or where a comment begins. */
static bool next_word(struct slice *text, struct slice *word)
{
	size_t len = 0;

	*text = unicode_strip(*text);
	while (len < text->len && unicode_span_space(slice_from(*text, len)) == 0)
		len++;
	*word = slice_first(*text, len);
	*text = slice_from(*text, len);
	return len > 0 && word->ptr[0] != '#';
}

/* What follows "KEY=" in @word, unless that is nothing. */
static bool has_key(struct slice word, struct slice key, struct slice *value)
{
	if (!slice_starts(word, key) || word.len == key.len)
		return false;
	*value = slice_from(word, key.len);
	return true;
}

static bool set_action(struct policy_rule *rule, enum policy_action action)
{
	bool is_first = rule->action == POLICY_SILENT;

	rule->action = action;
	return is_first;
}

static bool set_priority(struct policy_rule *rule, struct slice digits)
{
	char text[sizeof("-1000000")];
	char *end;
	long number;

	if (digits.len >= sizeof(text))
		return false;
	memcpy(text, digits.ptr, digits.len);
	text[digits.len] = '\0';
	number = strtol(text, &end, 10);
	if (*end || number > PRIORITY_MAX || number < -PRIORITY_MAX)
		return false;
	rule->priority = (int)number;
	rule->has_priority = true;
	return true;
}

/* False: there is no such word, or not twice. */
static bool read_word(struct policy_rules *rules, struct policy_rule *rule, struct slice word,
                      bool *failed)
{
	struct slice value;

	if (slice_equal(word, SLICE("disable")))
		return set_action(rule, POLICY_DISABLE);
	if (slice_equal(word, SLICE("enable")))
		return set_action(rule, POLICY_ENABLE);
	if (has_key(word, SLICE("priority="), &value))
		return set_priority(rule, value);
	if (has_key(word, SLICE("program="), &rule->program))
		return true;
	if (!has_key(word, SLICE("distribution="), &value))
		return false;
	rule->distribution = distname_normalize_in(&rules->arena, value, failed);
	return true;
}

static void read_value(struct policy_rules *rules, struct policy_rule *rule, bool *failed)
{
	struct slice rest = rule->value, word;
	bool clear = true;

	while (clear && next_word(&rest, &word))
		clear = read_word(rules, rule, word, failed);
	if (!clear || (rule->action == POLICY_SILENT && !rule->has_priority))
		*rule = (struct policy_rule){
		        .group = rule->group,
		        .name = rule->name,
		        .number = rule->number,
		        .value = rule->value,
		        .action = POLICY_UNCLEAR,
		};
}

/* @line: NULL for one without '=', which forbids its group. */
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

	read_value(rules, &rule, &failed);
	if (failed || !array_grow(&rules->items, rules->count, sizeof(*rules->items), &rules->room))
		return ERROR_NOMEM;
	rules->items[rules->count++] = rule;
	return 0;
}

static int check_text(struct slice text, struct error *error)
{
	if (text.len > POLICY_TEXT_MAX)
		return error_set(error, ERROR_LIMIT, "larger than %zu bytes", POLICY_TEXT_MAX);
	if (!utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "not UTF-8");
	return 0;
}

int policy_text_read(struct slice text, struct policy_rules *rules, struct error *error)
{
	struct entry_points_txt txt;
	struct entry_points_line line;
	int code = check_text(text, error), next;

	entry_points_txt_begin(&txt, text);
	while (code == 0 && (next = entry_points_txt_next(&txt, &line, NULL)) != 0)
		code = add_rule(rules, &txt, next > 0 ? &line : NULL);
	if (code == ERROR_NOMEM)
		error_nomem(error);
	return code;
}

/* --- writing --- */

static bool is_about_the_same(const struct policy_rule *a, const struct policy_rule *b)
{
	return slice_equal(a->group, b->group) && slice_equal(a->name, b->name) &&
	       slice_equal(a->distribution, b->distribution) &&
	       slice_equal(a->program, b->program) && b->action != POLICY_UNCLEAR;
}

const struct policy_rule *policy_rules_find(const struct policy_rules *rules,
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
	int code = policy_text_read(slice_of(text), &rules, error);
	const struct policy_rule *found = code == 0 ? policy_rules_find(&rules, rule) : NULL;

	if (code < 0)
		return code;
	if (found ? found->action == rule->action
	          : rule->action == POLICY_SILENT && !rule->has_priority)
		return 0;
	return error_set(
	        error, ERROR_INVALID, "a rule about [%.*s] %.*s cannot be written in a policy file",
	        (int)rule->group.len, rule->group.ptr, (int)rule->name.len, rule->name.ptr);
}

int policy_text_put(struct slice text, const struct policy_rule *wanted, char **out,
                    struct error *error)
{
	CLEANUP(policy_rules_free) struct policy_rules rules = {0};
	CLEANUP(cleanup_free) char *made = NULL;
	struct policy_rule rule = *wanted;
	const struct policy_rule *old;
	struct place place;
	int code = policy_text_read(text, &rules, error);

	if (code < 0)
		return code;
	old = policy_rules_find(&rules, &rule);
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

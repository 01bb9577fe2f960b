/*
 * policy_file.c - reads policy files, and keeps for a handle what they say.
 */
#include "libquery/policy_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/layout.h"

#define PRIORITY_MAX   1000000           /* and the same below zero */
#define LOOK_INTERVAL  NANOSECONDS       /* for POLICY_AGE_SECOND */
#define SETTLED_AFTER  (2 * NANOSECONDS) /* a younger file may change and keep its times */
#define SYSTEM_PREFIX  SLICE("")
#define NOT_LOOKED_YET INT64_MIN

/* --- the text --- */

void policy_rules_free(struct policy_rules *rules)
{
	free(rules->items);
	arena_free(&rules->arena);
	*rules = (struct policy_rules){0};
}

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

/* False: there is an action already. */
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

/* False: the word means nothing here. */
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
	return code < 0 ? error_nomem(error) : 0;
}

/* --- which files --- */

static void forget(struct policy_layer *layer)
{
	policy_rules_free(&layer->rules);
	free(take(layer->text));
	error_clear(&layer->why);
	layer->seen = (struct stat){0};
	layer->known = layer->settled = false;
}

void policy_free(struct policy *policy)
{
	for (size_t i = 0; i < policy->count; i++) {
		forget(&policy->layers[i]);
		free(policy->layers[i].path);
		free(policy->layers[i].place);
	}
	free(policy->layers);
	*policy = (struct policy){0};
}

/* @path and @place, which may be NULL, become the policy's. */
static int add_layer(struct policy *policy, char *path, char *place, const char *prefix)
{
	struct policy_layer layer = {.path = path, .place = place, .prefix = prefix};

	if (!path || !array_grow(&policy->layers, policy->count, sizeof(layer), &policy->room)) {
		free(path);
		free(place);
		return ERROR_NOMEM;
	}
	policy->layers[policy->count++] = layer;
	return 0;
}

static int add_user(struct policy *policy)
{
	char *path;
	int code = layout_user_policy(&path);

	return code == 0 && path ? add_layer(policy, path, NULL, NULL) : code;
}

/* The environment that a path entry belongs to, unless it is there. */
static int add_environment(struct policy *policy, const char *spelled, const char *sysroot)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(spelled);
	long len = path ? layout_environment(path) : -1;
	char *place;

	if (!path && errno == ENOMEM)
		return ERROR_NOMEM;
	if (len <= 0)
		return 0;
	path[len] = '\0';
	for (size_t i = 0; i < policy->count; i++)
		if (policy->layers[i].prefix && strcmp(policy->layers[i].prefix, path) == 0)
			return 0;
	place = text_format("%s%s", sysroot, path);
	return place ? add_layer(policy, layout_policy(sysroot, slice_of(path)), place,
	                         place + strlen(sysroot))
	             : ERROR_NOMEM;
}

static int list_layers(struct policy *policy, const struct policy_scope *scope)
{
	const char *sysroot = scope->sysroot ? scope->sysroot : "";
	bool is_privileged = trust_is_privileged();
	int code = is_privileged || scope->sysroot ? 0 : add_user(policy);

	for (size_t i = 0; code == 0 && !is_privileged && i < scope->entry_count; i++)
		code = add_environment(policy, scope->entries[i].spelled, sysroot);
	if (code == 0)
		code = add_layer(policy, layout_policy(sysroot, SYSTEM_PREFIX), NULL, NULL);
	if (code < 0)
		policy_free(policy);
	policy->listed = code == 0;
	return code;
}

/* --- reading them --- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_uid == b->st_uid && a->st_mode == b->st_mode && a->st_gid == b->st_gid &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Who may have written it besides root and the effective user. */
static uid_t owner_of(const struct policy_layer *layer)
{
	struct stat status;

	return layer->place && stat(layer->place, &status) == 0 ? status.st_uid : TRUST_NO_OTHER;
}

static int check_trust(const struct policy_layer *layer, int fd, struct error *error)
{
	const struct stat *status = &layer->seen;

	if (!S_ISREG(status->st_mode))
		return error_set(error, ERROR_FORMAT, "%s is not a file", layer->path);
	switch (trust_of(fd, status, owner_of(layer))) {
	case TRUST_FOREIGN:
		return error_set(error, ERROR_PERMISSION,
		                 "cannot trust the rules in %s: it belongs to user %u; delete it, "
		                 "or make it yours or root's",
		                 layer->path, status->st_uid);
	case TRUST_WRITABLE:
		return error_set(error, ERROR_PERMISSION,
		                 "cannot trust the rules in %s: others can write it; if they are "
		                 "yours, run: chmod go-w '%s'",
		                 layer->path, layer->path);
	case TRUST_BELIEVED:
		break;
	}
	return 0;
}

static int read_text(struct policy_layer *layer, int fd, struct slice *text, struct error *error)
{
	ssize_t got;

	layer->text = malloc(POLICY_TEXT_MAX + 1);
	if (!layer->text)
		return error_nomem(error);
	got = file_read(fd, layer->text, POLICY_TEXT_MAX + 1);
	if (got < 0)
		return error_errno(error, errno, "cannot read %s", layer->path);
	*text = (struct slice){layer->text, (size_t)got};
	return 0;
}

static int read_rules(struct policy_layer *layer, int fd, struct error *error)
{
	struct error own = {0};
	struct slice text;
	int code = check_trust(layer, fd, error);

	if (code == 0)
		code = read_text(layer, fd, &text, error);
	if (code < 0)
		return code;
	code = policy_rules_read(text, &layer->rules, &own);
	if (code < 0 && !error_is_failure(code))
		error_set(error, code, "cannot read the rules in %s: %s; fix or delete it",
		          layer->path, error_text(&own));
	else if (code < 0)
		error_move(error, &own);
	error_clear(&own);
	return code;
}

/* Nothing can be loaded from an environment that cannot even be entered. */
static bool is_out_of_reach(const struct policy_layer *layer)
{
	struct stat status;

	return layer->place && stat(layer->place, &status) != 0 && errno == EACCES;
}

/* Into @layer, which is empty. That there is no file is a fact. */
static int open_and_read(struct policy_layer *layer, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, layer->path, 0);
	int why = errno;

	if (fd < 0 && (error_code(why) == ERROR_NOTFOUND || is_out_of_reach(layer)))
		return 0;
	if (fd < 0 || fstat(fd, &layer->seen) != 0)
		return error_errno(error, fd < 0 ? why : errno, "cannot read %s", layer->path);
	layer->settled = nanoseconds_now(CLOCK_REALTIME) - nanoseconds_of(layer->seen.st_ctim) >
	                 SETTLED_AFTER;
	return read_rules(layer, fd, error);
}

static bool is_unchanged(const struct policy_layer *layer)
{
	struct stat now;

	if (!layer->known || layer->why.code)
		return false;
	if (stat(layer->path, &now) != 0)
		return errno_is_failure(errno) || layer->seen.st_nlink == 0;
	return layer->settled && is_same(&now, &layer->seen);
}

/* A failure leaves what was known, if anything was. */
static int look_at(struct policy_layer *layer, struct error *error)
{
	struct policy_layer fresh = {
	        .path = layer->path, .place = layer->place, .prefix = layer->prefix};
	int code;

	if (is_unchanged(layer))
		return 0;
	code = open_and_read(&fresh, &fresh.why);
	if (error_is_failure(code) && layer->known && !layer->why.code) {
		forget(&fresh);
		return 0;
	}
	fresh.known = true;
	forget(layer);
	*layer = fresh;
	return code < 0 ? error_set(error, code, "%s", error_text(&layer->why)) : 0;
}

int policy_look(struct policy *policy, const struct policy_scope *scope, enum policy_age age,
                struct error *error)
{
	int64_t now = nanoseconds_now(CLOCK_MONOTONIC_COARSE);
	int code = 0;

	policy->disabled = slice_of(trust_environment(POLICY_DISABLE_VARIABLE));
	if (age == POLICY_AGE_SECOND && policy->listed && policy->looked != NOT_LOOKED_YET &&
	    now - policy->looked < LOOK_INTERVAL)
		return 0;
	if (!policy->listed && list_layers(policy, scope) < 0)
		return error_nomem(error);
	for (size_t i = 0; code == 0 && i < policy->count; i++)
		code = look_at(&policy->layers[i], error);
	policy->looked = code == 0 ? now : NOT_LOOKED_YET;
	return code;
}

bool policy_is_empty(const struct policy *policy)
{
	const char *disabled = trust_environment(POLICY_DISABLE_VARIABLE);

	if (disabled && disabled[0])
		return false;
	for (size_t i = 0; i < policy->count; i++)
		if (policy->layers[i].rules.count > 0)
			return false;
	return true;
}

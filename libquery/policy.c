/*
 * policy.c - decides by the rules of users, environments and the system what may be loaded.
 * Loading, the answers without disabled entry points, and hosts all ask here.
 */
#include "libquery/policy.h"

#include <errno.h>
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/layout.h"
#include "libquery/names.h"

/* --- the decision --- */

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

/* The word of the comma-separated @list that names the subject; null: none does. */
static struct slice find_word(struct slice list, const struct policy_subject *subject)
{
	while (list.len > 0) {
		const char *comma = memchr(list.ptr, ',', list.len);
		struct slice word = comma ? slice_between(list.ptr, comma) : list;

		if (word_names(word, subject))
			return word;
		list = slice_from(list, word.len + (comma != NULL));
	}
	return (struct slice){0};
}

/* How specific a rule is: the higher the more. */
enum { SAYS_GROUP = 1, SAYS_PROGRAM = 2, SAYS_DISTRIBUTION = 4, SAYS_NAME = 8, SAYS_NOTHING = 0 };

/* Add @weight to *says if @wanted is what @given is; false: it is another one. */
static bool compare(struct slice wanted, struct slice given, int weight, int *says)
{
	if (slice_is_null(wanted) || slice_equal(wanted, SLICE("*")))
		return true;
	*says += weight;
	return !slice_is_null(given) && slice_equal(wanted, given);
}

/* How specific @rule is about the subject; -1: it is about another one. */
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

	for (size_t i = 0; i < layer->rules.count; i++) {
		const struct policy_rule *rule = &layer->rules.items[i];
		int says = serves(rule) ? weigh(rule, subject) : -1;

		if (says < most)
			continue;
		most = says;
		best = rule;
	}
	return best;
}

/* The rules of an environment are for what that environment provides. */
static bool is_in_scope(const struct policy_layer *layer, const struct policy_subject *subject)
{
	return !layer->prefix || slice_is_null(subject->prefix) ||
	       slice_equal(subject->prefix, slice_of(layer->prefix));
}

/* The rule of the first layer that has one; *origin: that layer's file. */
static const struct policy_rule *find_rule(const struct policy *policy,
                                           const struct policy_subject *subject,
                                           bool (*serves)(const struct policy_rule *),
                                           const char **origin)
{
	const struct policy_rule *found = NULL;

	for (size_t i = 0; !found && i < policy->count; i++) {
		if (!is_in_scope(&policy->layers[i], subject))
			continue;
		found = find_in_layer(&policy->layers[i], subject, serves);
		*origin = found ? policy->layers[i].path : NULL;
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

/* --- for a handle --- */

static int look(struct entrydb *db, enum policy_age age, struct error *error)
{
	const struct policy_scope scope = {db->entries, db->entry_count, db->sysroot};

	return policy_look(&db->policy, &scope, age, error);
}

/* The prefix of the environment of a path entry; "": none. Null where @path is NULL. */
static struct slice prefix_of(const char *absolute)
{
	long len = absolute ? layout_environment(absolute) : 0;

	return absolute ? slice_first(slice_of(absolute), len > 0 ? (size_t)len : 0)
	                : (struct slice){0};
}

/*
 * By the rules as of the last look. @subject: with the distribution's name as METADATA has
 * it. @path: the path entry that it comes from, or NULL.
 */
static int decide(const struct entrydb *db, struct policy_subject subject, const char *path,
                  struct policy_verdict *verdict, struct error *error)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	CLEANUP(cleanup_free) char *absolute = NULL;
	bool failed = false;

	*verdict = (struct policy_verdict){.allowed = true};
	if (policy_is_empty(&db->policy))
		return 0;
	absolute = path ? layout_absolute(path) : NULL;
	if (path && !absolute && errno == ENOMEM)
		return error_nomem(error);
	if (!slice_is_null(subject.distribution))
		subject.distribution = distname_normalize_in(&arena, subject.distribution, &failed);
	if (failed)
		return error_nomem(error);
	subject.program = slice_of(db->program ? db->program : program_invocation_short_name);
	subject.prefix = prefix_of(absolute);
	*verdict = policy_decide(&db->policy, &subject);
	return 0;
}

static int decide_on(const struct entrydb *db, const struct entrydb_entry_point *entry_point,
                     struct policy_verdict *verdict, struct error *error)
{
	const struct policy_subject subject = {
	        .group = entry_point->text[ENTRYDB_FIELD_GROUP],
	        .name = entry_point->text[ENTRYDB_FIELD_NAME],
	        .distribution = entry_point->text[ENTRYDB_FIELD_DISTRIBUTION],
	};

	return decide(db, subject, entry_point->text[ENTRYDB_FIELD_PATH].ptr, verdict, error);
}

/* With the handle's lock. */
static int check(struct entrydb *db, const struct entrydb_entry_point *entry_point,
                 struct error *error)
{
	CLEANUP(cleanup_free) char *reason = NULL;
	struct policy_verdict verdict;
	int code = look(db, POLICY_AGE_NONE, error);

	if (code == 0)
		code = decide_on(db, entry_point, &verdict, error);
	if (code < 0)
		return code;
	if (db->omit & ENTRYDB_OMIT_METADATA && !policy_is_empty(&db->policy) &&
	    slice_is_null(entry_point->text[ENTRYDB_FIELD_DISTRIBUTION]))
		return error_set(error, ERROR_INVALID,
		                 "%s: there are rules, and its distribution's name was left out "
		                 "(ENTRYDB_OMIT_METADATA)",
		                 entrydb_entry_point_file(entry_point));
	if (verdict.allowed)
		return 0;
	reason = policy_reason(&verdict);
	return reason ? error_set(error, ERROR_DISABLED, "%s = %s of %s is disabled: %s",
	                          entrydb_entry_point_name(entry_point),
	                          entrydb_entry_point_value(entry_point),
	                          entrydb_entry_point_file(entry_point), reason)
	              : error_nomem(error);
}

int policy_allows(struct entrydb *db, const struct entrydb_entry_point *entry_point,
                  struct error *error)
{
	int code;

	pthread_mutex_lock(&db->lock);
	code = check(db, entry_point, error);
	pthread_mutex_unlock(&db->lock);
	return code;
}

/* --- verdicts --- */

struct entrydb_verdict {
	bool allowed;
	int priority;
	char *reason; /* NULL: no rule decided */
};

int entrydb_verdict_allowed(const entrydb_verdict *verdict)
{
	return verdict->allowed;
}

int entrydb_verdict_priority(const entrydb_verdict *verdict)
{
	return verdict->priority;
}

const char *entrydb_verdict_reason(const entrydb_verdict *verdict)
{
	return verdict->reason;
}

void entrydb_verdict_free(entrydb_verdict *verdict)
{
	if (!verdict)
		return;
	free(verdict->reason);
	free(verdict);
}

/* With the handle's lock. */
static int make_verdict(struct entrydb *db, const struct policy_subject *subject, const char *path,
                        entrydb_verdict **out, struct error *error)
{
	CLEANUP(cleanup_free) entrydb_verdict *verdict = calloc(1, sizeof(*verdict));
	struct policy_verdict decision;
	int code = verdict ? look(db, POLICY_AGE_NONE, error) : error_nomem(error);

	if (code == 0)
		code = decide(db, *subject, path, &decision, error);
	if (code < 0)
		return code;
	verdict->allowed = decision.allowed;
	verdict->priority = decision.priority;
	verdict->reason = decision.origin ? policy_reason(&decision) : NULL;
	if (decision.origin && !verdict->reason)
		return error_nomem(error);
	*out = take(verdict);
	return 0;
}

int entrydb_check_policy(entrydb *db, const char *group, const char *name, const char *distribution,
                         const char *path, entrydb_verdict **out, entrydb_error *error)
{
	const struct policy_subject subject = {
	        .group = slice_of(group),
	        .name = slice_of(name),
	        .distribution = slice_of(distribution),
	};
	struct error own = {0};
	int code;

	pthread_mutex_lock(&db->lock);
	code = make_verdict(db, &subject, path, out, &own);
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

int entrydb_has_policy(entrydb *db, int *out, entrydb_error *error)
{
	struct error own = {0};
	int code;

	pthread_mutex_lock(&db->lock);
	code = look(db, POLICY_AGE_SECOND, &own);
	if (code == 0)
		*out = !policy_is_empty(&db->policy);
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

/* --- sets without what is disabled --- */

/* 1: done; 0: there are rules now, for which the set lacks names; or an error. */
static int drop_disabled(const struct entrydb *db, entrydb_set *set, struct error *error)
{
	size_t kept = 0;

	if (policy_is_empty(&db->policy))
		return 1;
	if (set->nameless)
		return 0;
	for (size_t i = 0; i < set->count; i++) {
		struct policy_verdict verdict;

		if (decide_on(db, &set->entry_points[i], &verdict, error) < 0)
			return ERROR_NOMEM;
		if (verdict.allowed)
			set->entry_points[kept++] = set->entry_points[i];
	}
	set->count = kept;
	return 1;
}

int entrydb_select_allowed(entrydb *db, const char *group, const char *name, entrydb_set **out,
                           entrydb_error *error)
{
	struct error own = {0};
	entrydb_set *set = NULL;
	int code = 0;

	while (code == 0) {
		entrydb_set_free(take(set));
		code = entrydb_select(db, group, name, &set, error);
		if (code < 0)
			return code;
		pthread_mutex_lock(&db->lock);
		code = look(db, POLICY_AGE_SECOND, &own);
		if (code == 0)
			code = drop_disabled(db, set, &own);
		pthread_mutex_unlock(&db->lock);
	}
	if (code < 0) {
		entrydb_set_free(set);
		return error_export(code, &own, error);
	}
	*out = set;
	return 0;
}

/* --- in the order of priorities --- */

struct ranked {
	struct entrydb_entry_point entry_point;
	int priority;
	size_t index;
};

static int by_rank(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* By the rules as of the last look. */
static int rank(const struct entrydb *db, entrydb_set *set, struct error *error)
{
	CLEANUP(cleanup_free) struct ranked *ranked = calloc(set->count + 1, sizeof(*ranked));

	if (!ranked)
		return error_nomem(error);
	for (size_t i = 0; i < set->count; i++) {
		struct policy_verdict verdict;

		if (decide_on(db, &set->entry_points[i], &verdict, error) < 0)
			return ERROR_NOMEM;
		ranked[i] = (struct ranked){set->entry_points[i], verdict.priority, i};
	}
	qsort(ranked, set->count, sizeof(*ranked), by_rank);
	for (size_t i = 0; i < set->count; i++)
		set->entry_points[i] = ranked[i].entry_point;
	return 0;
}

int policy_select(struct entrydb *db, const char *group, struct entrydb_set **out,
                  struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	entrydb_set *set;
	int code = entrydb_select_allowed(db, group, NULL, &set, &own);

	if (code < 0)
		return error_import(code, &own, error);
	pthread_mutex_lock(&db->lock);
	code = policy_is_empty(&db->policy) ? 0 : rank(db, set, error);
	pthread_mutex_unlock(&db->lock);
	if (code < 0)
		entrydb_set_free(set);
	else
		*out = set;
	return code;
}

/*
 * verdict.c - may an entry point be loaded? Whoever wants to know asks here: loading,
 * the answers without what is forbidden, and hosts beforehand.
 */
#include "libquery/verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "db/base/cleanup.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/error_export.h"

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

/* --- asking --- */

typedef int looking(struct rules *rules, const struct rules_scope *scope, struct error *error);

static int look(struct entrydb *db, looking *how, struct error *error)
{
	const struct rules_scope scope = {db->entries, db->entry_count, db->sysroot};

	return how(&db->policy, &scope, error);
}

/* What is asked about, before names are normalized. */
struct subject {
	struct slice group, name, distribution;
};

static struct subject subject_of(const struct entrydb_entry_point *entry_point)
{
	return (struct subject){
	        .group = entry_point->text[ENTRYDB_FIELD_GROUP],
	        .name = entry_point->text[ENTRYDB_FIELD_NAME],
	        .distribution = entry_point->text[ENTRYDB_FIELD_DISTRIBUTION],
	};
}

/* By the rules as of the last look. */
static int decide(const struct entrydb *db, const struct subject *subject,
                  struct policy_verdict *verdict)
{
	struct policy policy = rules_policy(&db->policy);
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	bool failed = false;
	struct policy_subject asked = {
	        .group = subject->group,
	        .name = subject->name,
	        .program = slice_of(db->program ? db->program : program_invocation_short_name),
	};

	*verdict = (struct policy_verdict){.allowed = true};
	if (policy_is_empty(&policy))
		return 0;
	if (!slice_is_null(subject->distribution))
		asked.distribution = distname_normalize_in(&arena, subject->distribution, &failed);
	if (failed)
		return ERROR_NOMEM;
	*verdict = policy_decide(&policy, &asked);
	return 0;
}

/* @*reason: malloc'd, NULL where no rule decided. */
static int ask(struct entrydb *db, const struct subject *subject, struct entrydb_verdict *verdict,
               struct error *error)
{
	struct policy_verdict decision;
	int code;

	pthread_mutex_lock(&db->lock);
	code = look(db, rules_look, error);
	if (code == 0 && decide(db, subject, &decision) < 0)
		code = error_nomem(error);
	if (code == 0) {
		*verdict = (struct entrydb_verdict){
		        .allowed = decision.allowed,
		        .priority = decision.priority,
		        .reason = decision.origin ? policy_reason(&decision) : NULL,
		};
		if (decision.origin && !verdict->reason)
			code = error_nomem(error);
	}
	pthread_mutex_unlock(&db->lock);
	return code;
}

int verdict_ask(struct entrydb *db, const struct entrydb_entry_point *entry_point, int *priority,
                struct error *error)
{
	struct subject subject = subject_of(entry_point);
	struct entrydb_verdict verdict;
	int code = ask(db, &subject, &verdict, error);

	if (code < 0)
		return code;
	if (db->omit & ENTRYDB_OMIT_METADATA && slice_is_null(subject.distribution) &&
	    !handle_omits_names(db)) {
		free(verdict.reason);
		return error_set(error, ERROR_INVALID,
		                 "%s: there are rules, and its distribution's name was left out "
		                 "(ENTRYDB_OMIT_METADATA)",
		                 entrydb_entry_point_file(entry_point));
	}
	*priority = verdict.priority;
	if (!verdict.allowed)
		code = error_set(error, ERROR_DISABLED, "%s = %s of %s is disabled: %s",
		                 entrydb_entry_point_name(entry_point),
		                 entrydb_entry_point_value(entry_point),
		                 entrydb_entry_point_file(entry_point), verdict.reason);
	free(verdict.reason);
	return code;
}

int entrydb_check_policy(entrydb *db, const char *group, const char *name, const char *distribution,
                         const char *object, entrydb_verdict **out, entrydb_error *error)
{
	struct subject subject = {slice_of(group), slice_of(name), slice_of(distribution)};
	CLEANUP(cleanup_free) entrydb_verdict *verdict = calloc(1, sizeof(*verdict));
	struct error own = {0};
	int code = verdict ? ask(db, &subject, verdict, &own) : error_nomem(&own);

	(void)object; /* no rule speaks of it */
	if (code < 0)
		return error_export(code, &own, error);
	*out = take(verdict);
	return 0;
}

int entrydb_has_policy(entrydb *db, int *out, entrydb_error *error)
{
	struct error own = {0};
	struct policy policy;
	int code;

	pthread_mutex_lock(&db->lock);
	code = look(db, rules_look_at_times, &own);
	if (code == 0) {
		policy = rules_policy(&db->policy);
		*out = !policy_is_empty(&policy);
	}
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

/* --- answers without what is forbidden --- */

/* 1: done; 0: there are rules now, for which the set lacks names; or an error. */
static int drop_forbidden(struct entrydb *db, entrydb_set *set, struct error *error)
{
	struct policy policy = rules_policy(&db->policy);
	size_t kept = 0;

	if (policy_is_empty(&policy))
		return 1;
	if (set->nameless)
		return 0;
	for (size_t i = 0; i < set->count; i++) {
		struct subject subject = subject_of(&set->entry_points[i]);
		struct policy_verdict verdict;

		if (decide(db, &subject, &verdict) < 0)
			return error_nomem(error);
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
		code = look(db, rules_look_at_times, &own);
		if (code == 0)
			code = drop_forbidden(db, set, &own);
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
static int rank(struct entrydb *db, entrydb_set *set)
{
	CLEANUP(cleanup_free) struct ranked *ranked = calloc(set->count + 1, sizeof(*ranked));

	if (!ranked)
		return ERROR_NOMEM;
	for (size_t i = 0; i < set->count; i++) {
		struct subject subject = subject_of(&set->entry_points[i]);
		struct policy_verdict verdict;

		if (decide(db, &subject, &verdict) < 0)
			return ERROR_NOMEM;
		ranked[i] = (struct ranked){set->entry_points[i], verdict.priority, i};
	}
	qsort(ranked, set->count, sizeof(*ranked), by_rank);
	for (size_t i = 0; i < set->count; i++)
		set->entry_points[i] = ranked[i].entry_point;
	return 0;
}

int verdict_select(struct entrydb *db, const char *group, struct entrydb_set **out,
                   struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	struct policy policy;
	entrydb_set *set;
	int code = entrydb_select_allowed(db, group, NULL, &set, &own);

	if (code < 0) {
		error_set(error, code, "%s", entrydb_error_message(&own));
		entrydb_error_clear(&own);
		return code;
	}
	pthread_mutex_lock(&db->lock);
	policy = rules_policy(&db->policy);
	code = policy_is_empty(&policy) ? 0 : rank(db, set);
	pthread_mutex_unlock(&db->lock);
	if (code < 0) {
		entrydb_set_free(set);
		return error_nomem(error);
	}
	*out = set;
	return 0;
}

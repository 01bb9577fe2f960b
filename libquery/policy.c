/*
 * policy.c - reads the policy files and decides what may be loaded, for loading, for queries and
 * for host programs.
 */
#include "libquery/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/layout.h"
#include "libquery/names.h"

#define QUOTED_MAX 256 /* bytes of a rule's value in messages: one rule may forbid thousands */

/* --- the decision --- */

/*
 * The word of the comma-separated @list that matches the subject; null if none. A word is GROUP or
 * GROUP/NAME; both may contain slashes.
 */
static struct slice find_word(struct slice list, const struct policy_subject *subject)
{
	while (list.len > 0 && !slice_is_null(subject->group)) {
		struct slice word = unicode_strip(slice_take(&list, ',')), name;

		if (!slice_starts(word, subject->group))
			continue;
		name = slice_from(word, subject->group.len);
		if (name.len == 0 || (name.ptr[0] == '/' && !slice_is_null(subject->name) &&
		                      slice_equal(slice_from(name, 1), subject->name)))
			return word;
	}
	return (struct slice){0};
}

/* The specificity of @rule for the subject, higher for more specific; -1: it does not match. */
static int weigh(const struct policy_rule *rule, const struct policy_subject *subject)
{
	const struct {
		struct slice wanted, given;
		int weight;
	} parts[] = {
	        {rule->name, subject->name, 8},
	        {rule->distribution, subject->distribution, 4},
	        {rule->program, subject->program, 2},
	        {rule->group, subject->group, 1},
	};
	int weight = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (slice_is_null(parts[i].wanted) || slice_equal(parts[i].wanted, SLICE("*")))
			continue;
		if (slice_is_null(parts[i].given) || !slice_equal(parts[i].wanted, parts[i].given))
			return -1;
		weight += parts[i].weight;
	}
	return weight;
}

/*
 * The deciding rule, or with @ranks the one that sets the priority, of the first layer that has
 * one.
 */
static const struct policy_rule *find_rule(const struct policy *policy,
                                           const struct policy_subject *subject, bool ranks,
                                           struct policy_verdict *verdict)
{
	const struct policy_rule *best = NULL;

	verdict->origin = NULL;
	for (size_t i = 0; !best && !verdict->why && i < policy->count; i++) {
		const struct policy_layer *layer = &policy->layers[i];
		int most = 0;

		/* The rules of an environment apply to its own entry points only. */
		if (layer->prefix && !slice_is_null(subject->prefix) &&
		    !slice_equal(subject->prefix, slice_of(layer->prefix)))
			continue;
		verdict->why = layer->why.code ? &layer->why : NULL;
		for (size_t j = 0; j < layer->rules.count; j++) {
			const struct policy_rule *rule = &layer->rules.items[j];
			bool serves = ranks ? rule->has_priority : rule->action != POLICY_SILENT;
			int weight = serves ? weigh(rule, subject) : -1;

			if (weight < most)
				continue;
			most = weight;
			best = rule;
			verdict->origin = layer->path;
		}
	}
	return best;
}

struct policy_verdict policy_decide(const struct policy *policy,
                                    const struct policy_subject *subject)
{
	struct policy_verdict verdict = {.allowed = true};
	const struct policy_rule *rank = find_rule(policy, subject, true, &verdict);

	if (rank)
		verdict.priority = rank->priority;
	verdict.why = NULL;
	verdict.word = find_word(policy->disabled, subject);
	if (!slice_is_null(verdict.word))
		verdict.origin = POLICY_DISABLE_VARIABLE;
	else
		verdict.rule = find_rule(policy, subject, false, &verdict);
	if (verdict.origin)
		verdict.allowed = verdict.rule && verdict.rule->action == POLICY_ENABLE;
	return verdict;
}

char *policy_reason(const struct policy_verdict *verdict)
{
	const struct policy_rule *rule = verdict->rule;

	if (!rule)
		return text_format("%s names %.*s", verdict->origin, (int)verdict->word.len,
		                   verdict->word.ptr);
	return text_format("%s, line %zu%s: [%.*s] %.*s = %.*s%s", verdict->origin, rule->number,
	                   rule->action == POLICY_UNCLEAR ? ", which is malformed" : "",
	                   (int)rule->group.len, rule->group.ptr, (int)rule->name.len,
	                   rule->name.ptr, (int)utf8_cut(rule->value, QUOTED_MAX), rule->value.ptr,
	                   rule->value.len > QUOTED_MAX ? "..." : "");
}

/* --- the layers --- */

static void forget(struct policy_layer *layer)
{
	policy_rules_free(&layer->rules);
	error_clear(&layer->why);
	free(take(layer->text));
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

/* Takes ownership of @path and @place (may be NULL). The system's layer, if any, stays last. */
static int add_layer(struct policy *policy, char *path, char *place, const char *prefix)
{
	size_t at = policy->count;

	if (!path ||
	    !array_grow(&policy->layers, policy->count, sizeof(*policy->layers), &policy->room)) {
		free(path);
		free(place);
		return ERROR_NOMEM;
	}
	if (prefix) {
		policy->layers[at] = policy->layers[at - 1];
		at--;
	}
	policy->layers[at] = (struct policy_layer){.path = path, .place = place, .prefix = prefix};
	policy->count++;
	return 0;
}

/* Add the environment of a path entry, unless it was added, or the path entry does not exist. */
static int add_environment(struct policy *policy, struct path_entry *entry, const char *sysroot,
                           struct error *error)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(entry->spelled);
	long len = path ? layout_environment(path) : -1;
	char *place;

	if (!path && errno_is_failure(errno))
		return error_errno(error, errno, "%s", entry->spelled);
	entry->ruled = path && !entry->relative;
	if (len <= 0)
		return 0;
	path[len] = '\0';
	for (size_t i = 0; i < policy->count; i++)
		if (policy->layers[i].prefix && strcmp(policy->layers[i].prefix, path) == 0)
			return 0;
	place = text_format("%s%s", sysroot, path);
	if (place && add_layer(policy, layout_policy(sysroot, slice_of(path)), place,
	                       place + strlen(sysroot)) == 0)
		return 0;
	entry->ruled = false;
	return error_nomem(error);
}

/*
 * A relative path entry leads elsewhere when the current directory changes, and one with ".." may
 * not have existed, or not been reachable, before: environments are added at each call.
 */
static int list_layers(struct entrydb *db, struct error *error)
{
	struct policy *policy = &db->policy;
	const char *sysroot = db->sysroot ? db->sysroot : "";
	char *user = NULL;
	int code = 0;

	if (policy->count == 0) {
		code = db->is_impersonal ? 0 : layout_user_config(LAYOUT_USER_POLICY, &user);
		if (code == 0 && user)
			code = add_layer(policy, user, NULL, NULL);
		if (code == 0)
			code = add_layer(policy, layout_policy(sysroot, SLICE("")), NULL, NULL);
		if (code < 0) {
			policy_free(policy);
			return error_nomem(error);
		}
		policy->layers[0].is_users = user != NULL;
	}
	for (size_t i = 0; code == 0 && i < db->entry_count; i++)
		if (!db->entries[i].ruled)
			code = add_environment(policy, &db->entries[i], sysroot, error);
	return code;
}

/* --- reading the files --- */

/*
 * Read a layer. After a transient failure the previous rules, if any, stay; a missing file means no
 * rules. An unreadable file of an environment blocks only that environment.
 */
static int read_layer(struct policy_layer *layer, struct error *error)
{
	struct stat status;
	bool is_there = layer->place && file_status(AT_FDCWD, layer->place, &status, NULL) > 0;
	bool is_out_of_reach =
	        layer->place &&
	        (is_there ? !trust_owner(status.st_uid, status.st_uid) : errno == EACCES);
	struct policy_rules rules = {0};
	CLEANUP(cleanup_free) char *text = NULL;
	CLEANUP(error_clear) struct error own = {0};
	CLEANUP(error_clear) struct error why = {0};
	size_t len = 0;
	int code = small_file_read_trusted(layer->path, POLICY_TEXT_MAX + 1,
	                                   is_there ? status.st_uid : TRUST_NO_OTHER, &text, &len,
	                                   &own);

	if (code > 0)
		code = policy_rules_read((struct slice){text, len}, &rules, &why);
	if (why.code)
		error_set(&own, code, "cannot read the rules in %s: %s; fix or delete it",
		          layer->path, error_text(&why));
	/* Nothing is loaded from there: it cannot be entered, or the process is privileged. */
	if ((code == ERROR_PERMISSION && is_out_of_reach) ||
	    (code < 0 && layer->is_users && safe_is_of_another(layer->path)))
		code = 0;
	if (error_is_failure(code) && layer->known) {
		policy_rules_free(&rules);
		return 0;
	}
	forget(layer);
	layer->known = code == 0;
	layer->rules = rules;
	layer->text = take(text);
	if (code < 0)
		error_move(layer->place && code != ERROR_NOMEM ? &layer->why : error, &own);
	return layer->why.code ? 0 : code;
}

void policy_publish(struct entrydb *db, struct readers readers)
{
	db->is_impersonal = true;
	db->readers = readers;
}

static bool is_private(const struct entrydb *db, const struct policy_layer *layer)
{
	const struct readers *readers = &db->readers;

	return readers->mode &&
	       !safe_is_readable(layer->path, readers->beside, db->sysroot, readers->mode);
}

int policy_refresh(struct entrydb *db, int64_t age, struct error *error)
{
	struct policy *policy = &db->policy;
	int64_t now = nanoseconds_now(CLOCK_MONOTONIC_COARSE);
	int code;

	policy->disabled = db->is_impersonal ? (struct slice){0}
	                                     : slice_of(trust_environment(POLICY_DISABLE_VARIABLE));
	if (policy->last_read && now - policy->last_read < age)
		return 0;
	code = list_layers(db, error);
	for (size_t i = 0; code == 0 && i < policy->count; i++)
		if (!is_private(db, &policy->layers[i]))
			code = read_layer(&policy->layers[i], error);
	policy->last_read = code == 0 ? now : 0;
	return code;
}

/* --- for a handle --- */

/* Decide by the rules last read; fields that @entry_point lacks are unknown. */
static int decide(const struct entrydb *db, const struct entrydb_entry_point *entry_point,
                  struct policy_verdict *verdict, struct error *error)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	CLEANUP(cleanup_free) char *absolute = NULL;
	const char *path = entry_point->text[ENTRYDB_FIELD_PATH].ptr;
	struct policy_subject subject = {
	        .group = entry_point->text[ENTRYDB_FIELD_GROUP],
	        .name = entry_point->text[ENTRYDB_FIELD_NAME],
	        .distribution = entry_point->text[ENTRYDB_FIELD_DISTRIBUTION],
	        .program = slice_of(db->program ? db->program : program_invocation_short_name),
	};
	bool failed = false;
	long len;

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
	len = absolute ? layout_environment(absolute) : 0;
	if (absolute)
		subject.prefix = slice_first(slice_of(absolute), len > 0 ? (size_t)len : 0);
	*verdict = policy_decide(&db->policy, &subject);
	return verdict->why ? error_set(error, verdict->why->code, "%s", error_text(verdict->why))
	                    : 0;
}

/*
 * Decide by rules read less than @age ago; *reason: the deciding one, malloc'd, or NULL. With the
 * lock.
 */
static int decide_by(struct entrydb *db, const struct entrydb_entry_point *entry_point, int64_t age,
                     struct policy_verdict *verdict, char **reason, struct error *error)
{
	int code = policy_refresh(db, age, error);

	if (code == 0)
		code = decide(db, entry_point, verdict, error);
	if (code == 0 && verdict->origin && !(*reason = policy_reason(verdict)))
		code = error_nomem(error);
	return code;
}

int policy_allows(struct entrydb *db, const struct entrydb_entry_point *entry_point,
                  struct error *error)
{
	CLEANUP(cleanup_free) char *reason = NULL;
	struct policy_verdict verdict;
	bool is_nameless;
	int code;

	handle_lock(db);
	code = decide_by(db, entry_point, 0, &verdict, &reason, error);
	is_nameless = db->omit & ENTRYDB_OMIT_METADATA && !policy_is_empty(&db->policy) &&
	              slice_is_null(entry_point->text[ENTRYDB_FIELD_DISTRIBUTION]);
	handle_unlock(db);
	if (code == 0 && is_nameless)
		return error_set(
		        error, ERROR_INVALID,
		        "%s: there are policy rules, but the name of its distribution was omitted "
		        "(ENTRYDB_OMIT_METADATA)",
		        entrydb_entry_point_file(entry_point));
	if (code < 0 || verdict.allowed)
		return code;
	return error_set(error, ERROR_DISABLED, "%s = %s of %s is disabled: %s",
	                 entrydb_entry_point_name(entry_point),
	                 entrydb_entry_point_value(entry_point),
	                 entrydb_entry_point_file(entry_point), reason);
}

/* --- verdicts --- */

struct entrydb_verdict {
	struct policy_verdict decision; /* its pointers may be invalid */
	char *reason;                   /* NULL: no rule decided */
};

GETTER(int, entrydb_verdict_allowed, entrydb_verdict, decision.allowed)
GETTER(int, entrydb_verdict_priority, entrydb_verdict, decision.priority)
GETTER(const char *, entrydb_verdict_reason, entrydb_verdict, reason)

void entrydb_verdict_free(entrydb_verdict *verdict)
{
	if (!verdict)
		return;
	free(verdict->reason);
	free(verdict);
}

int policy_check(struct entrydb *db, const struct entrydb_entry_point *entry_point, int64_t age,
                 struct entrydb_verdict **out, struct error *error)
{
	CLEANUP(cleanup_free) entrydb_verdict *verdict = calloc(1, sizeof(*verdict));
	int code;

	if (!verdict)
		return error_nomem(error);
	handle_lock(db);
	code = decide_by(db, entry_point, age, &verdict->decision, &verdict->reason, error);
	handle_unlock(db);
	if (code == 0)
		*out = take(verdict);
	return code;
}

int entrydb_check_policy(entrydb *db, const char *group, const char *name, const char *distribution,
                         const char *path, entrydb_verdict **out, entrydb_error *error)
{
	const struct entrydb_entry_point subject = {
	        .text = {[ENTRYDB_FIELD_GROUP] = slice_of(group),
	                 [ENTRYDB_FIELD_NAME] = slice_of(name),
	                 [ENTRYDB_FIELD_DISTRIBUTION] = slice_of(distribution),
	                 [ENTRYDB_FIELD_PATH] = slice_of(path)}};

	return policy_check(db, &subject, 0, out, error_inside(error));
}

int entrydb_has_policy(entrydb *db, int *out, entrydb_error *error)
{
	int code;

	handle_lock(db);
	code = policy_refresh(db, POLICY_AGE, error_inside(error));
	if (code == 0)
		*out = !policy_is_empty(&db->policy);
	handle_unlock(db);
	return code;
}

int policy_apply(const struct entrydb *db, entrydb_set *set, bool keep_unknown, struct error *error)
{
	size_t kept = 0;
	struct slice reported = {0};

	if (policy_is_empty(&db->policy))
		return 0;
	for (size_t i = 0; i < set->count; i++) {
		const struct slice *text = set->entry_points[i].text;
		CLEANUP(error_clear) struct error own = {0};
		struct policy_verdict verdict;
		int code = decide(db, &set->entry_points[i], &verdict, &own);

		if (error_is_failure(code))
			return error_move(error, &own);
		if (code < 0 && !slice_equal(reported, text[ENTRYDB_FIELD_FILE])) {
			reported = text[ENTRYDB_FIELD_FILE];
			set_add_problem(set, reported, slice_of(error_text(&own)));
		}
		if (code < 0 ? !keep_unknown : !verdict.allowed)
			continue;
		set->entry_points[kept] = set->entry_points[i];
		set->entry_points[kept++].priority = verdict.priority;
	}
	set->count = kept;
	return 0;
}

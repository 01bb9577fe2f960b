/*
 * policy_layers.c - which policy files count for a handle, and what they say by now.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "libquery/layout.h"
#include "libquery/policy.h"

#define LOOK_INTERVAL NANOSECONDS /* for POLICY_AGE_SECOND */

/* --- which files --- */

static void forget(struct policy_layer *layer)
{
	policy_rules_free(&layer->rules);
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

/* @path and @place, which may be NULL, become the policy's. */
static int add_layer(struct policy *policy, char *path, char *place, const char *prefix)
{
	if (!path ||
	    !array_grow(&policy->layers, policy->count, sizeof(*policy->layers), &policy->room)) {
		free(path);
		free(place);
		return ERROR_NOMEM;
	}
	policy->layers[policy->count++] =
	        (struct policy_layer){.path = path, .place = place, .prefix = prefix};
	return 0;
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

/* Once: the path of a handle stays. */
static int list_layers(struct entrydb *db)
{
	struct policy *policy = &db->policy;
	const char *sysroot = db->sysroot ? db->sysroot : "";
	bool is_privileged = trust_is_privileged();
	char *user = NULL;
	int code = is_privileged || db->sysroot ? 0 : layout_user_policy(&user);

	if (code == 0 && user)
		code = add_layer(policy, user, NULL, NULL);
	for (size_t i = 0; code == 0 && !is_privileged && i < db->entry_count; i++)
		code = add_environment(policy, db->entries[i].spelled, sysroot);
	if (code == 0)
		code = add_layer(policy, layout_policy(sysroot, SLICE("")), NULL, NULL);
	if (code < 0)
		policy_free(policy);
	return code;
}

/* --- reading them --- */

/* Into @layer, which is empty. That there is no file is a fact. */
static int read_layer(struct policy_layer *layer, struct error *error)
{
	struct stat status;
	bool is_there = layer->place && stat(layer->place, &status) == 0;
	bool is_out_of_reach = layer->place && !is_there && errno == EACCES;
	struct error own = {0};
	size_t len = 0;
	int code = small_file_read_trusted(layer->path, POLICY_TEXT_MAX + 1,
	                                   is_there ? status.st_uid : TRUST_NO_OTHER, &layer->text,
	                                   &len, error);

	/* Nothing can be loaded from an environment that cannot even be entered. */
	if (code == 0 || (code == ERROR_PERMISSION && is_out_of_reach))
		return 0;
	if (code > 0)
		code = policy_rules_read((struct slice){layer->text, len}, &layer->rules, &own);
	if (error_is_failure(own.code))
		return error_move(error, &own);
	if (own.code)
		error_set(error, code, "cannot read the rules in %s: %s; fix or delete it",
		          layer->path, error_text(&own));
	error_clear(&own);
	return code;
}

/* A failure leaves what was known, if anything was. */
static int look_at(struct policy_layer *layer, struct error *error)
{
	struct policy_layer fresh = {
	        .path = layer->path, .place = layer->place, .prefix = layer->prefix};
	struct error own = {0};
	int code = read_layer(&fresh, &own);

	if (error_is_failure(code) && layer->known) {
		forget(&fresh);
		error_clear(&own);
		return 0;
	}
	fresh.known = code == 0;
	forget(layer);
	*layer = fresh;
	if (code < 0)
		return error_move(error, &own);
	error_clear(&own); /* of what is out of reach */
	return 0;
}

int policy_look(struct entrydb *db, enum policy_age age, struct error *error)
{
	struct policy *policy = &db->policy;
	int64_t now = nanoseconds_now(CLOCK_MONOTONIC_COARSE);
	int code = 0;

	policy->disabled = slice_of(trust_environment(POLICY_DISABLE_VARIABLE));
	if (age == POLICY_AGE_SECOND && policy->looked && now - policy->looked < LOOK_INTERVAL)
		return 0;
	if (policy->count == 0 && list_layers(db) < 0)
		return error_nomem(error);
	for (size_t i = 0; code == 0 && i < policy->count; i++)
		code = look_at(&policy->layers[i], error);
	policy->looked = code == 0 ? now : 0;
	return code;
}

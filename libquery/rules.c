/*
 * rules.c - see rules.h.
 */
#include "libquery/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "libquery/layout.h"
#include "libquery/policy_text.h"
#include "libquery/sites.h"

#define LOOK_INTERVAL  NANOSECONDS       /* between looks that nobody waits for */
#define SETTLED_AFTER  (2 * NANOSECONDS) /* a younger file may change and keep its times */
#define SYSTEM_PREFIX  SLICE("")
#define NOT_LOOKED_YET INT64_MIN

struct rules_file {
	char *path;
	char *prefix;     /* of an environment: who owns that may have written it; or NULL */
	struct stat seen; /* as it was read; st_nlink 0: it is not there */
	bool known;       /* what is below is so, or was at the last look that did not fail */
	bool settled;
	char *text;
	struct policy_rules rules;
	struct error why; /* it cannot be obeyed */
};

static void forget(struct rules_file *file)
{
	policy_rules_free(&file->rules);
	free(take(file->text));
	error_clear(&file->why);
	file->seen = (struct stat){0};
	file->known = file->settled = false;
}

void rules_free(struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		forget(&rules->files[i]);
		free(rules->files[i].path);
		free(rules->files[i].prefix);
	}
	free(rules->files);
	free(rules->layers);
	*rules = (struct rules){0};
}

/* --- which files --- */

/* @path and @prefix are taken over. */
static int add_file(struct rules *rules, char *path, char *prefix)
{
	struct rules_file file = {.path = path, .prefix = prefix};

	if (!path || !array_grow(&rules->files, rules->count, sizeof(file), &rules->room)) {
		free(path);
		free(prefix);
		return ERROR_NOMEM;
	}
	rules->files[rules->count++] = file;
	return 0;
}

static int add_user(struct rules *rules)
{
	char *path;
	int code = layout_user_policy(&path);

	return code == 0 && path ? add_file(rules, path, NULL) : code;
}

/* The prefixes of the path entries, without the system's. */
static int find_prefixes(const struct rules_scope *scope, struct sites *prefixes)
{
	for (size_t i = 0; i < scope->entry_count; i++) {
		CLEANUP(cleanup_free) char *path = layout_absolute(scope->entries[i].spelled);
		long len = path ? layout_environment(path) : -1;

		if (len <= 0)
			continue;
		path[len] = '\0';
		if (!sites_add(prefixes, path))
			return ERROR_NOMEM;
	}
	return 0;
}

static int add_environments(struct rules *rules, const struct rules_scope *scope)
{
	CLEANUP(sites_free) struct sites prefixes = {0};
	int code = find_prefixes(scope, &prefixes);

	for (size_t i = 0; code == 0 && i < prefixes.count; i++) {
		char *prefix = text_format("%s%s", scope->sysroot ? scope->sysroot : "",
		                           prefixes.paths[i]);

		if (!prefix)
			return ERROR_NOMEM;
		code = add_file(rules, layout_policy(scope->sysroot, slice_of(prefixes.paths[i])),
		                prefix);
	}
	return code;
}

static int list_files(struct rules *rules, const struct rules_scope *scope)
{
	bool is_privileged = getauxval(AT_SECURE) != 0;
	int code = 0;

	if (!is_privileged && !scope->sysroot)
		code = add_user(rules);
	if (code == 0 && !is_privileged)
		code = add_environments(rules, scope);
	if (code == 0)
		code = add_file(rules, layout_policy(scope->sysroot, SYSTEM_PREFIX), NULL);
	if (code == 0)
		rules->layers = calloc(rules->count, sizeof(*rules->layers));
	if (code < 0 || !rules->layers) {
		rules_free(rules);
		return ERROR_NOMEM;
	}
	rules->listed = true;
	return 0;
}

/* --- reading them --- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_uid == b->st_uid && a->st_mode == b->st_mode && a->st_gid == b->st_gid &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_settled(const struct stat *status)
{
	return nanoseconds_now(CLOCK_REALTIME) - nanoseconds_of(status->st_ctim) > SETTLED_AFTER;
}

/* Who may have written it besides root and the effective user. */
static uid_t owner_of(const struct rules_file *file)
{
	struct stat status;

	return file->prefix && stat(file->prefix, &status) == 0 ? status.st_uid : TRUST_NO_OTHER;
}

static int check_trust(const struct rules_file *file, const struct stat *status,
                       struct error *error)
{
	if (!S_ISREG(status->st_mode))
		return error_set(error, ERROR_FORMAT, "%s is not a file", file->path);
	switch (trust_of(status, owner_of(file))) {
	case TRUST_FOREIGN:
		return error_set(error, ERROR_PERMISSION,
		                 "%s is not obeyed: it belongs to user %u; remove it, or make it "
		                 "yours or root's",
		                 file->path, status->st_uid);
	case TRUST_WRITABLE:
		return error_set(error, ERROR_PERMISSION,
		                 "%s is not obeyed: others may write it; if its rules are yours, "
		                 "run: chmod go-w '%s'",
		                 file->path, file->path);
	case TRUST_BELIEVED:
		break;
	}
	return 0;
}

static int read_text(struct rules_file *file, int fd, struct slice *text, struct error *error)
{
	ssize_t got;

	file->text = malloc(POLICY_TEXT_MAX + 1);
	if (!file->text)
		return error_nomem(error);
	got = file_read(fd, file->text, POLICY_TEXT_MAX + 1);
	if (got < 0)
		return error_errno(error, errno, "cannot read %s", file->path);
	*text = (struct slice){file->text, (size_t)got};
	return 0;
}

static int read_rules(struct rules_file *file, int fd, struct error *error)
{
	struct error own = {0};
	struct slice text;
	int code = check_trust(file, &file->seen, error);

	if (code == 0)
		code = read_text(file, fd, &text, error);
	if (code < 0)
		return code;
	code = policy_text_read(text, &file->rules, &own);
	if (code < 0 && !error_is_failure(code)) {
		error_set(error, code, "%s is not obeyed: %s; mend or remove it", file->path,
		          error_text(&own));
		error_clear(&own);
	} else if (code < 0) {
		error_move(error, &own);
	}
	return code;
}

/* Where not even the environment can be looked at, nothing of it can be loaded, either. */
static bool is_out_of_reach(const struct rules_file *file)
{
	struct stat status;

	return file->prefix && stat(file->prefix, &status) != 0 && errno == EACCES;
}

/* Into @file, which is empty. That it is not there is a fact. */
static int open_and_read(struct rules_file *file, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, file->path, 0);
	int why = errno;

	if (fd < 0 && (error_code(why) == ERROR_NOTFOUND || is_out_of_reach(file)))
		return 0;
	if (fd < 0 || fstat(fd, &file->seen) != 0)
		return error_errno(error, fd < 0 ? why : errno, "cannot read %s", file->path);
	file->settled = is_settled(&file->seen);
	return read_rules(file, fd, error);
}

static bool is_unchanged(const struct rules_file *file)
{
	struct stat now;

	if (!file->known || file->why.code)
		return false;
	if (stat(file->path, &now) != 0)
		return errno_is_failure(errno) || file->seen.st_nlink == 0;
	return file->settled && is_same(&now, &file->seen);
}

/* A failure leaves what was known, if anything was. */
static int look_at_file(struct rules_file *file, struct error *error)
{
	struct rules_file fresh = {.path = file->path, .prefix = file->prefix};
	int code;

	if (is_unchanged(file))
		return 0;
	code = open_and_read(&fresh, &fresh.why);
	if (error_is_failure(code) && file->known && !file->why.code) {
		forget(&fresh);
		return 0;
	}
	fresh.known = true;
	forget(file);
	*file = fresh;
	return code < 0 ? error_set(error, code, "%s", error_text(&file->why)) : 0;
}

int rules_look(struct rules *rules, const struct rules_scope *scope, struct error *error)
{
	int code = 0;

	if (!rules->listed && list_files(rules, scope) < 0)
		return error_nomem(error);
	for (size_t i = 0; code == 0 && i < rules->count; i++) {
		struct rules_file *file = &rules->files[i];

		code = look_at_file(file, error);
		rules->layers[i] =
		        (struct policy_layer){file->path, file->rules.items, file->rules.count};
	}
	rules->looked = code == 0 ? nanoseconds_now(CLOCK_MONOTONIC_COARSE) : NOT_LOOKED_YET;
	return code;
}

int rules_look_at_times(struct rules *rules, const struct rules_scope *scope, struct error *error)
{
	if (rules->listed && rules->looked != NOT_LOOKED_YET &&
	    nanoseconds_now(CLOCK_MONOTONIC_COARSE) - rules->looked < LOOK_INTERVAL)
		return 0;
	return rules_look(rules, scope, error);
}

struct policy rules_policy(const struct rules *rules)
{
	return (struct policy){
	        .disabled = slice_of(secure_getenv(POLICY_DISABLE_VARIABLE)),
	        .layers = rules->layers,
	        .layer_count = rules->count,
	};
}

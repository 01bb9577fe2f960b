/*
 * load.c - the one door through which an entry point comes into the process: what it
 * leads to is found, policy is asked, and native/loader.h opens it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/sha256.h"
#include "libquery/error_export.h"
#include "libquery/guard.h"
#include "libquery/handle.h"
#include "libquery/layout.h"
#include "libquery/result.h"
#include "libquery/verdict.h"

/* --- loading --- */

/* Why there is nothing to be opened; 0 where there is. */
static int why_not_loadable(const entrydb_entry_point *entry_point, const entrydb_target *target)
{
	if (!entrydb_entry_point_module(entry_point))
		return ERROR_UNRESOLVED; /* its value cannot be parsed */
	switch (entrydb_target_state(target)) {
	case ENTRYDB_STATE_OK:
	case ENTRYDB_STATE_MISSING_DEPENDENCY: /* it may be there by now, or be loaded already; */
	case ENTRYDB_STATE_NEEDS_HOST:         /* and this may be the host */
		return entrydb_target_object(target) && entrydb_target_symbol(target)
		               ? 0
		               : ERROR_PYTHON;
	case ENTRYDB_STATE_MISSING:
		return ERROR_NOTFOUND;
	case ENTRYDB_STATE_NO_SYMBOL:
		return ERROR_NO_SYMBOL;
	case ENTRYDB_STATE_AMBIGUOUS:
	case ENTRYDB_STATE_UNRESOLVED_EDITABLE:
	case ENTRYDB_STATE_WRONG_ARCHITECTURE:
	case ENTRYDB_STATE_NOT_EXAMINED:
		break;
	}
	return ERROR_UNRESOLVED;
}

static int be_loadable(const entrydb_entry_point *entry_point, const entrydb_target *target,
                       struct error *error)
{
	int code = why_not_loadable(entry_point, target);

	if (code == 0)
		return 0;
	return error_set(error, code,
	                 "%s = %s of %s: %s (%s): no shared object that a program without Python "
	                 "can open",
	                 entrydb_entry_point_name(entry_point),
	                 entrydb_entry_point_value(entry_point),
	                 entrydb_entry_point_file(entry_point),
	                 entrydb_kind_name(entrydb_target_kind(target)),
	                 entrydb_state_name(entrydb_target_state(target)));
}

/* --- is it what it should be? --- */

/* What loading is to do, and with whom. */
struct loading {
	const entrydb_load_options *options;
	const entrydb_entry_point *entry_point;
	const entrydb_target *target;
	struct quarantine_watch watch;
};

static int is_another(const struct load_request *request, const char *what, const char *is,
                      const char *should, struct error *error)
{
	if (should && strcmp(is, should) == 0)
		return 0;
	return error_set(error, ERROR_CHANGED,
	                 "%s (of %s) is not what was installed: its %s is %s, not %s; install it "
	                 "again, or run 'entrydb update' if you have built it",
	                 request->object, request->distribution, what, is,
	                 should ? should : "known");
}

static int check_build(const struct loading *loading, const struct load_request *request,
                       struct error *error)
{
	static const char prefix[] = "build-id-";
	CLEANUP(cleanup_free) char *id = NULL;
	int code = guard_identify(request->object, &id, error);

	if (code < 0)
		return code;
	return is_another(request, "build-id",
	                  strncmp(id, prefix, sizeof(prefix) - 1) == 0 ? id + sizeof(prefix) - 1
	                                                               : "none",
	                  entrydb_target_text(loading->target, ENTRYDB_TARGET_BUILD_ID), error);
}

static int check_hash(const struct loading *loading, const struct load_request *request,
                      struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, request->object, 0);
	char text[sizeof("sha256=") + SHA256_BASE64_SIZE] = "sha256=";
	uint8_t digest[SHA256_SIZE];

	if (fd < 0 || sha256_of_file(fd, NULL, digest) != 0)
		return error_errno(error, errno, "cannot read %s", request->object);
	sha256_base64(digest, text + strlen(text));
	return is_another(request, "hash", text,
	                  entrydb_target_text(loading->target, ENTRYDB_TARGET_SHA256), error);
}

static int check_identity(const struct loading *loading, const struct load_request *request,
                          struct error *error)
{
	unsigned flags = loading->options->flags;
	int code = flags & ENTRYDB_LOAD_SAME ? check_build(loading, request, error) : 0;

	if (code == 0 && (flags & ENTRYDB_LOAD_HASH))
		code = check_hash(loading, request, error);
	return code;
}

/* Before it is opened for the first time. */
static int before(void *payload, const struct load_request *request, struct error *error)
{
	struct loading *loading = payload;
	int code = guard_check(request->object, request->distribution, error);

	if (code == 0)
		code = check_identity(loading, request, error);
	if (code == 0 && (loading->options->flags & ENTRYDB_LOAD_GUARDED))
		code = guard_begin(request->object, &loading->watch, error);
	return code;
}

static void after(void *payload)
{
	struct loading *loading = payload;

	quarantine_watch_end(&loading->watch);
}

static int ask_host(const struct loading *loading, const struct load_request *request, void *symbol,
                    struct error *error)
{
	const entrydb_load_options *options = loading->options;
	const char *reason = options->accept ? options->accept(symbol, options->payload) : NULL;

	if (!reason)
		return 0;
	return error_set(error, ERROR_REFUSED, "%s (of %s) is not accepted: %s", request->object,
	                 request->distribution, reason);
}

/* --- the door --- */

/* The handle's lock is not held while constructors run: they may use the handle. */
static int load(entrydb *db, struct loading *loading, void **symbol, struct error *error)
{
	const entrydb_entry_point *entry_point = loading->entry_point;
	const char *distribution = entrydb_entry_point_distribution(entry_point);
	CLEANUP(cleanup_free) char *path = NULL;
	struct load_request request = {
	        .symbol = entrydb_target_symbol(loading->target),
	        .distribution = distribution ? distribution : entrydb_entry_point_file(entry_point),
	        .lazy = loading->options->flags & ENTRYDB_LOAD_LAZY,
	        .before = before,
	        .after = after,
	        .payload = loading,
	};
	void *found;
	int priority, code = verdict_ask(db, entry_point, &priority, error);

	if (code == 0)
		code = be_loadable(entry_point, loading->target, error);
	if (code < 0)
		return code;
	path = layout_absolute(entrydb_target_object(loading->target));
	if (!path)
		return error_errno(error, errno, "%s", entrydb_target_object(loading->target));
	request.object = path;
	code = loader_symbol(db->loader, &request, &found, error);
	if (code == 0)
		code = ask_host(loading, &request, found, error);
	if (code == 0)
		*symbol = found;
	return code;
}

int entrydb_load_with(entrydb *db, const entrydb_entry_point *entry_point,
                      const entrydb_load_options *options, void **symbol, entrydb_error *error)
{
	static const entrydb_load_options none = ENTRYDB_LOAD_OPTIONS_INIT;
	struct loading loading = {options ? options : &none, entry_point, NULL,
	                          QUARANTINE_WATCH_INIT};
	struct error own = {0};
	entrydb_target *target = NULL;
	int code;

	if (loading.options->size != sizeof(none)) {
		error_set(&own, ERROR_INVALID,
		          "the options are not those of this library; begin with "
		          "ENTRYDB_LOAD_OPTIONS_INIT");
		return error_export(ERROR_INVALID, &own, error);
	}
	code = entrydb_resolve(db, entry_point, &target, error);
	if (code < 0)
		return code;
	loading.target = target;
	code = load(db, &loading, symbol, &own);
	entrydb_target_free(target);
	return code < 0 ? error_export(code, &own, error) : 0;
}

int entrydb_load(entrydb *db, const entrydb_entry_point *entry_point, void **symbol,
                 entrydb_error *error)
{
	return entrydb_load_with(db, entry_point, NULL, symbol, error);
}

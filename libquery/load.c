/*
 * load.c - loads an entry point: resolves it, checks policy, ownership, build and quarantine, then
 * opens it.
 */
#include "libquery/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "libquery/disk/elf/elf_file.h"
#include "libquery/layout.h"
#include "libquery/names.h"
#include "libquery/native/quarantine.h"
#include "libquery/policy.h"

/* The state of one load. */
struct load {
	entrydb *db;
	const entrydb_entry_point *entry_point;
	entrydb_target *target;
	struct loadable object; /* its path is malloc'd */
	char *id;               /* of the object; NULL until it is needed */
	char *quarantine;       /* the directory; NULL without a home directory */
};

static void load_free(struct load *load)
{
	entrydb_target_free(load->target);
	free((char *)load->object.path);
	free(load->id);
	free(load->quarantine);
}

/* --- the target --- */

/* An error code if there is no shared object to load; else 0. */
static int why_not_loadable(const struct load *load)
{
	enum entrydb_state state = entrydb_target_state(load->target);

	if (!entrydb_entry_point_module(load->entry_point))
		return ERROR_UNRESOLVED; /* its value cannot be parsed */
	if (state == ENTRYDB_STATE_MISSING)
		return ERROR_NOTFOUND;
	if (state == ENTRYDB_STATE_NO_SYMBOL)
		return ERROR_NO_SYMBOL;
	/*
	 * Dependencies may have been installed or loaded since, or were not examined; and this
	 * process may be the host.
	 */
	if (state != ENTRYDB_STATE_OK && state != ENTRYDB_STATE_MISSING_DEPENDENCY &&
	    state != ENTRYDB_STATE_NEEDS_HOST &&
	    (state != ENTRYDB_STATE_NOT_EXAMINED || !entrydb_target_symbol(load->target)))
		return ERROR_UNRESOLVED;
	return entrydb_target_object(load->target) && entrydb_target_symbol(load->target)
	               ? 0
	               : ERROR_PYTHON;
}

/* Set the path of the object. */
static int find_object(struct load *load, struct error *error)
{
	const entrydb_entry_point *e = load->entry_point;
	const char *distribution = entrydb_entry_point_distribution(e);
	int code = why_not_loadable(load);

	if (code < 0)
		return error_set(error, code,
		                 "%s = %s of %s: %s (%s): no shared object that a program without "
		                 "Python can open",
		                 entrydb_entry_point_name(e), entrydb_entry_point_value(e),
		                 entrydb_entry_point_file(e),
		                 entrydb_kind_name(entrydb_target_kind(load->target)),
		                 entrydb_state_name(entrydb_target_state(load->target)));
	load->object.distribution = distribution ? distribution : entrydb_entry_point_file(e);
	load->object.path = layout_absolute(entrydb_target_object(load->target));
	return load->object.path
	               ? 0
	               : error_errno(error, errno, "%s", entrydb_target_object(load->target));
}

/* --- the build --- */

#define BUILD_PREFIX "build-id-"

int object_id(const char *object, char **id, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, object, 0);
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	char text[SHA256_HEX_SIZE + 1];
	uint8_t digest[SHA256_SIZE];
	const char *build_id;
	struct error own = {0};
	struct stat status;
	int code;

	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read %s", object);
	elf_file_open(fd, &file, &own);
	code = error_move_failure(error, &own);
	if (code < 0)
		return code;
	build_id = file ? elf_file_header(file)->build_id : "";
	if (!*build_id &&
	    (lseek(fd, 0, SEEK_SET) != 0 || sha256_of_file(fd, status.st_size, NULL, digest) != 0))
		return error_errno(error, errno, "cannot read %s", object);
	if (!*build_id)
		sha256_hex(digest, text);
	*id = *build_id ? text_format(BUILD_PREFIX "%s", build_id) : text_format("sha256-%s", text);
	return *id ? 0 : error_nomem(error);
}

/* --- checks --- */

static int identify(struct load *load, struct error *error)
{
	return load->id ? 0 : object_id(load->object.path, &load->id, error);
}

/* Until something crashes there is no directory, and the object need not be read. */
static int check_quarantine(struct load *load, struct error *error)
{
	CLEANUP(cleanup_free) char *reason = NULL;
	struct stat status;
	int code;

	if (layout_user_state(LAYOUT_QUARANTINE, &load->quarantine) < 0)
		return error_nomem(error);
	code = load->quarantine ? file_status(AT_FDCWD, load->quarantine, &status, error) : 0;
	if (code <= 0 || (code = identify(load, error)) < 0)
		return code;
	code = quarantine_find(load->quarantine, load->id, &reason, error);
	if (code <= 0)
		return code;
	return error_set(
	        error, ERROR_SET_ASIDE,
	        "%s (of %s) is in quarantine: %s; to load it again, run: entrydb quarantine "
	        "--clear %s",
	        load->object.path, load->object.distribution, reason, load->id);
}

/* All checks before dlopen(). */
static int prepare(struct load *load, struct error *error)
{
	int code = target_find(load->db, load->entry_point, &load->target, error);

	if (code == 0)
		code = policy_allows(load->db, load->entry_point, error);
	if (code == 0)
		code = find_object(load, error);
	if (code == 0)
		code = loader_check(&load->object, error);
	if (code == 0)
		code = needed_check(&load->object, error);
	return code == 0 ? check_quarantine(load, error) : code;
}

static int check_same(const struct load *load, const char *what, const char *is,
                      enum entrydb_target_field field, struct error *error)
{
	const char *should = entrydb_target_text(load->target, field);

	if (should && strcmp(is, should) == 0)
		return 0;
	return error_set(
	        error, ERROR_CHANGED,
	        "%s (of %s) has changed since it was installed: its %s is %s, not %s; install it "
	        "again, or run 'entrydb update' if you rebuilt it",
	        load->object.path, load->object.distribution, what, is, should ? should : "known");
}

static int check_build(struct load *load, struct error *error)
{
	const size_t prefix = sizeof(BUILD_PREFIX) - 1;
	int code = identify(load, error);
	bool has_build = code == 0 && strncmp(load->id, BUILD_PREFIX, prefix) == 0;

	return code == 0 ? check_same(load, "build-id", has_build ? load->id + prefix : "none",
	                              ENTRYDB_TARGET_BUILD_ID, error)
	                 : code;
}

static int check_hash(const struct load *load, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, load->object.path, 0);
	char text[sizeof("sha256=") + SHA256_BASE64_SIZE] = "sha256=";
	uint8_t digest[SHA256_SIZE];
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0 ||
	    sha256_of_file(fd, status.st_size, NULL, digest) != 0)
		return error_errno(error, errno, "cannot read %s", load->object.path);
	sha256_base64(digest, text + strlen(text));
	return check_same(load, "hash", text, ENTRYDB_TARGET_SHA256, error);
}

/* --- opening --- */

/*
 * If the process ends while opening the object, the watch file remains and quarantines the object.
 */
static int open_guarded(struct load *load, unsigned flags, void **symbol, struct error *error)
{
	struct quarantine_watch watch = QUARANTINE_WATCH_INIT;
	bool is_guarded = flags & ENTRYDB_LOAD_GUARDED && load->quarantine;
	int code = is_guarded ? identify(load, error) : 0;

	if (code == 0 && is_guarded)
		code = quarantine_watch_begin(load->quarantine, load->id, load->object.path, &watch,
		                              error);
	if (code == 0)
		code = loader_open(&load->object, flags & ENTRYDB_LOAD_LAZY,
		                   entrydb_target_symbol(load->target), symbol, error);
	quarantine_watch_end(&watch);
	return code;
}

/* The handle's lock is not held while constructors run: they may use the handle. */
int entrydb_load_with(entrydb *db, const entrydb_entry_point *entry_point,
                      const entrydb_load_options *options, void **symbol, entrydb_error *error)
{
	static const entrydb_load_options none = ENTRYDB_LOAD_OPTIONS_INIT;
	CLEANUP(load_free)
	struct load load = {.db = db, .entry_point = entry_point, .object.sysroot = db->sysroot};
	struct error *own = error_inside(error);
	const char *refusal = NULL;
	void *found;
	int code;

	if (!options)
		options = &none;
	if (options->size != sizeof(none))
		return error_options(own, "ENTRYDB_LOAD_OPTIONS_INIT");
	/* The dynamic linker follows links, and finds libraries, outside of a sysroot. */
	if (db->sysroot)
		return error_set(own, ERROR_INVALID, "nothing is loaded from below %s",
		                 db->sysroot);
	code = prepare(&load, own);
	if (code == 0 && options->flags & ENTRYDB_LOAD_SAME)
		code = check_build(&load, own);
	if (code == 0 && options->flags & ENTRYDB_LOAD_HASH)
		code = check_hash(&load, own);
	if (code == 0)
		code = open_guarded(&load, options->flags, &found, own);
	if (code == 0 && options->accept)
		refusal = options->accept(found, options->payload);
	if (refusal)
		code = error_set(own, ERROR_REFUSED, "%s (of %s) is not accepted: %s",
		                 load.object.path, load.object.distribution, refusal);
	if (code == 0)
		*symbol = found;
	return code;
}

int entrydb_load(entrydb *db, const entrydb_entry_point *entry_point, void **symbol,
                 entrydb_error *error)
{
	return entrydb_load_with(db, entry_point, NULL, symbol, error);
}

int load_check(entrydb *db, const entrydb_entry_point *entry_point, bool lasting, char **object,
               struct error *error)
{
	CLEANUP(load_free)
	struct load load = {
	        .db = db,
	        .entry_point = entry_point,
	        .object = {.sysroot = db->sysroot, .listed = true, .lasting = lasting},
	};
	int code = prepare(&load, error);

	if (code == 0)
		*object = (char *)take(load.object.path);
	return code;
}

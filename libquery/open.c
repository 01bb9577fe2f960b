/*
 * open.c - opens and closes handles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/trust.h"
#include "libquery/layout.h"
#include "libquery/names.h"
#include "libquery/select.h"
#include "libquery/sites.h"

const char *entrydb_version(void)
{
	return ENTRYDB_VERSION;
}

static void cleanup_handle(struct entrydb **db)
{
	entrydb_close(*db);
}

/* --- options --- */

/*
 * Read the caller's options. A newer program may have a larger struct, but the additional members
 * must be zero.
 */
static bool read_options(const entrydb_options *given, entrydb_options *out)
{
	*out = (entrydb_options)ENTRYDB_OPTIONS_INIT;
	if (!given)
		return true;
	if (given->size < sizeof(*out)) /* there is no older version yet */
		return false;
	for (size_t i = sizeof(*out); i < given->size; i++)
		if (((const char *)given)[i])
			return false;
	*out = *given;
	return (int)out->rules >= 0 && out->rules <= ENTRYDB_IM_10_1 && (int)out->fresh >= 0 &&
	       out->fresh <= ENTRYDB_FRESH_EXACT && out->omit <= ENTRYDB_OMIT_METADATA;
}

/* Copy a path, made absolute; NULL stays NULL. */
static int copy_path(const char *path, char **out, struct error *error)
{
	if (path && !(*out = layout_absolute(path)))
		return error_errno(error, errno, "%s", path);
	return 0;
}

/* In a privileged process, the name of its executable: the user controls argv and sys.argv. */
static int copy_program(struct entrydb *db, const char *given, struct error *error)
{
	CLEANUP(cleanup_free)
	char *path = trust_is_privileged() ? realpath("/proc/self/exe", NULL) : NULL;

	if (path)
		given = strrchr(path, '/') + 1;
	return !given || (db->program = strdup(given)) ? 0 : error_nomem(error);
}

/* @file: the database, overriding the options, unless NULL. */
static int copy_options(struct entrydb *db, const entrydb_options *given, const char *file,
                        struct error *error)
{
	const char *fresh = trust_environment("ENTRYDB_FRESH");
	entrydb_options options;
	int code;

	if (!read_options(given, &options))
		return error_options(error, "ENTRYDB_OPTIONS_INIT");
	db->rules = options.rules == ENTRYDB_RULES_DEFAULT ? ENTRYDB_PYTHON_3_12 : options.rules;
	db->fresh = options.fresh;
	/* An invalid value of the variable is ignored. */
	if (db->fresh == ENTRYDB_FRESH_DEFAULT &&
	    (!fresh || entrydb_fresh_parse(fresh, &db->fresh) < 0))
		db->fresh = ENTRYDB_FRESH_ROOTS;
	db->omit = options.omit;
	code = copy_path(file ? file : options.database, &db->database, error);
	if (code == 0)
		code = copy_path(options.sysroot, &db->sysroot, error);
	db->is_impersonal = db->sysroot != NULL;
	if (db->sysroot && strcmp(db->sysroot, "/") == 0)
		free(take(db->sysroot));
	return code == 0 ? copy_program(db, options.program, error) : code;
}

/* --- opening --- */

static int add_entry(struct entrydb *db, const char *spelled, struct error *error)
{
	int code;

	if (!array_grow(&db->entries, db->entry_count, sizeof(*db->entries), &db->entry_room))
		return error_nomem(error);
	code = entry_init(&db->entries[db->entry_count], spelled, db->sysroot, error);
	if (code == 0)
		db->entry_count++;
	return code;
}

/* The given database must be valid, or, with @may_be_absent, missing. */
static int require_source(struct entrydb *db, bool may_be_absent, struct error *error)
{
	size_t index = sources_find(&db->sources, db->database, (uid_t)-1);
	const struct error *why;
	int code;

	if (index == SOURCE_NONE)
		return error_nomem(error);
	why = &db->sources.items[index].why;
	if (db->sources.items[index].reader || (may_be_absent && why->code == ERROR_NOTFOUND))
		return 0;
	code = why->code == ERROR_INVALID ? ERROR_FORMAT : why->code; /* another program's file */
	return error_set(error, code, "%s", error_text(why));
}

/* Create a handle without path entries. */
static int create(const entrydb_options *options, const char *file, struct entrydb **out,
                  struct error *error)
{
	CLEANUP(cleanup_handle) struct entrydb *db = calloc(1, sizeof(*db));
	int code;

	if (!db)
		return error_nomem(error);
	pthread_mutex_init(&db->lock, NULL);
	code = copy_options(db, options, file, error);
	if (code == 0 && db->database) {
		handle_lock(db);
		code = require_source(db, !file, error);
		handle_unlock(db);
	}
	if (code == 0)
		*out = take(db);
	return code;
}

static int add_default_path(struct entrydb *db, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	int code;

	handle_lock(db);
	code = sites_default(&sites, NULL, db->sysroot, error);
	handle_unlock(db);
	for (size_t i = 0; code == 0 && i < sites.count; i++)
		code = add_entry(db, sites.paths[i], error);
	return code;
}

int entrydb_open(const char *const *path, size_t count, const entrydb_options *options,
                 entrydb **out, entrydb_error *error)
{
	CLEANUP(cleanup_handle) struct entrydb *db = NULL;
	int code = create(options, NULL, &db, error_inside(error));

	if (code == 0 && !path)
		code = add_default_path(db, error_inside(error));
	for (size_t i = 0; code == 0 && path && i < count; i++)
		code = add_entry(db, path[i], error_inside(error));
	if (code == 0)
		*out = take(db);
	return code;
}

/* Add a path entry for a row of the table root. */
static int add_row(void *payload, const struct root_record *row)
{
	struct entrydb *db = payload;
	CLEANUP(cleanup_free) char *base = locate_base(db);
	CLEANUP(cleanup_free) char *path = base ? layout_path_of_root(base, row->path) : NULL;
	int code = path ? add_entry(db, path, NULL) : ERROR_NOMEM;

	if (code == 0)
		db->entries[db->entry_count - 1].archive = row->kind == ROOT_ARCHIVE;
	return code;
}

int entrydb_open_file(const char *file, const entrydb_options *options, entrydb **out,
                      entrydb_error *error)
{
	CLEANUP(cleanup_handle) struct entrydb *db = NULL;
	struct error *own = error_inside(error);
	int code = create(options, file, &db, own);

	if (code == 0)
		code = reader_roots(db->sources.items[0].reader, add_row, db, own);
	if (code == ERROR_NOMEM)
		error_nomem(own); /* of add_row() */
	if (code == 0)
		*out = take(db);
	return code;
}

void entrydb_close(entrydb *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < db->entry_count; i++)
		entry_free(&db->entries[i]);
	sources_free(&db->sources);
	shadowing_free(&db->shadowing);
	plugin_kinds_free(db->kinds);
	policy_free(&db->policy);
	pthread_mutex_destroy(&db->lock);
	free(db->entries);
	free(db->database);
	free(db->sysroot);
	free(db->program);
	free(db);
}

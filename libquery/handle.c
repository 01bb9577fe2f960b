/*
 * handle.c - opening and closing a handle; see handle.h.
 */
#include "handle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "layout.h"
#include "sites.h"

_Static_assert((int)ENTRYDB_ENOMEM == ERROR_NOMEM && (int)ENTRYDB_EINVAL == ERROR_INVALID &&
                       (int)ENTRYDB_EIO == ERROR_IO && (int)ENTRYDB_EFORMAT == ERROR_FORMAT &&
                       (int)ENTRYDB_EPERMISSION == ERROR_PERMISSION &&
                       (int)ENTRYDB_EBUSY == ERROR_BUSY && (int)ENTRYDB_ELIMIT == ERROR_LIMIT &&
                       (int)ENTRYDB_ENOTFOUND == ERROR_NOTFOUND && (int)ENTRYDB_ELOAD == ERROR_LOAD,
               "the codes inside are those of the public header");

int error_export(int code, struct error *from, entrydb_error *to)
{
	if (to) {
		free(to->message);
		*to = (entrydb_error){code, take(from->message)};
	}
	error_clear(from);
	return code;
}

const char *entrydb_error_message(const entrydb_error *error)
{
	struct error inner = {error->code, error->message};

	return error_text(&inner);
}

void entrydb_error_clear(entrydb_error *error)
{
	if (!error)
		return;
	free(error->message);
	*error = (entrydb_error)ENTRYDB_ERROR_INIT;
}

const char *entrydb_version(void)
{
	return ENTRYDB_VERSION;
}

int entrydb_rules_parse(const char *text, enum entrydb_rules *out)
{
	char *end;
	long minor;

	if (strcmp(text, "im10") == 0) {
		*out = ENTRYDB_IM_10_1;
		return 0;
	}
	if (strncmp(text, "3.", 2) != 0)
		return ENTRYDB_EINVAL;
	minor = strtol(text + 2, &end, 10);
	if (end == text + 2 || *end || minor < 10)
		return ENTRYDB_EINVAL;
	*out = minor < 12 ? ENTRYDB_PYTHON_3_10 : ENTRYDB_PYTHON_3_12;
	return 0;
}

int entrydb_fresh_parse(const char *text, enum entrydb_fresh *out)
{
	static const char *const names[] = {
	        [ENTRYDB_FRESH_TRUST] = "trust",
	        [ENTRYDB_FRESH_ROOTS] = "roots",
	        [ENTRYDB_FRESH_EXACT] = "exact",
	};

	for (int i = ENTRYDB_FRESH_TRUST; i <= ENTRYDB_FRESH_EXACT; i++)
		if (strcmp(text, names[i]) == 0) {
			*out = (enum entrydb_fresh)i;
			return 0;
		}
	return ENTRYDB_EINVAL;
}

/* --- sources --- */

void source_open(struct entrydb *db, struct source *source)
{
	reader_close(take(source->reader));
	error_clear(&source->why);
	source->damaged = false;
	reader_open(source->file, source->owner, &source->reader, &source->why);
	db->generation++;
}

void source_give_up(struct entrydb *db, struct source *source, struct error *why)
{
	error_clear(&source->why);
	source->why = *why;
	*why = (struct error){0};
	source->damaged = true;
	db->generation++;
}

size_t handle_source(struct entrydb *db, const char *file, uid_t owner)
{
	struct source *sources, *source;

	for (size_t i = 0; i < db->source_count; i++)
		if (strcmp(db->sources[i].file, file) == 0)
			return i;
	sources = realloc(db->sources, (db->source_count + 1) * sizeof(*sources));
	if (!sources)
		return SOURCE_NONE;
	db->sources = sources;
	source = &sources[db->source_count];
	*source = (struct source){.file = strdup(file), .base = layout_base(file), .owner = owner};
	if (!source->file || !source->base) {
		free(source->file);
		free(source->base);
		return SOURCE_NONE;
	}
	source_open(db, source);
	return db->source_count++;
}

static void source_free(struct source *source)
{
	reader_close(source->reader);
	error_clear(&source->why);
	free(source->file);
	free(source->base);
}

int handle_ask(struct entrydb *db, question *ask, void *payload, entrydb_error *error)
{
	struct error own = {0};
	unsigned before;
	int code;

	pthread_mutex_lock(&db->lock);
	do {
		before = db->generation;
		code = ask(db, payload, &own);
	} while ((code == ERROR_FORMAT || code == ERROR_IO) && db->generation != before);
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

/* --- path entries --- */

/* str(pathlib.Path(spelled)) followed by a slash, or "" for the current directory. */
static char *display_of(const char *spelled)
{
	size_t slashes = strspn(spelled, "/");
	char *display = malloc(strlen(spelled) + 3), *to = display;

	if (!display)
		return NULL;
	if (slashes)
		to = stpcpy(to, slashes == 2 ? "//" : "/");
	for (const char *from = spelled; *from;) {
		size_t len = strcspn(from, "/");

		if (len > 0 && !(len == 1 && from[0] == '.')) {
			memcpy(to, from, len);
			to += len;
			*to++ = '/';
		}
		from += len + (from[len] == '/');
	}
	*to = '\0';
	return display;
}

void entry_forget_scan(struct path_entry *entry)
{
	root_record_free(&entry->scanned);
	root_record_free(&entry->reused);
	name_map_free(&entry->by_name);
}

static void entry_free(struct path_entry *entry)
{
	entry_forget_scan(entry);
	root_record_free(&entry->row);
	free(entry->spelled);
	free(entry->path);
	free(entry->display);
}

static char *with_root(const char *root, const char *path)
{
	char *joined;

	return asprintf(&joined, "%s%s", root, path) < 0 ? NULL : joined;
}

int handle_add(struct entrydb *db, const char *spelled, struct error *error)
{
	struct path_entry *entries = realloc(db->entries, (db->entry_count + 1) * sizeof(*entries));
	CLEANUP(cleanup_free) char *shown = NULL;
	struct path_entry *entry;

	if (!entries)
		return error_nomem(error);
	db->entries = entries;
	entry = &entries[db->entry_count];
	*entry = (struct path_entry){.spelled = strdup(spelled), .source = SOURCE_NONE};
	entry->relative = spelled[0] != '/';
	shown = db->root ? with_root(db->root, spelled) : strdup(spelled);
	entry->display = shown ? display_of(shown) : NULL;
	db->entry_count++;
	return entry->spelled && entry->display ? 0 : error_nomem(error);
}

/* --- the handle --- */

static void cleanup_handle(struct entrydb **db)
{
	entrydb_close(*db);
}

/* $ENTRYDB_FRESH is a wish of the user's: what it says wrongly is passed over. */
static enum entrydb_fresh choose_fresh(enum entrydb_fresh asked)
{
	const char *environment = secure_getenv("ENTRYDB_FRESH");

	if (asked == ENTRYDB_FRESH_DEFAULT &&
	    (!environment || entrydb_fresh_parse(environment, &asked) < 0))
		asked = ENTRYDB_FRESH_ROOTS;
	return asked;
}

static int copy_options(struct entrydb *db, const entrydb_options *options, struct error *error)
{
	static const entrydb_options defaults = ENTRYDB_OPTIONS_INIT;

	if (!options)
		options = &defaults;
	if (options->size < sizeof(*options) || (int)options->rules < 0 ||
	    options->rules > ENTRYDB_IM_10_1 || (int)options->fresh < 0 ||
	    options->fresh > ENTRYDB_FRESH_EXACT)
		return error_set(error, ERROR_INVALID,
		                 "the options are not those of this library; begin with "
		                 "ENTRYDB_OPTIONS_INIT");
	db->rules = options->rules == ENTRYDB_RULES_DEFAULT ? ENTRYDB_PYTHON_3_12 : options->rules;
	db->fresh = choose_fresh(options->fresh);
	if (options->database)
		db->database = layout_absolute(options->database);
	if (options->root)
		db->root = layout_absolute(options->root);
	if ((options->database && !db->database) || (options->root && !db->root))
		return error_errno(error, errno, "%s",
		                   options->database ? options->database : options->root);
	if (db->root && strcmp(db->root, "/") == 0)
		free(take(db->root));
	return 0;
}

static int create(const entrydb_options *options, struct entrydb **out, struct error *error)
{
	CLEANUP(cleanup_handle) struct entrydb *db = calloc(1, sizeof(*db));
	int code;

	if (!db)
		return error_nomem(error);
	pthread_mutex_init(&db->lock, NULL);
	db->loader = loader_create();
	if (!db->loader)
		return error_nomem(error);
	code = copy_options(db, options, error);
	if (code == 0)
		*out = take(db);
	return code;
}

/* A file that was named must serve, or, with @may_be_absent, not be there yet. */
static int require_source(struct entrydb *db, const char *file, bool may_be_absent,
                          struct error *error)
{
	size_t source = handle_source(db, file, (uid_t)-1);

	if (source == SOURCE_NONE)
		return error_nomem(error);
	if (db->sources[source].reader ||
	    (may_be_absent && db->sources[source].why.code == ERROR_NOTFOUND))
		return 0;
	return error_set(error, db->sources[source].why.code, "%s",
	                 error_text(&db->sources[source].why));
}

static int add_default_path(struct entrydb *db, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	int code = sites_default(&sites, NULL, db->root);

	if (code < 0)
		return error_nomem(error);
	for (size_t i = 0; code == 0 && i < sites.count; i++)
		code = handle_add(db, sites.paths[i], error);
	return code;
}

int entrydb_open(const char *const *path, size_t count, const entrydb_options *options,
                 entrydb **out, entrydb_error *error)
{
	CLEANUP(cleanup_handle) struct entrydb *db = NULL;
	struct error own = {0};
	int code = create(options, &db, &own);

	if (code == 0 && db->database)
		code = require_source(db, db->database, true, &own);
	if (code == 0 && !path)
		code = add_default_path(db, &own);
	for (size_t i = 0; code == 0 && path && i < count; i++)
		code = handle_add(db, path[i], &own);
	if (code < 0)
		return error_export(code, &own, error);
	*out = take(db);
	return 0;
}

static int add_root(void *payload, const struct root_record *root)
{
	struct entrydb *db = payload;
	const struct source *source = &db->sources[0];
	CLEANUP(cleanup_free) char *path = NULL;
	int code;

	if (asprintf(&path, "%s%s%.*s", root->path.ptr[0] == '/' ? "" : source->base,
	             root->path.ptr[0] == '/' ? "" : "/", (int)root->path.len,
	             root->path.ptr) < 0) {
		path = NULL;
		return ERROR_NOMEM;
	}
	code = handle_add(db, path, NULL);
	if (code == 0)
		db->entries[db->entry_count - 1].archive = root->kind == ROOT_ARCHIVE;
	return code;
}

int entrydb_open_file(const char *file, const entrydb_options *options, entrydb **out,
                      entrydb_error *error)
{
	CLEANUP(cleanup_handle) struct entrydb *db = NULL;
	struct error own = {0};
	int code = create(options, &db, &own);

	if (code == 0) {
		free(db->database);
		db->database = layout_absolute(file);
		code = db->database ? require_source(db, db->database, false, &own)
		                    : error_errno(&own, errno, "%s", file);
	}
	if (code == 0)
		code = reader_roots(db->sources[0].reader, add_root, db, &own);
	if (code < 0)
		return error_export(code, &own, error);
	*out = take(db);
	return 0;
}

void entrydb_close(entrydb *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < db->entry_count; i++)
		entry_free(&db->entries[i]);
	for (size_t i = 0; i < db->source_count; i++)
		source_free(&db->sources[i]);
	loader_free(db->loader);
	pthread_mutex_destroy(&db->lock);
	free(db->entries);
	free(db->sources);
	free(db->database);
	free(db->root);
	free(db);
}

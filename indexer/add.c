/*
 * add.c - add archives: which ones, to which database, and what is said of it.
 *
 *     each argument: a file, or a directory that is searched for archives
 *       lock, copy
 *       read and store them: as archives (catalogue.c), or as installed (into.c)
 *       publish, all of them at once
 *
 * Archives come from anywhere and in any state: one that cannot be read costs one
 * line, and is no reason to leave out the others.
 */
#include "add.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "layout.h"
#include "name_map.h"
#include "publish.h"
#include "sdist.h"

#define MODE 0644 /* of a database that is not yet there */

static const char *const json_keys[] = {"archive",       "state",        "kind",
                                        "distributions", "entry_points", "error"};

/* --- which archives --- */

struct search {
	struct add *add;
	struct name_map seen; /* absolute paths, which are in the arena */
	struct arena arena;
	bool failed; /* no memory */
};

static bool is_new(struct search *search, const char *path)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
	struct slice key = slice_of(absolute ? absolute : path);
	size_t before = search->seen.count;

	key = arena_copy(&search->arena, key, &search->failed);
	if (!search->failed)
		name_map_put(&search->seen, key, 0, &search->failed);
	return search->seen.count > before;
}

static void add_path(struct search *search, const char *path)
{
	struct add *add = search->add;
	size_t room = add->room ? 2 * add->room : 64;
	char **paths;

	if (!is_new(search, path))
		return;
	if (add->count == add->room) {
		paths = reallocarray(add->paths, room, sizeof(*paths));
		if (!paths) {
			search->failed = true;
			return;
		}
		add->paths = paths;
		add->room = room;
	}
	add->paths[add->count] = strdup(path);
	search->failed |= add->paths[add->count] == NULL;
	add->count += !search->failed;
}

/* In the order of names, so that the same directory gives the same rows. */
static int compare_names(const FTSENT **left, const FTSENT **right)
{
	return strcmp((*left)->fts_name, (*right)->fts_name);
}

static void visit(struct search *search, const FTSENT *entry)
{
	struct error error = {0};

	switch (entry->fts_info) {
	case FTS_F:
	case FTS_SL: /* a file, perhaps; opening it will tell */
		if (package_is_archive(entry->fts_name))
			add_path(search, entry->fts_path);
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		error_errno(&error, entry->fts_errno, "%s", entry->fts_path);
		add_failed(search->add, entry->fts_path, &error, NULL);
		break;
	default:
		break;
	}
}

static void search_directory(struct search *search, const char *path)
{
	CLEANUP(cleanup_free) char *copy = strdup(path);
	char *const paths[] = {copy, NULL};
	FTS *walk = copy ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, compare_names) : NULL;
	const FTSENT *entry;

	search->failed |= walk == NULL;
	while (walk && !search->failed && !interrupted() && (entry = fts_read(walk)))
		visit(search, entry);
	if (walk)
		fts_close(walk);
}

static int find_archives(struct add *add, struct error *error)
{
	struct search search = {.add = add};
	struct stat status;

	for (size_t i = 0; i < add->options->argument_count; i++) {
		const char *path = add->options->arguments[i];

		if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
			search_directory(&search, path);
		else
			add_path(&search, path);
	}
	name_map_free(&search.seen);
	arena_free(&search.arena);
	return search.failed ? error_nomem(error) : 0;
}

/* --- reports --- */

static int print_json(struct add *add, const char *path, enum add_state state,
                      const struct root_record *root, struct slice reason, struct error *error)
{
	static const char *const states[] = {"added", "unchanged", "failed"};
	int64_t entry_points = 0;

	if (!add->json)
		return 0;
	json_text(add->json, 0, slice_of(path));
	json_text(add->json, 1, slice_of(states[state]));
	json_text(add->json, 5, reason);
	if (root) {
		for (size_t i = 0; i < root->distribution_count; i++)
			entry_points += (int64_t)root->distributions[i].entry_point_count;
		json_text(add->json, 2,
		          root->kind == ROOT_ARCHIVE ? SLICE("archive") : SLICE("zip"));
		json_number(add->json, 3, (int64_t)root->distribution_count);
		if (state == ADD_ADDED)
			json_number(add->json, 4, entry_points);
	}
	return json_write(add->json, stdout, error);
}

/* Most reasons begin with the file's name, which is not said twice. */
static struct slice without_name(struct slice reason, const char *path)
{
	struct slice name = slice_of(path);

	if (slice_starts(reason, name) && slice_starts(slice_from(reason, name.len), SLICE(": ")))
		return slice_from(reason, name.len + 2);
	return reason;
}

int add_failed(struct add *add, const char *path, struct error *why, struct error *error)
{
	struct slice reason = without_name(slice_of(error_text(why)), path);
	int code;

	if (interrupted()) {
		error_clear(why);
		return error_set(error, ERROR_IO, "interrupted; nothing was changed");
	}
	add->failed++;
	progress_erase(&add->progress);
	message("%s: %.*s", path, (int)reason.len, reason.ptr);
	code = print_json(add, path, ADD_FAILED, NULL, reason, error);
	error_clear(why);
	return code;
}

static bool needs_build(const struct distribution_record *distribution)
{
	return slice_ends(distribution->error, SLICE(SDIST_NEEDS_BUILD));
}

/* Print why @distribution is broken, unless that is just the answer. */
static bool report_broken(struct add *add, const char *path,
                          const struct distribution_record *distribution)
{
	struct slice directory = distribution->directory, reason = distribution->error;

	if (slice_is_null(reason) || needs_build(distribution))
		return false;
	reason = without_name(reason, path);
	progress_erase(&add->progress);
	message("%s: %.*s: %.*s", path, (int)directory.len, directory.ptr, (int)reason.len,
	        reason.ptr);
	return true;
}

int add_report(struct add *add, const char *path, const struct root_record *root,
               enum add_state state, struct error *error)
{
	struct slice reason = {0};
	bool broken = false;

	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *distribution = &root->distributions[i];

		broken |= report_broken(add, path, distribution);
		add->needing_build += needs_build(distribution);
		add->distributions++;
		add->entry_points += distribution->entry_point_count;
		if (slice_is_null(reason))
			reason = distribution->error;
	}
	add->failed += broken;
	add->unchanged += state == ADD_UNCHANGED;
	return print_json(add, path, state, root, reason, error);
}

void add_note_ignored(struct add *add, const struct package *package)
{
	const struct members *members = &package->members;

	if (members->ignored == 0)
		return;
	progress_erase(&add->progress);
	note(add->options, "%s: %zu members were ignored, whose paths lead out of it, such as %.*s",
	     package->path, members->ignored, (int)members->example.len, members->example.ptr);
}

/* 1234567 as "1,234,567". */
static const char *grouped(char text[32], size_t number)
{
	char *at = text + 31;

	*at = '\0';
	for (size_t digits = 0; digits == 0 || number > 0; number /= 10) {
		if (digits > 0 && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		digits++;
	}
	return at;
}

static void summarize(const struct add *add)
{
	char unchanged[64] = "", failed[64] = "", build[96] = "";
	char n1[32], n2[32], n3[32], n4[32];

	if (add->unchanged)
		snprintf(unchanged, sizeof(unchanged), " (%s unchanged)",
		         grouped(n4, add->unchanged));
	if (add->needing_build)
		snprintf(build, sizeof(build), "; %s " SDIST_NEEDS_BUILD,
		         grouped(n4, add->needing_build));
	if (add->failed)
		snprintf(failed, sizeof(failed), "; %s could not be read",
		         grouped(n4, add->failed));
	note(add->options, "%s archives%s, %s distributions, %s entry points%s%s",
	     grouped(n1, add->count), unchanged, grouped(n2, add->distributions),
	     grouped(n3, add->entry_points), build, failed);
}

/* --- the database --- */

/* --db, or the user's own, which may describe any path. */
static int find_catalogue(const struct options *options, struct database *out, struct error *error)
{
	struct coverage user = {0};
	int code;

	if (options->database) {
		out->file = strdup(options->database);
		return out->file ? 0 : error_nomem(error);
	}
	code = layout_of_user("/", &user);
	if (code == 0)
		return error_set(error, ERROR_NOTFOUND,
		                 "there is no $HOME for a database; name one with --db");
	out->file = user.database ? strdup(user.database) : NULL;
	out->may_replace = true;
	coverage_free(&user);
	return out->file ? 0 : error_nomem(error);
}

/* The database that describes the site directory, with that as its one root. */
static int find_site(const struct options *options, struct databases *out, struct error *error)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(options->into);

	if (!path)
		return error_errno(error, errno, "%s", options->into);
	return databases_add_path(options, true, path, out, error);
}

static void cleanup_writer(struct writer **writer)
{
	writer_close(*writer);
}

/* Who may read the site directory may read what is said of it. */
static mode_t mode_of(const struct database *database)
{
	struct stat status;

	if (database->root_count > 0 && stat(database->roots[0].path, &status) == 0)
		return (status.st_mode & 0444) | 0600;
	return MODE;
}

static int add_locked(struct add *add, struct error *error)
{
	struct writer_options how = {
	        .file = add->database->file,
	        .command = add->options->command,
	        .lock_timeout = PUBLISH_LOCK_TIMEOUT,
	        .may_replace = add->database->may_replace,
	};
	CLEANUP(cleanup_writer) struct writer *writer = NULL;
	int code = writer_open(&how, &writer, error);

	if (code < 0)
		return code;
	add->writer = writer;
	if (writer_was_rebuilt(writer))
		message("%s; it was set aside as %s.damaged and is built anew",
		        writer_was_rebuilt(writer), add->database->file);
	code = add->options->into ? add_to_site(add, error) : add_to_catalogue(add, error);
	return code < 0 ? code : writer_commit(writer, mode_of(add->database), error);
}

/* --- the command --- */

static void cleanup_add(struct add *add)
{
	for (size_t i = 0; i < add->count; i++)
		free(add->paths[i]);
	free(add->paths);
	json_close(add->json);
}

static enum status run(struct add *add)
{
	struct error error = {0};
	int code = find_archives(add, &error);

	if (code == 0 && add->count > 0)
		code = add_locked(add, &error);
	progress_erase(&add->progress);
	if (code < 0)
		return fail(&error);
	summarize(add);
	return add->failed ? STATUS_COULD_NOT : STATUS_DONE;
}

enum status command_add(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct database user = {0};
	CLEANUP(cleanup_add)
	struct add add = {
	        .options = options,
	        .database = &user,
	        .progress = progress_begin("reading", options->quiet),
	};
	struct error error = {0};
	enum status status;
	int code;

	if (options->root && !options->into) {
		message("--root has no meaning for 'add' without --into");
		return STATUS_USAGE;
	}
	code = options->into ? find_site(options, &databases, &error)
	                     : find_catalogue(options, &user, &error);
	if (code == 0 && options->into)
		add.database = &databases.items[0];
	if (code == 0 && options->json)
		code = json_open(json_keys, sizeof(json_keys) / sizeof(*json_keys), &add.json,
		                 &error);
	status = code < 0 ? fail(&error) : run(&add);
	free(user.file);
	return status;
}

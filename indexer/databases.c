/*
 * Finds the databases that describe what the arguments of a command name: by the layout of the
 * prefix, by who may write there, or as --db says.
 */
#include "indexer/databases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "indexer/known_roots.h"
#include "libquery/layout.h"

static void database_free(struct database *item)
{
	for (size_t i = 0; i < item->root_count; i++) {
		free(item->roots[i].path);
		free(item->roots[i].inside);
		free(item->roots[i].root_path);
	}
	name_map_free(&item->by_root_path);
	free(item->roots);
	free(item->sysroot);
	free(item->file);
}

void databases_free(struct databases *databases)
{
	for (size_t i = 0; i < databases->count; i++)
		database_free(&databases->items[i]);
	name_map_free(&databases->by_file);
	free(databases->items);
	*databases = (struct databases){0};
}

/* May the file, or the first directory above it that exists, be written? 1, 0 or a failure. */
static int is_writable(const char *file, struct error *error)
{
	CLEANUP(cleanup_free) char *path = strdup(file);
	char *slash;

	if (!path)
		return error_nomem(error);
	while ((slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (access(path[0] ? path : "/", W_OK) == 0)
			return 1;
		if (errno_is_failure(errno))
			return error_errno(error, errno, "%s", path);
		if (errno != ENOENT && errno != ENOTDIR)
			return 0;
	}
	return 0;
}

/* --root, or NULL where that is the whole machine; malloc'd. */
static int find_sysroot(const struct options *options, char **out, struct error *error)
{
	*out = NULL;
	if (!options->sysroot)
		return 0;
	*out = layout_absolute(options->sysroot);
	if (!*out)
		return error_errno(error, errno, "%s", options->sysroot);
	if (strcmp(*out, "/") == 0)
		free(take(*out));
	return 0;
}

/* Below --root, links in the way of a database lead to what they mean in there. */
static int find_owner(const char *file, const char *sysroot, uid_t *uid, gid_t *gid,
                      struct error *error)
{
	CLEANUP(cleanup_free) char *directory = strdup(file);
	char *slash = directory ? strrchr(directory, '/') : NULL;

	if (!directory)
		return error_nomem(error);
	if (slash)
		slash[slash == directory] = '\0';
	return safe_path_owner(slash ? directory : ".", sysroot, uid, gid, error);
}

int databases_check_owner(const char *prefix, uid_t uid, gid_t gid, const char *command,
                          struct error *error)
{
	if (geteuid() != 0 || uid == 0)
		return 0;
	return error_set(error, ERROR_PERMISSION,
	                 "%s belongs to user %u; run: setpriv --reuid=%u --regid=%u "
	                 "--clear-groups entrydb %s",
	                 prefix, uid, uid, gid, command);
}

/* Somebody else's directory on the way to a root of root's may lead anywhere. */
static int check_way(const struct database *database, const struct database_root *root,
                     const char *command, struct error *error)
{
	struct error own = {0};
	uid_t uid;
	gid_t gid;
	int code = safe_path_owner(root->path, database->sysroot, &uid, &gid, &own);

	if (code < 0)
		return error_move_failure(error, &own);
	return databases_check_owner(root->path, uid, gid, command, error);
}

int database_check_owner(const struct database *database, struct error *error)
{
	CLEANUP(cleanup_free) char *prefix = layout_base(database->file);
	CLEANUP(cleanup_free) char *command = prefix ? text_format("update %s", prefix) : NULL;
	int code;

	if (!command)
		return error_nomem(error);
	code = databases_check_owner(prefix, database->uid, database->gid, command, error);
	for (size_t i = 0; code == 0 && geteuid() == 0 && i < database->root_count; i++)
		code = check_way(database, &database->roots[i], command, error);
	return code;
}

/*
 * Can the caller write it? Root: is it anybody's in particular? Not where everybody may
 * write: what lies there is anybody's. 1, 0 or a failure.
 */
static int is_for_caller(const char *file, struct error *error)
{
	struct error own = {0};
	uid_t uid;
	gid_t gid;

	if (find_owner(file, NULL, &uid, &gid, &own) < 0)
		return error_move_failure(error, &own);
	return uid == geteuid() ? is_writable(file, error) : geteuid() == 0;
}

/* What --db names, and how that spells the path. */
static int choose_given(const char *file, const char *inside, struct coverage *out,
                        struct error *error)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(file);

	if (!absolute && errno_is_failure(errno))
		return error_errno(error, errno, "%s", file);
	out->database = strdup(file);
	out->root_path = layout_root_path(absolute ? absolute : file, inside);
	return out->database && out->root_path ? 0 : error_nomem(error);
}

/* The prefix's, if it can be had; else the user's own. */
static int choose_database(const struct options *options, const char *sysroot, bool to_write,
                           const char *inside, struct coverage *out, struct error *error)
{
	int code;

	if (options->database)
		return choose_given(options->database, inside, out, error);
	code = layout_of_prefix(inside, sysroot, out);
	if (code > 0 && to_write && !options->sysroot) {
		code = is_for_caller(out->database, error);
		if (code < 0)
			return code;
	}
	if (code == 0) {
		coverage_free(out);
		code = layout_of_user(inside, out);
	}
	if (code == 0)
		return error_set(error, ERROR_NOTFOUND,
		                 "%s: no database is known for it, and there is no $HOME for one; "
		                 "name one with --db",
		                 inside);
	return code < 0 ? error_nomem(error) : 0;
}

static struct database *find_database(const struct databases *databases, const char *file)
{
	uint32_t at = name_map_get(&databases->by_file, slice_of(file));

	return at == NAME_MAP_NONE ? NULL : &databases->items[at];
}

/* NULL without memory. */
static struct database *add_database(struct databases *databases, const char *file)
{
	struct database new = {.file = file ? strdup(file) : NULL};
	bool failed = !new.file || !array_grow(&databases->items, databases->count, sizeof(new),
	                                       &databases->room);

	if (!failed)
		name_map_put(&databases->by_file, slice_of(new.file), (uint32_t)databases->count,
		             &failed);
	if (failed) {
		free(new.file);
		return NULL;
	}
	databases->items[databases->count] = new;
	return &databases->items[databases->count++];
}

static bool add_root(struct database *database, const char *path, const char *inside,
                     const char *root_path)
{
	struct database_root root;
	bool failed = false;

	if (name_map_get(&database->by_root_path, slice_of(root_path)) != NAME_MAP_NONE)
		return true;
	if (!array_grow(&database->roots, database->root_count, sizeof(root), &database->root_room))
		return false;
	root = (struct database_root){strdup(path), strdup(inside), strdup(root_path)};
	database->roots[database->root_count++] = root;
	if (root.root_path)
		name_map_put(&database->by_root_path, slice_of(root.root_path), 0, &failed);
	return root.path && root.inside && root.root_path && !failed;
}

int databases_add_file(const char *file, bool may_replace, struct databases *out,
                       struct error *error)
{
	struct database *database = add_database(out, file);

	if (!database)
		return error_nomem(error);
	database->may_replace = may_replace;
	return 0;
}

/* @sysroot is taken over, unless a file was named, which may lie outside of it. */
static int add_with_owner(const struct options *options, bool to_write, const char *file,
                          char **sysroot, struct databases *out, struct error *error)
{
	const char *within = options->database ? NULL : *sysroot;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct database *database;
	struct error own = {0};
	int code = find_owner(file, within, &uid, &gid, &own);

	code = to_write ? error_move(error, &own) : error_move_failure(error, &own);
	if (code < 0)
		return code;
	database = add_database(out, file);
	if (!database)
		return error_nomem(error);
	database->may_replace = !options->database;
	database->sysroot = within ? take(*sysroot) : NULL;
	database->uid = uid;
	database->gid = gid;
	return 0;
}

int databases_add_path(const struct options *options, bool to_write, const char *path,
                       struct databases *out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage coverage = {0};
	CLEANUP(cleanup_free) char *sysroot = NULL;
	CLEANUP(cleanup_free) char *real = NULL;
	int code = find_sysroot(options, &sysroot, error);

	if (code == 0)
		code = choose_database(options, sysroot, to_write, path, &coverage, error);
	if (code < 0)
		return code;
	real = text_format("%s%s", sysroot ? sysroot : "", path);
	if (!find_database(out, coverage.database))
		code = add_with_owner(options, to_write, coverage.database, &sysroot, out, error);
	if (code < 0)
		return code;
	return real && add_root(find_database(out, coverage.database), real, path,
	                        coverage.root_path)
	               ? 0
	               : error_nomem(error);
}

/* The machine has many owners: a place that is not ours does not stop the others. */
static int add_or_leave(const struct options *options, bool to_write, const char *path,
                        struct databases *out, struct error *error)
{
	int code = databases_add_path(options, to_write, path, out, error);

	if (code != ERROR_PERMISSION || !to_write)
		return code;
	message("%s is left alone: %s", path, error_text(error));
	error_clear(error);
	out->left_alone++;
	return 0;
}

/*
 * Who can search the directories on the way to a root, as permissions to read; those on the way
 * to the database, which keep others from both, do not count.
 */
static mode_t search_beyond(const struct database *database, const struct database_root *root)
{
	CLEANUP(error_clear) struct error unused = {0};
	mode_t of_database, of_root;

	safe_search(database->file, database->sysroot, &of_database, &unused);
	safe_search(root->path, database->sysroot, &of_root, &unused);
	return of_root | ~of_database;
}

int database_mode(const struct database *database, mode_t *mode, struct error *error)
{
	bool has_site = false;
	struct stat status;
	int code = 0;

	*mode = 0444;
	for (size_t i = 0; code >= 0 && i < database->root_count; i++) {
		code = file_status(AT_FDCWD, database->roots[i].path, &status, error);
		if (code > 0 && S_ISDIR(status.st_mode)) {
			*mode &= status.st_mode & search_beyond(database, &database->roots[i]);
			has_site = true;
		}
	}
	if (code >= 0 && !has_site)
		code = file_status(AT_FDCWD, database->file, &status, error);
	if (code > 0 && !has_site)
		*mode &= status.st_mode;
	*mode |= S_IRUSR | S_IWUSR;
	return code < 0 ? code : 0;
}

/* --- what the arguments mean --- */

/*
 * The database of a prefix whose site directories are all gone still knows what they were. A
 * damaged one is reported, and rebuilt, when it is written.
 */
static int add_known_sites(struct sites *sites, const char *prefix, const char *sysroot,
                           struct error *error)
{
	CLEANUP(coverage_free) struct coverage coverage = {0};
	CLEANUP(cleanup_free)
	char *layout = text_format("%s/lib/python3", strcmp(prefix, "/") == 0 ? "" : prefix);
	CLEANUP(cleanup_free) char *base = NULL;
	CLEANUP(sites_free) struct sites known = {0};
	struct error own = {0};

	if (!layout || layout_of_prefix(layout, sysroot, &coverage) < 0)
		return error_nomem(error);
	if (!coverage.database)
		return 0;
	base = layout_base(coverage.database);
	if (!base)
		return error_nomem(error);
	known_roots_of_file(coverage.database, &known, &own);
	for (size_t i = 0; i < known.count; i++) {
		CLEANUP(cleanup_free)
		char *path = layout_path_of_root(base + (sysroot ? strlen(sysroot) : 0),
		                                 slice_of(known.paths[i]));

		if (known.paths[i][0] != '/' && !(path && sites_add(sites, path)))
			error_nomem(&own);
	}
	return error_move_failure(error, &own);
}

/*
 * A prefix in which no site directory was found may only have none that can be looked for.
 * (Anything else is read as a path entry, and errors are reported then.)
 */
static int check_access(const char *prefix, const char *sysroot, struct error *error)
{
	static const char *const places[] = {"", "/lib", "/lib64"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		CLEANUP(cleanup_free)
		char *place = text_format("%s%s%s", sysroot ? sysroot : "", prefix, places[i]);

		if (!place)
			return error_nomem(error);
		if (faccessat(AT_FDCWD, place, R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES)
			continue;
		return i == 0 ? 0 : error_errno(error, errno, "%s", place);
	}
	return 0;
}

/* A prefix stands for the site directories in it; anything else for itself. */
static int expand_argument(const struct options *options, const char *argument, struct sites *sites,
                           struct error *error)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(argument);
	CLEANUP(cleanup_free) char *sysroot = NULL;
	size_t before = sites->count;
	int code;

	if (!path)
		return error_errno(error, errno, "%s", argument);
	code = find_sysroot(options, &sysroot, error);
	if (code == 0 && !layout_is_known(path))
		code = sites_of_prefix(sites, path, sysroot, error);
	if (code == 0 && sites->count == before && !layout_is_known(path))
		code = add_known_sites(sites, path, sysroot, error);
	if (code == 0 && sites->count == before)
		code = check_access(path, sysroot, error);
	if (code == 0 && sites->count == before && !sites_add(sites, path))
		code = error_nomem(error);
	return code;
}

/* What exists, and what the system's database knows: a site directory may be gone by now. */
static int add_machine(const struct options *options, struct sites *sites, struct error *error)
{
	CLEANUP(cleanup_free) char *sysroot = NULL;
	int code = find_sysroot(options, &sysroot, error);

	if (code == 0)
		code = sites_of_machine(sites, options->sysroot, error);
	if (code < 0 || options->database)
		return code;
	return add_known_sites(sites, "/", sysroot, error);
}

int databases_of_arguments(const struct options *options, bool to_write, struct databases *out,
                           struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	int code = 0;

	if (options->argument_count == 0)
		code = add_machine(options, &sites, error);
	for (size_t i = 0; code == 0 && i < options->argument_count; i++)
		code = expand_argument(options, options->arguments[i], &sites, error);
	for (size_t i = 0; code == 0 && i < sites.count; i++)
		code = add_or_leave(options, to_write, sites.paths[i], out, error);
	return code;
}

int databases_of_file(const struct options *options, struct databases *out, struct error *error)
{
	CLEANUP(cleanup_free) char *base = layout_base(options->database);
	CLEANUP(sites_free) struct sites known = {0};
	int code =
	        base ? known_roots_of_file(options->database, &known, error) : error_nomem(error);

	for (size_t i = 0; code == 0 && i < known.count; i++) {
		CLEANUP(cleanup_free)
		char *path = layout_path_of_root(base, slice_of(known.paths[i]));

		code = path ? databases_add_path(options, false, path, out, error)
		            : error_nomem(error);
	}
	return code;
}

/*
 * Finds the databases for the arguments of a command: by the layout of the prefix, by write
 * permission, or by --db.
 */
#include "indexer/databases.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/reader.h"
#include "libquery/layout.h"

void databases_free(struct databases *databases)
{
	for (size_t i = 0; i < databases->count; i++) {
		struct database *item = &databases->items[i];

		for (size_t j = 0; j < item->root_count; j++) {
			free(item->roots[j].path);
			free(item->roots[j].root_path);
		}
		name_map_free(&item->by_root_path);
		free(item->roots);
		free(item->file);
		free(item->real);
	}
	name_map_free(&databases->by_file);
	free(databases->items);
}

/* --root, or NULL for "/". */
static const char *sysroot_of(const struct options *options)
{
	return options->sysroot && strcmp(options->sysroot, "/") != 0 ? options->sysroot : NULL;
}

/* The real path of @file, malloc'd, as far as its directory exists; a link at its name is replaced,
 * not followed. */
static char *real_path_of(const char *file, const char *sysroot)
{
	CLEANUP(cleanup_free) char *directory = path_parent(file);
	CLEANUP(cleanup_free)
	char *real = directory ? safe_path_existing(directory, sysroot) : NULL;

	return real ? text_format("%s/%s", strcmp(real, "/") == 0 ? "" : real,
	                          path_base(slice_of(file)).ptr)
	            : NULL;
}

/* The owner of the database's territory. Below --root, links are resolved inside it. */
static int find_owner(const char *file, const char *sysroot, struct safe_way *way,
                      struct error *error)
{
	CLEANUP(cleanup_free) char *directory = path_parent(file);

	return directory ? safe_path_look(directory, NULL, sysroot, way, error)
	                 : error_nomem(error);
}

/* Not a directory's, to which the user may not belong; and as group, root is not used either. */
static gid_t group_of(uid_t uid)
{
	const struct passwd *account = getpwuid(uid);

	return account && account->pw_gid ? account->pw_gid : uid;
}

int databases_check_owner(const char *place, uid_t uid, const char *command, struct error *error)
{
	CLEANUP(cleanup_free) char *word = NULL;
	CLEANUP(cleanup_free) char *update = NULL;

	if (geteuid() != 0 || uid == 0)
		return 0;
	word = text_shell_word(place);
	update = word ? text_format("entrydb update %s", word) : NULL;
	if (!update)
		return error_nomem(error);
	return error_set(error, ERROR_PERMISSION,
	                 "%s belongs to user %u; run: setpriv --reuid=%u --regid=%u "
	                 "--clear-groups %s",
	                 place, uid, uid, group_of(uid), command ? command : update);
}

int database_check_owner(const struct database *database, const char *command, struct error *error)
{
	CLEANUP(cleanup_free) char *prefix = layout_base(database->file);
	const char *place = prefix && *prefix ? prefix : database->file;
	CLEANUP(cleanup_free) char *word = text_shell_word(database->file);
	CLEANUP(cleanup_free)
	char *update = word ? text_format("entrydb update --db %s", word) : NULL;
	int code = prefix && update ? 0 : error_nomem(error);

	if (code == 0)
		code = databases_check_owner(place, database->uid,
		                             command || place == prefix ? command : update, error);
	return code;
}

int database_check_root(const char *path, const char *sysroot, struct error *error)
{
	struct error own = {0};
	struct safe_way way;

	if (geteuid() != 0)
		return 0;
	if (safe_path_look(path, NULL, sysroot, &way, &own) < 0)
		return error_move_failure(error, &own);
	return databases_check_owner(path, way.uid, NULL, error);
}

/*
 * Can the caller write the file, or the first existing directory above it? As root: does the place
 * belong to a single user? Not if it is world-writable. 1, 0 or a failure.
 */
static int is_for_caller(const char *file, struct error *error)
{
	CLEANUP(cleanup_free) char *path = strdup(file);
	struct error own = {0};
	struct safe_way way;
	char *slash;

	if (!path)
		return error_nomem(error);
	if (find_owner(file, NULL, &way, &own) < 0)
		return error_move_failure(error, &own);
	if (way.uid != geteuid())
		return geteuid() == 0;
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

/* The database of --db; else the prefix's, if usable; else the user's own. */
static int choose_database(const struct options *options, bool to_write, const char *inside,
                           struct coverage *out, struct error *error)
{
	const char *rest;
	int code;

	if (options->database) {
		rest = file_in_sysroot(options->database);
		out->database = rest ? text_format("%s%s", options->sysroot, rest)
		                     : strdup(options->database);
		out->root_path = layout_root_path(options->database, inside);
		return out->database && out->root_path ? 0 : error_nomem(error);
	}
	code = layout_of_prefix(inside, sysroot_of(options), out);
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

int databases_add_file(const char *file, const char *sysroot, bool may_replace,
                       struct databases *out, struct error *error)
{
	struct database item = {.file = file ? strdup(file) : NULL,
	                        .real = file ? real_path_of(file, sysroot) : NULL,
	                        .sysroot = sysroot,
	                        .may_replace = may_replace};
	bool failed = !item.file || !item.real ||
	              !array_grow(&out->items, out->count, sizeof(item), &out->room);

	if (!failed)
		name_map_put(&out->by_file, slice_of(item.file), (uint32_t)out->count, &failed);
	if (failed) {
		free(item.file);
		free(item.real);
		return error_nomem(error);
	}
	out->items[out->count++] = item;
	return 0;
}

/* @path begins with @sysroot_len bytes of the sysroot. */
static bool add_root(struct database *database, const char *path, size_t sysroot_len,
                     const char *root_path)
{
	struct database_root root;
	bool failed = false;

	if (name_map_get(&database->by_root_path, slice_of(root_path)) != NAME_MAP_NONE)
		return true;
	if (!array_grow(&database->roots, database->root_count, sizeof(root), &database->root_room))
		return false;
	root.path = strdup(path);
	root.inside = root.path + (root.path ? sysroot_len : 0);
	root.root_path = strdup(root_path);
	database->roots[database->root_count++] = root;
	if (root.root_path)
		name_map_put(&database->by_root_path, slice_of(root.root_path), 0, &failed);
	return root.path && root.root_path && !failed;
}

int databases_add_path(const struct options *options, bool to_write, const char *path,
                       struct databases *out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage coverage = {0};
	const char *sysroot = sysroot_of(options);
	CLEANUP(cleanup_free) char *root = text_format("%s%s", sysroot ? sysroot : "", path);
	struct error own = {0};
	const char *above;
	struct safe_way way = {0};
	uint32_t known;
	size_t at;
	bool is_new;
	int code = choose_database(options, to_write, path, &coverage, error);

	if (code < 0 || !root)
		return code < 0 ? code : error_nomem(error);
	/* The file of --db may lie elsewhere. */
	above = file_in_sysroot(coverage.database) ? sysroot : NULL;
	known = name_map_get(&out->by_file, slice_of(coverage.database));
	is_new = known == NAME_MAP_NONE;
	at = is_new ? out->count : known;
	if (is_new) {
		find_owner(coverage.database, above, &way, &own);
		code = to_write ? error_move(error, &own) : error_move_failure(error, &own);
	}
	if (code == 0 && (to_write || options->hook) &&
	    (is_new ? way.uid : out->items[at].uid) == 0)
		code = database_check_root(root, sysroot, error);
	if (code == 0 && is_new)
		code = databases_add_file(coverage.database, above, !options->database, out, error);
	if (code < 0)
		return code;
	if (is_new)
		out->items[at].uid = way.uid;
	return add_root(&out->items[at], root, strlen(root) - strlen(path), coverage.root_path)
	               ? 0
	               : error_nomem(error);
}

/* The user who controls the path may be unable to reach its target. */
static mode_t mode_of_way(const char *path, const char *beside, const char *sysroot,
                          struct error *error)
{
	struct safe_way way;

	return safe_path_look(path, beside, sysroot, &way, error) < 0 || way.uid != geteuid()
	               ? 0
	               : way.search & way.names;
}

int databases_narrow(const char *path, const char *beside, mode_t *mode, struct error *error)
{
	/* Not the published file's, which may lie elsewhere. */
	const char *sysroot = file_in_sysroot(path) ? file_sysroot()->given : NULL;
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, 0);
	struct error own = {0};
	struct stat status;
	mode_t all;

	if (fd < 0) /* without /proc, no access control list can be read by such a descriptor */
		fd = file_open(AT_FDCWD, path, O_PATH);
	/* Closed to its owner, too. Root can be refused only by other means, as by SELinux. */
	if (fd < 0 && errno == EACCES && geteuid() != 0) {
		*mode &= S_IRUSR | S_IWUSR;
		return 0;
	}
	if (fd < 0 || fstat(fd, &status) != 0)
		return errno_is_failure(errno) ? error_errno(error, errno, "%s", path) : 0;
	all = trust_everybody(fd, &status) & mode_of_way(path, beside, sysroot, &own);
	if (all && sysroot)
		all &= mode_of_way(sysroot, beside, NULL, &own);
	*mode &= S_IRUSR | S_IWUSR | all;
	return error_move_failure(error, &own);
}

struct narrowing {
	const struct options *options;
	const struct database *database;
	mode_t *mode;
	struct error *error;
};

/* A root_each for the roots that no argument names. It ends when nobody else can read the file. */
static int narrow_by_known(void *payload, const struct root_record *root)
{
	const struct narrowing *all = payload;
	const struct database *database = all->database;
	CLEANUP(cleanup_free) char *root_path = strndup(root->path.ptr, root->path.len);
	CLEANUP(cleanup_free) char *path = NULL;
	int code;

	if (!(*all->mode & 0044))
		return 1;
	if (layout_is_url(root->path) ||
	    name_map_get(&database->by_root_path, root->path) != NAME_MAP_NONE)
		return 0;
	if (!root_path)
		return error_nomem(all->error);
	code = known_root_path(all->options, database->file, root_path, &path, all->error);
	if (code == 0 && !path) /* it is meant inside --root */
		path = text_format("%s%s", all->options->sysroot, root_path);
	if (code == 0 && !path)
		return error_nomem(all->error);
	return code < 0 ? code : databases_narrow(path, database->real, all->mode, all->error);
}

/* The published file may still contain private data: rows, events, and free pages. */
int database_mode(const struct options *options, const struct database *database,
                  struct reader *reader, mode_t *mode, struct error *error)
{
	const char *beside = database->real;
	struct narrowing all = {options, database, mode, error};
	int code;

	*mode = 0644;
	code = databases_narrow(database->file, beside, mode, error);
	for (size_t i = 0; code == 0 && i < database->root_count; i++)
		code = databases_narrow(database->roots[i].path, beside, mode, error);
	if (code == 0 && reader)
		code = reader_roots(reader, narrow_by_known, &all, error);
	return code < 0 ? code : 0;
}

/* --- the roots in a database --- */

int known_roots_add(void *sites, const struct root_record *root)
{
	CLEANUP(cleanup_free) char *path = strndup(root->path.ptr, root->path.len);

	if (root->kind == ROOT_ARCHIVE)
		return 0;
	return path && sites_add(sites, path) ? 0 : ERROR_NOMEM;
}

int known_root_path(const struct options *options, const char *file, const char *root_path,
                    char **out, struct error *error)
{
	CLEANUP(cleanup_free) char *base = layout_base(file);

	*out = NULL;
	if (sysroot_of(options) && root_path[0] == '/')
		return 0;
	if (base)
		*out = layout_path_of_root(base, slice_of(root_path));
	return *out ? 0 : error_nomem(error);
}

bool known_root_is_gone(const char *path)
{
	struct stat status;

	return file_status(AT_FDCWD, path, &status, NULL) <= 0 &&
	       (errno == ENOENT || errno == ENOTDIR);
}

/*
 * Add the paths of the roots in @file except archives; @sysroot, a prefix of the path of @file, is
 * removed from those stored relative to it, and others are skipped.
 */
static int add_known(struct sites *sites, const char *file, const char *sysroot,
                     struct error *error)
{
	CLEANUP(cleanup_free) char *base = layout_base(file);
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	CLEANUP(sites_free) struct sites known = {0};
	int code = base ? reader_open(file, geteuid(), &reader, error) : ERROR_NOMEM;

	if (code == 0)
		code = reader_roots(reader, known_roots_add, &known, error);
	for (size_t i = 0; code == 0 && i < known.count; i++) {
		CLEANUP(cleanup_free) char *path = NULL;

		if (sysroot && known.paths[i][0] == '/')
			continue;
		path = layout_path_of_root(base + (sysroot ? strlen(sysroot) : 0),
		                           slice_of(known.paths[i]));
		code = path && sites_add(sites, path) ? 0 : ERROR_NOMEM;
	}
	return code == ERROR_NOMEM ? error_nomem(error) : code;
}

/*
 * A prefix without site directories may still have a database with roots. A damaged one is
 * reported, and rebuilt, when it is written.
 */
static int add_known_sites(struct sites *sites, const char *prefix, const char *sysroot,
                           struct error *error)
{
	CLEANUP(coverage_free) struct coverage coverage = {0};
	CLEANUP(cleanup_free)
	char *layout = text_format("%s/lib/python3", strcmp(prefix, "/") == 0 ? "" : prefix);
	struct error own = {0};

	if (!layout || layout_of_prefix(layout, sysroot, &coverage) < 0)
		return error_nomem(error);
	if (coverage.database)
		add_known(sites, coverage.database, sysroot ? sysroot : "", &own);
	return error_move_failure(error, &own);
}

/* --- arguments --- */

/*
 * A prefix in which no site directory was found may just be unreadable. (Anything else is read as a
 * path entry, which reports errors.)
 */
static int check_access(const char *prefix, const char *sysroot, struct error *error)
{
	static const char *const places[] = {"", "/lib", "/lib64"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		CLEANUP(cleanup_free)
		char *place = text_format("%s%s%s", sysroot ? sysroot : "", prefix, places[i]);

		if (!place)
			return error_nomem(error);
		if (!file_can_list(place) && errno == EACCES)
			return i == 0 ? 0 : error_errno(error, errno, "%s", place);
	}
	return 0;
}

/* A prefix stands for its site directories; anything else for itself. */
static int expand_argument(const struct options *options, const char *argument, struct sites *sites,
                           struct error *error)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(argument);
	const char *sysroot = sysroot_of(options);
	size_t before = sites->count;
	int code = 0;

	if (!path)
		return error_errno(error, errno, "%s", argument);
	if (!layout_is_known(path)) {
		code = sites_of_prefix(sites, path, sysroot, error);
		if (code == 0 && sites->count == before)
			code = add_known_sites(sites, path, sysroot, error);
	}
	if (code == 0 && sites->count == before)
		code = check_access(path, sysroot, error);
	if (code == 0 && sites->count == before && !sites_add(sites, path))
		code = error_nomem(error);
	return code;
}

/* Machines have several users: a place of another one does not stop the rest. */
static int leave_alone(const struct options *options, const char *path, struct databases *out,
                       struct error *error)
{
	if (!options->hook)
		message("%s is left alone: %s", path, error_text(error));
	error_clear(error);
	out->left_alone++;
	return 0;
}

int databases_of_arguments(const struct options *options, bool to_write, struct databases *out,
                           struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	int code = 0;

	if (options->argument_count == 0 && options->database && !to_write && !options->hook) {
		code = add_known(&sites, options->database, NULL, error);
	} else if (options->argument_count == 0) {
		code = sites_of_machine(&sites, options->sysroot, error);
		if (code == 0 && !options->database)
			code = add_known_sites(&sites, "/", sysroot_of(options), error);
	}
	for (size_t i = 0; code == 0 && i < options->argument_count; i++) {
		code = expand_argument(options, options->arguments[i], &sites, error);
		if (code == ERROR_PERMISSION && (to_write || options->hook))
			code = leave_alone(options, options->arguments[i], out, error);
	}
	for (size_t i = 0; code == 0 && i < sites.count; i++) {
		code = databases_add_path(options, to_write, sites.paths[i], out, error);
		if (code == ERROR_PERMISSION && (to_write || options->hook))
			code = leave_alone(options, sites.paths[i], out, error);
	}
	return code;
}

/*
 * databases.c - see databases.h.
 */
#include "databases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "layout.h"
#include "reader.h"

void databases_free(struct databases *databases)
{
	for (size_t i = 0; i < databases->count; i++) {
		struct database *item = &databases->items[i];

		for (size_t j = 0; j < item->root_count; j++) {
			free(item->roots[j].path);
			free(item->roots[j].inside);
			free(item->roots[j].root_path);
		}
		free(item->roots);
		free(item->file);
	}
	free(databases->items);
	*databases = (struct databases){0};
}

/* May the file, or the first directory above it that exists, be written? */
static bool is_writable(const char *file)
{
	CLEANUP(cleanup_free) char *path = strdup(file);
	char *slash;

	while (path && (slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (access(path[0] ? path : "/", F_OK) == 0)
			return access(path[0] ? path : "/", W_OK) == 0;
	}
	return false;
}

/* --root, or NULL where that is the whole machine; malloc'd. */
static char *root_of(const struct options *options)
{
	char *root = options->root ? layout_absolute(options->root) : NULL;

	if (root && strcmp(root, "/") == 0)
		free(take(root));
	return root;
}

static int choose_database(const struct options *options, bool to_write, const char *inside,
                           struct coverage *out, struct error *error)
{
	CLEANUP(cleanup_free) char *root = root_of(options);
	int code;

	if (options->database) {
		CLEANUP(cleanup_free) char *absolute = layout_absolute(options->database);

		out->database = strdup(options->database);
		out->root_path = layout_root_path(absolute ? absolute : options->database, inside);
		return out->database && out->root_path ? 0 : error_nomem(error);
	}
	code = layout_of_prefix(inside, root, out);
	if (code > 0 && to_write && !options->root && !is_writable(out->database)) {
		coverage_free(out);
		code = 0;
	}
	if (code == 0)
		code = layout_of_user(inside, out);
	if (code == 0)
		return error_set(error, ERROR_NOTFOUND,
		                 "%s: no database is known for it, and there is no $HOME for one; "
		                 "name one with --db",
		                 inside);
	return code < 0 ? error_nomem(error) : 0;
}

static struct database *find_database(struct databases *databases, const char *file)
{
	struct database *items;

	for (size_t i = 0; i < databases->count; i++)
		if (strcmp(databases->items[i].file, file) == 0)
			return &databases->items[i];
	items = realloc(databases->items, (databases->count + 1) * sizeof(*items));
	if (!items)
		return NULL;
	databases->items = items;
	items[databases->count] = (struct database){.file = strdup(file)};
	return items[databases->count].file ? &items[databases->count++] : NULL;
}

static bool add_root(struct database *database, const char *path, const char *inside,
                     const char *root_path)
{
	struct database_root *roots;

	for (size_t i = 0; i < database->root_count; i++)
		if (strcmp(database->roots[i].root_path, root_path) == 0)
			return true;
	roots = realloc(database->roots, (database->root_count + 1) * sizeof(*roots));
	if (!roots)
		return false;
	database->roots = roots;
	roots[database->root_count] =
	        (struct database_root){strdup(path), strdup(inside), strdup(root_path)};
	database->root_count++;
	return roots[database->root_count - 1].path && roots[database->root_count - 1].inside &&
	       roots[database->root_count - 1].root_path;
}

/* @path below --root, on this machine; malloc'd. */
static char *outside(const struct options *options, const char *path)
{
	CLEANUP(cleanup_free) char *root = root_of(options);
	char *joined;

	if (!root)
		return strdup(path);
	return asprintf(&joined, "%s%s", root, path) < 0 ? NULL : joined;
}

int databases_add_path(const struct options *options, bool to_write, const char *path,
                       struct databases *out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage coverage = {0};
	CLEANUP(cleanup_free) char *real = outside(options, path);
	struct database *database;
	int code = choose_database(options, to_write, path, &coverage, error);

	if (code < 0)
		return code;
	database = find_database(out, coverage.database);
	if (!real || !database || !add_root(database, real, path, coverage.root_path))
		return error_nomem(error);
	database->may_replace = !options->database;
	return 0;
}

/* --- what the arguments mean --- */

struct known_sites {
	struct sites *sites;
	const char *base; /* of the paths in the database, below --root */
};

static int add_known_site(void *payload, const struct root_record *root)
{
	struct known_sites *known = payload;
	CLEANUP(cleanup_free) char *path = NULL;

	if (root->kind == ROOT_ARCHIVE || root->path.ptr[0] == '/')
		return 0;
	if (asprintf(&path, "%s/%.*s", known->base, (int)root->path.len, root->path.ptr) < 0) {
		path = NULL;
		return ERROR_NOMEM;
	}
	return sites_add(known->sites, path) ? 0 : ERROR_NOMEM;
}

/* A prefix that has lost all its site directories still has a database, which says what they were.
 */
static int add_known_sites(struct sites *sites, const char *prefix, const char *root,
                           struct error *error)
{
	CLEANUP(coverage_free) struct coverage coverage = {0};
	CLEANUP(cleanup_free) char *layout = NULL;
	CLEANUP(cleanup_free) char *base = NULL;
	struct known_sites known = {.sites = sites};
	struct reader *reader;
	int code;

	if (asprintf(&layout, "%s/lib/python3", strcmp(prefix, "/") == 0 ? "" : prefix) < 0) {
		layout = NULL;
		return error_nomem(error);
	}
	if (layout_of_prefix(layout, root, &coverage) <= 0 ||
	    reader_open(coverage.database, geteuid(), &reader, NULL) < 0)
		return 0;
	base = layout_base(coverage.database);
	known.base = base ? base + (root ? strlen(root) : 0) : "";
	/* One that is damaged is told of, and replaced, when it is written. */
	code = base ? reader_roots(reader, add_known_site, &known, NULL) : ERROR_NOMEM;
	reader_close(reader);
	return code == ERROR_NOMEM ? error_nomem(error) : 0;
}

/* A prefix stands for the site directories in it; anything else for itself. */
static int expand_argument(const struct options *options, const char *argument, struct sites *sites,
                           struct error *error)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(argument);
	CLEANUP(cleanup_free) char *root = root_of(options);
	size_t before = sites->count;

	if (!path)
		return error_errno(error, errno, "%s", argument);
	if (!layout_is_known(path) && sites_of_prefix(sites, path, root) < 0)
		return error_nomem(error);
	if (sites->count == before && !layout_is_known(path) &&
	    add_known_sites(sites, path, root, error) < 0)
		return error->code;
	if (sites->count == before && !sites_add(sites, path))
		return error_nomem(error);
	return 0;
}

/* What is there, and what the system's database knows: the last of it may just have gone. */
static int add_machine(const struct options *options, struct sites *sites, struct error *error)
{
	CLEANUP(cleanup_free) char *root = root_of(options);

	if (sites_of_machine(sites, options->root) < 0)
		return error_nomem(error);
	return options->database ? 0 : add_known_sites(sites, "/", root, error);
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
		code = databases_add_path(options, to_write, sites.paths[i], out, error);
	return code;
}

/*
 * sites.c - see sites.h. What Python's module site computes at start, computed
 * from names alone: no Python is run.
 */
#include "sites.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "layout.h"
#include "slice.h"

#define PTH_MAX     ((size_t)64 * 1024) /* bytes of a .pth file that are looked at */
#define VERSION_MAX 16                  /* bytes of "3.14t" and the like */

void sites_free(struct sites *sites)
{
	for (size_t i = 0; i < sites->count; i++)
		free(sites->paths[i]);
	free(sites->paths);
	*sites = (struct sites){0};
}

bool sites_add(struct sites *sites, const char *path)
{
	char **paths;

	for (size_t i = 0; i < sites->count; i++)
		if (strcmp(sites->paths[i], path) == 0)
			return true;
	paths = realloc(sites->paths, (sites->count + 1) * sizeof(*paths));
	if (!paths)
		return false;
	sites->paths = paths;
	paths[sites->count] = strdup(path);
	return paths[sites->count] && ++sites->count;
}

/* The directory being searched for, and what was found in it. */
struct search {
	struct sites *sites;
	const char *root;
	bool failed;
};

static bool is_directory(const struct search *search, const char *path)
{
	CLEANUP(cleanup_free) char *real = NULL;
	struct stat status;

	if (asprintf(&real, "%s%s", search->root, path) < 0) {
		real = NULL;
		return false;
	}
	return stat(real, &status) == 0 && S_ISDIR(status.st_mode);
}

static void add_if_directory(struct search *search, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void add_if_directory(struct search *search, const char *format, ...)
{
	char *path;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&path, format, arguments) < 0)
		path = NULL;
	va_end(arguments);
	if (!path)
		search->failed = true;
	else if (is_directory(search, path))
		search->failed |= !sites_add(search->sites, path);
	free(path);
}

/* --- the Pythons below a prefix --- */

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

static bool names_python(const char *name)
{
	CLEANUP(cleanup_free) char *path = NULL;

	if (asprintf(&path, "/lib/%s", name) < 0) {
		path = NULL;
		return false;
	}
	return strcmp(name, "python3") != 0 && layout_is_known(path) && !strstr(name, ".zip");
}

/* The names pythonX.Y in PREFIX/LIB, newest first. */
static void find_pythons(const struct search *search, const char *prefix, const char *lib,
                         struct sites *names)
{
	CLEANUP(cleanup_free) char *path = NULL;
	DIR *directory = NULL;

	if (asprintf(&path, "%s%s/%s", search->root, prefix, lib) < 0)
		path = NULL;
	else
		directory = opendir(path);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (names_python(entry->d_name))
			sites_add(names, entry->d_name);
	closedir(directory);
	if (names->count)
		qsort(names->paths, names->count, sizeof(*names->paths), by_version);
}

/* --- one site directory, and what its .pth files add --- */

static int is_pth(const struct dirent *entry)
{
	struct slice name = slice_of(entry->d_name);

	return slice_ends(name, SLICE(".pth")) && name.ptr[0] != '.';
}

/* A line is a directory to add, a comment, or (import) code, which is not run. */
static void add_pth_line(struct search *search, const char *site, char *line)
{
	size_t len = strlen(line);

	while (len > 0 && strchr(" \t\r\n", line[len - 1]))
		line[--len] = '\0';
	if (len == 0 || line[0] == '#' || strncmp(line, "import ", 7) == 0 ||
	    strncmp(line, "import\t", 7) == 0)
		return;
	if (line[0] == '/')
		add_if_directory(search, "%s", line);
	else
		add_if_directory(search, "%s/%s", site, line);
}

static void add_pth_file(struct search *search, const char *site, const char *name)
{
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *line = NULL;
	CLEANUP(cleanup_fclose) FILE *file = NULL;
	size_t room = 0, seen = 0;
	ssize_t len;

	if (asprintf(&path, "%s%s/%s", search->root, site, name) < 0)
		path = NULL;
	else
		file = fopen(path, "re");
	while (file && seen < PTH_MAX && (len = getline(&line, &room, file)) > 0) {
		seen += (size_t)len;
		add_pth_line(search, site, line);
	}
}

static void add_pth_files(struct search *search, const char *site)
{
	CLEANUP(cleanup_free) char *path = NULL;
	struct dirent **names = NULL;
	int count = -1;

	if (asprintf(&path, "%s%s", search->root, site) < 0)
		path = NULL;
	else
		count = scandir(path, &names, is_pth, alphasort);
	for (int i = 0; i < count; i++) {
		add_pth_file(search, site, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* Add the .pth directories of those site directories that came after the first @from. */
static void add_all_pth(struct search *search, size_t from)
{
	size_t end = search->sites->count;

	for (size_t i = from; i < end; i++) {
		CLEANUP(cleanup_free) char *site = strdup(search->sites->paths[i]);

		if (site)
			add_pth_files(search, site);
	}
}

/* --- what is active --- */

/* The version of PREFIX's own Python: the newest that has a directory in lib. */
static void own_version(const struct search *search, const char *prefix, const char *asked,
                        char version[VERSION_MAX])
{
	CLEANUP(sites_free) struct sites names = {0};

	version[0] = '\0';
	if (!asked)
		find_pythons(search, prefix, "lib", &names);
	if (asked || names.count)
		snprintf(version, VERSION_MAX, "%s", asked ? asked : names.paths[0] + 6);
}

/* In a virtual environment lib64 is a link to lib: the same directories once more. */
static bool is_link(const struct search *search, const char *prefix, const char *name)
{
	CLEANUP(cleanup_free) char *path = NULL;
	struct stat status;

	if (asprintf(&path, "%s%s/%s", search->root, prefix, name) < 0) {
		path = NULL;
		return false;
	}
	return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static void add_environment(struct search *search, const char *prefix, const char *asked)
{
	char version[VERSION_MAX];

	own_version(search, prefix, asked, version);
	add_if_directory(search, "%s/lib/python%s/site-packages", prefix, version);
	if (!is_link(search, prefix, "lib64"))
		add_if_directory(search, "%s/lib64/python%s/site-packages", prefix, version);
}

/* The version that /usr/bin/python3 is a link to; Debian and Fedora both make it so. */
static void system_version(const struct search *search, const char *asked,
                           char version[VERSION_MAX])
{
	CLEANUP(cleanup_free) char *path = NULL;
	char target[VERSION_MAX + 8];
	ssize_t len = -1;

	if (asprintf(&path, "%s/usr/bin/python3", search->root) < 0)
		path = NULL;
	else if (!asked)
		len = readlink(path, target, sizeof(target) - 1);
	if (len > 6 && memcmp(target, "python", 6) == 0) {
		target[len] = '\0';
		snprintf(version, VERSION_MAX, "%.*s", VERSION_MAX - 1, target + 6);
	} else {
		own_version(search, "/usr", asked, version);
	}
}

/* Debian's layout has dist-packages, in /usr/local too; others have site-packages. */
static void add_system(struct search *search, const char *asked)
{
	char version[VERSION_MAX];

	system_version(search, asked, version);
	if (is_directory(search, "/usr/lib/python3/dist-packages")) {
		add_if_directory(search, "/usr/local/lib/python%s/dist-packages", version);
		add_if_directory(search, "/usr/lib/python3/dist-packages");
		add_if_directory(search, "/usr/lib/python%s/dist-packages", version);
		return;
	}
	add_if_directory(search, "/usr/local/lib64/python%s/site-packages", version);
	add_if_directory(search, "/usr/local/lib/python%s/site-packages", version);
	add_if_directory(search, "/usr/lib64/python%s/site-packages", version);
	add_if_directory(search, "/usr/lib/python%s/site-packages", version);
}

static void add_user(struct search *search, const char *asked)
{
	const char *home = secure_getenv("HOME");
	char version[VERSION_MAX];

	if (!home || home[0] != '/' || search->root[0])
		return;
	system_version(search, asked, version);
	add_if_directory(search, "%s/.local/lib/python%s/site-packages", home, version);
}

/* pyvenv.cfg: "include-system-site-packages = true" */
static bool includes_system(const char *environment)
{
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *line = NULL;
	CLEANUP(cleanup_fclose) FILE *file = NULL;
	size_t room = 0;
	char value[8];

	if (asprintf(&path, "%s/pyvenv.cfg", environment) < 0)
		path = NULL;
	else
		file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0)
		if (sscanf(line, " include-system-site-packages = %7s", value) == 1)
			return strcasecmp(value, "true") == 0;
	return false;
}

static void add_given(struct search *search, const char *list)
{
	for (const char *at = list;; at++) {
		size_t len = strcspn(at, ":");
		CLEANUP(cleanup_free) char *path = strndup(at, len);

		search->failed |= !path || !sites_add(search->sites, path);
		at += len;
		if (!*at)
			break;
	}
}

static const char *environment_variable(const struct search *search, const char *name)
{
	const char *value = search->root[0] ? NULL : secure_getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

static void add_active(struct search *search, const char *version)
{
	const char *venv = environment_variable(search, "VIRTUAL_ENV");
	const char *conda = environment_variable(search, "CONDA_PREFIX");

	if (venv || conda)
		add_environment(search, venv ? venv : conda, version);
	if ((venv && includes_system(venv)) || (!venv && !conda)) {
		add_user(search, version);
		add_system(search, version);
	}
}

int sites_default(struct sites *sites, const char *version, const char *root)
{
	struct search search = {sites, root ? root : "", false};
	const char *given = root ? NULL : secure_getenv("ENTRYDB_PATH");

	if (given) {
		add_given(&search, given);
	} else {
		add_active(&search, version);
		add_all_pth(&search, 0);
	}
	return search.failed ? ERROR_NOMEM : 0;
}

/* --- everything --- */

static void add_library(struct search *search, const char *prefix, const char *lib)
{
	CLEANUP(sites_free) struct sites names = {0};

	find_pythons(search, prefix, lib, &names);
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.paths[i];

		add_if_directory(search, "%s/%s/%s/site-packages", prefix, lib, name);
		add_if_directory(search, "%s/%s/%s/dist-packages", prefix, lib, name);
		add_if_directory(search, "%s/%s/%s", prefix, lib, name);
		add_if_directory(search, "%s/%s/%s/lib-dynload", prefix, lib, name);
	}
	add_if_directory(search, "%s/%s/python3/dist-packages", prefix, lib);
}

static void add_prefix(struct search *search, const char *prefix)
{
	add_library(search, prefix, "lib");
	if (!is_link(search, prefix, "lib64"))
		add_library(search, prefix, "lib64");
}

int sites_of_prefix(struct sites *sites, const char *prefix, const char *root)
{
	struct search search = {sites, root ? root : "", false};

	add_prefix(&search, strcmp(prefix, "/") == 0 ? "" : prefix);
	return search.failed ? ERROR_NOMEM : 0;
}

/* PREFIX of PREFIX/bin/python3, links followed; a script (a shim) belongs to no prefix. */
static void add_python_on_path(struct search *search, const char *directory)
{
	CLEANUP(cleanup_free) char *name = NULL;
	CLEANUP(cleanup_free) char *real = NULL;
	char *slash;

	if (asprintf(&name, "%s/python3", directory) < 0)
		name = NULL;
	else if (access(name, X_OK) == 0)
		real = realpath(name, NULL);
	for (int up = 0; real && up < 2; up++) {
		slash = strrchr(real, '/');
		if (!slash || slash == real)
			return;
		*slash = '\0';
	}
	if (real)
		add_prefix(search, real);
}

static void add_pythons_on_path(struct search *search)
{
	const char *path = secure_getenv("PATH");

	while (path && *path) {
		size_t len = strcspn(path, ":");
		CLEANUP(cleanup_free) char *directory = strndup(path, len);

		if (directory && directory[0] == '/')
			add_python_on_path(search, directory);
		path += len + (path[len] == ':');
	}
}

static void add_pyenv(struct search *search)
{
	const char *given = secure_getenv("PYENV_ROOT"), *home = secure_getenv("HOME");
	CLEANUP(cleanup_free) char *versions = NULL;
	DIR *directory = NULL;

	if (asprintf(&versions, "%s%s/versions",
	             given  ? given
	             : home ? home
	                    : "",
	             given ? "" : "/.pyenv") < 0)
		versions = NULL;
	else
		directory = opendir(versions);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		CLEANUP(cleanup_free) char *prefix = NULL;

		if (entry->d_name[0] != '.' &&
		    asprintf(&prefix, "%s/%s", versions, entry->d_name) > 0)
			add_prefix(search, prefix);
	}
	if (directory)
		closedir(directory);
}

static void add_this_machine(struct search *search)
{
	static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
	const char *home = environment_variable(search, "HOME");
	CLEANUP(cleanup_free) char *local = NULL;

	if (home && asprintf(&local, "%s/.local", home) > 0)
		add_prefix(search, local);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (environment_variable(search, variables[i]))
			add_prefix(search, environment_variable(search, variables[i]));
	add_pythons_on_path(search);
	add_pyenv(search);
}

int sites_of_machine(struct sites *sites, const char *root)
{
	struct search search = {sites, root ? root : "", false};

	add_prefix(&search, "/usr/local");
	add_prefix(&search, "/usr");
	if (!root)
		add_this_machine(&search);
	return search.failed ? ERROR_NOMEM : 0;
}

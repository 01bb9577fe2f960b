/*
 * sites.c - computes site directories as Python's module site does, from names alone.
 */
#include "libquery/sites.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "libquery/disk/metadata/pth.h"
#include "libquery/layout.h"

#define PYTHON_MAX 24 /* bytes of "python3.14t" and the like */

void sites_free(struct sites *sites)
{
	for (size_t i = 0; i < sites->count; i++)
		free(sites->paths[i]);
	name_map_free(&sites->seen);
	free(sites->paths);
	*sites = (struct sites){0};
}

bool sites_add(struct sites *sites, const char *path)
{
	bool failed = false;
	char *copy;

	if (name_map_get(&sites->seen, slice_of(path)) != NAME_MAP_NONE)
		return true;
	if (!array_grow(&sites->paths, sites->count, sizeof(*sites->paths), &sites->room))
		return false;
	copy = strdup(path);
	if (!copy)
		return false;
	sites->paths[sites->count++] = copy;
	name_map_put(&sites->seen, slice_of(copy), 0, &failed);
	return !failed;
}

/* The state of a search. */
struct search {
	struct sites *sites;
	const char *sysroot;
	bool follows_pth; /* follow .pth files */
	int code;         /* of the first failure, or 0 */
	struct error *error;
};

static void search_failed(struct search *search, int code)
{
	if (search->code == 0)
		search->code = code;
}

/* Record errno, if it is a transient failure. */
static void system_failed(struct search *search, const char *path)
{
	if (errno_is_failure(errno))
		search_failed(search, error_errno(search->error, errno, "%s", path));
}

static void add_to(struct search *search, struct sites *sites, const char *path)
{
	if (!sites_add(sites, path))
		search_failed(search, error_nomem(search->error));
}

static void add(struct search *search, const char *path)
{
	add_to(search, search->sites, path);
}

/* Formatted text, malloc'd; NULL, with a failure recorded, if out of memory. */
static char *format(struct search *search, const char *text, ...)
        __attribute__((format(printf, 2, 3)));
static char *format(struct search *search, const char *text, ...)
{
	va_list arguments;
	char *formatted;

	va_start(arguments, text);
	formatted = text_format_list(text, arguments);
	va_end(arguments);
	if (!formatted)
		search_failed(search, error_nomem(search->error));
	return formatted;
}

/* The type of the file @path; 0 if it does not exist. */
static mode_t type_of(struct search *search, const char *path)
{
	CLEANUP(cleanup_free) char *real = format(search, "%s%s", search->sysroot, path);
	struct stat status;
	int code = real ? file_status(AT_FDCWD, real, &status, search->error) : 0;

	if (code < 0)
		search_failed(search, code);
	return code > 0 ? status.st_mode & S_IFMT : 0;
}

/* Add an existing path, a directory or an egg, as site does. */
static int add_pth_path(void *payload, const char *path)
{
	if (type_of(payload, path))
		add(payload, path);
	return 0;
}

/*
 * Add a site directory, if it exists, followed by the paths in its .pth files, in the order of
 * Python's site. @given: malloc'd, or NULL; takes ownership.
 */
static void add_site(struct search *search, char *given)
{
	CLEANUP(cleanup_free) char *path = given;
	CLEANUP(cleanup_free) char *real = NULL;

	if (!path || type_of(search, path) != S_IFDIR)
		return;
	add(search, path);
	if (search->follows_pth)
		real = format(search, "%s%s", search->sysroot, path);
	if (real)
		search_failed(search, pth_walk(real, path, READERS_NONE, add_pth_path, search,
		                               search->error));
}

/* Call @each for every item of a colon-separated list, including empty ones. */
static void each_item(struct search *search, const char *list,
                      void (*each)(struct search *search, const char *item))
{
	for (const char *end;; list = end + 1) {
		CLEANUP(cleanup_free) char *item = NULL;

		end = strchrnul(list, ':');
		item = format(search, "%.*s", (int)(end - list), list);
		if (item)
			each(search, item);
		if (!*end)
			return;
	}
}

/* --- the Pythons below a prefix --- */

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* Is it the directory of one version? Debian's python3 is shared by all. */
static bool names_python(const char *name)
{
	return strcmp(name, "python3") != 0 && layout_is_python(slice_of(name));
}

/* List the names in the directory @path (or NULL), newest version first, without hidden ones. */
static void list_names(struct search *search, const char *path, bool (*wanted)(const char *name),
                       struct sites *names)
{
	CLEANUP(cleanup_closedir)
	DIR *directory = path ? file_open_directory(AT_FDCWD, path) : NULL;
	const char *name;
	int left = directory ? 1 : -1;

	while (directory && (left = file_next(directory, &name)) > 0)
		if (name[0] != '.' && (!wanted || wanted(name)))
			add_to(search, names, name);
	if (path && left < 0)
		system_failed(search, path);
	if (names->count)
		qsort(names->paths, names->count, sizeof(*names->paths), by_version);
}

/* List the names pythonX.Y in PREFIX/LIB. */
static void find_pythons(struct search *search, const char *prefix, const char *lib,
                         struct sites *names)
{
	CLEANUP(cleanup_free) char *path = format(search, "%s%s/%s", search->sysroot, prefix, lib);

	list_names(search, path, names_python, names);
}

/* --- the active environment --- */

/*
 * The directory name of PREFIX's own Python, such as python3.12 or pypy3.10: of the given version,
 * else the newest in lib.
 */
static void own_python(struct search *search, const char *prefix, const char *asked,
                       char python[PYTHON_MAX])
{
	CLEANUP(sites_free) struct sites names = {0};

	if (!asked)
		find_pythons(search, prefix, "lib", &names);
	if (names.count)
		snprintf(python, PYTHON_MAX, "%s", names.paths[0]);
	else
		snprintf(python, PYTHON_MAX, "python%s", asked ? asked : "");
}

/* In a virtual environment lib64 is a link to lib, with the same directories. */
static bool has_own_lib64(struct search *search, const char *prefix)
{
	CLEANUP(cleanup_free) char *path = format(search, "%s%s/lib64", search->sysroot, prefix);
	CLEANUP(cleanup_close)
	int fd = path ? file_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW) : -1;
	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0)
		return !S_ISLNK(status.st_mode);
	if (path)
		system_failed(search, path);
	return false;
}

static void add_environment(struct search *search, const char *prefix, const char *asked)
{
	char python[PYTHON_MAX];

	own_python(search, prefix, asked, python);
	add_site(search, format(search, "%s/lib/%s/site-packages", prefix, python));
	if (has_own_lib64(search, prefix))
		add_site(search, format(search, "%s/lib64/%s/site-packages", prefix, python));
}

/* The target of the link /usr/bin/python3, as on Debian and Fedora. */
static void system_python(struct search *search, const char *asked, char python[PYTHON_MAX])
{
	CLEANUP(cleanup_free) char *path = format(search, "%s/usr/bin/python3", search->sysroot);
	CLEANUP(cleanup_close)
	int fd = path && !asked ? file_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW) : -1;
	ssize_t len = fd < 0 ? fd : readlinkat(fd, "", python, PYTHON_MAX - 1);

	if (len < 0 && path && !asked)
		system_failed(search, path);
	python[len > 0 ? len : 0] = '\0';
	if (!names_python(python))
		own_python(search, "/usr", asked, python);
}

/* Debian uses dist-packages, also in /usr/local; others use site-packages. */
static void add_system(struct search *search, const char *python)
{
	if (type_of(search, "/usr/lib/python3/dist-packages") == S_IFDIR) {
		add_site(search, format(search, "/usr/local/lib/%s/dist-packages", python));
		add_site(search, format(search, "/usr/lib/python3/dist-packages"));
		add_site(search, format(search, "/usr/lib/%s/dist-packages", python));
		return;
	}
	add_site(search, format(search, "/usr/local/lib64/%s/site-packages", python));
	add_site(search, format(search, "/usr/local/lib/%s/site-packages", python));
	add_site(search, format(search, "/usr/lib64/%s/site-packages", python));
	add_site(search, format(search, "/usr/lib/%s/site-packages", python));
}

struct slice pyvenv_take(struct slice *text, struct slice key)
{
	while (text->len > 0) {
		struct slice line = slice_take_line(text);
		const char *equals = line.len ? memchr(line.ptr, '=', line.len) : NULL;
		struct slice name =
		        equals ? unicode_strip(slice_between(line.ptr, equals)) : (struct slice){0};

		if (equals && name.len == key.len && strncasecmp(name.ptr, key.ptr, key.len) == 0)
			return unicode_strip(slice_between(equals + 1, line.ptr + line.len));
	}
	return (struct slice){0};
}

static bool includes_system(struct search *search, const char *environment)
{
	CLEANUP(cleanup_free) char *path = format(search, "%s/pyvenv.cfg", environment);
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct slice text = {0}, value;
	bool includes = false;
	int code =
	        path ? small_file_read(path, PYVENV_CFG_MAX, &bytes, &text.len, search->error) : 0;

	if (code < 0)
		search_failed(search, code);
	if (code <= 0)
		return false;
	text.ptr = bytes;
	while (!slice_is_null(value = pyvenv_take(&text, SLICE("include-system-site-packages"))))
		includes = value.len == 4 && strncasecmp(value.ptr, "true", 4) == 0;
	return includes;
}

/* An environment variable with an absolute path; ignored with a sysroot. */
static const char *environment_variable(const struct search *search, const char *name)
{
	const char *value = search->sysroot[0] ? NULL : trust_environment(name);

	return value && value[0] == '/' ? value : NULL;
}

static void add_active(struct search *search, const char *version)
{
	const char *venv = environment_variable(search, "VIRTUAL_ENV");
	const char *conda = environment_variable(search, "CONDA_PREFIX");
	const char *home = environment_variable(search, "HOME");
	char python[PYTHON_MAX];

	if (venv || conda)
		add_environment(search, venv ? venv : conda, version);
	if (venv ? !includes_system(search, venv) : conda != NULL)
		return;
	system_python(search, version, python);
	if (home)
		add_site(search, format(search, "%s/.local/lib/%s/site-packages", home, python));
	add_system(search, python);
}

int sites_default(struct sites *sites, const char *version, const char *sysroot,
                  struct error *error)
{
	struct search search = {sites, sysroot ? sysroot : "", true, 0, error};
	const char *given = sysroot ? NULL : trust_environment("ENTRYDB_PATH");

	if (given)
		each_item(&search, given, add);
	else
		add_active(&search, version);
	return search.code;
}

/* --- the whole machine --- */

static void add_library(struct search *search, const char *prefix, const char *lib)
{
	static const char *const below[] = {"/site-packages", "/dist-packages", "", "/lib-dynload"};
	CLEANUP(sites_free) struct sites names = {0};

	find_pythons(search, prefix, lib, &names);
	for (size_t i = 0; i < names.count; i++)
		for (size_t j = 0; j < sizeof(below) / sizeof(*below); j++)
			add_site(search, format(search, "%s/%s/%s%s", prefix, lib, names.paths[i],
			                        below[j]));
	add_site(search, format(search, "%s/%s/python3/dist-packages", prefix, lib));
}

static void add_prefix(struct search *search, const char *prefix)
{
	add_library(search, prefix, "lib");
	if (has_own_lib64(search, prefix))
		add_library(search, prefix, "lib64");
}

int sites_of_prefix(struct sites *sites, const char *prefix, const char *sysroot,
                    struct error *error)
{
	struct search search = {sites, sysroot ? sysroot : "", false, 0, error};

	add_prefix(&search, strcmp(prefix, "/") == 0 ? "" : prefix);
	return search.code;
}

/* The PREFIX of PREFIX/bin/python3 after resolving links; a wrapper script (a shim) has none. */
static void add_python_on_path(struct search *search, const char *directory)
{
	CLEANUP(cleanup_free)
	char *name = directory[0] == '/' ? format(search, "%s/python3", directory) : NULL;
	CLEANUP(cleanup_free) char *real = NULL;

	if (name && type_of(search, name) == S_IFREG && !(real = safe_real_path(name, NULL)))
		system_failed(search, name);
	for (int up = 0; real && up < 2; up++) {
		char *slash = strrchr(real, '/');

		if (!slash || slash == real)
			return;
		*slash = '\0';
	}
	if (real)
		add_prefix(search, real);
}

static void add_pyenv(struct search *search, const char *root, const char *below)
{
	CLEANUP(sites_free) struct sites names = {0};
	CLEANUP(cleanup_free) char *versions = format(search, "%s%s/versions", root, below);

	list_names(search, versions, NULL, &names);
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP(cleanup_free)
		char *prefix = format(search, "%s/%s", versions, names.paths[i]);

		if (prefix)
			add_prefix(search, prefix);
	}
}

static void add_this_machine(struct search *search)
{
	const char *home = environment_variable(search, "HOME");
	const char *venv = environment_variable(search, "VIRTUAL_ENV");
	const char *conda = environment_variable(search, "CONDA_PREFIX");
	const char *path = trust_environment("PATH"), *pyenv = trust_environment("PYENV_ROOT");
	CLEANUP(cleanup_free) char *local = home ? format(search, "%s/.local", home) : NULL;

	if (local)
		add_prefix(search, local);
	if (venv)
		add_prefix(search, venv);
	if (conda)
		add_prefix(search, conda);
	if (path)
		each_item(search, path, add_python_on_path);
	if (pyenv || home)
		add_pyenv(search, pyenv ? pyenv : home, pyenv ? "" : "/.pyenv");
}

int sites_of_machine(struct sites *sites, const char *sysroot, struct error *error)
{
	struct search search = {sites, sysroot ? sysroot : "", false, 0, error};

	add_prefix(&search, "/usr/local");
	add_prefix(&search, "/usr");
	if (!sysroot)
		add_this_machine(&search);
	return search.code;
}

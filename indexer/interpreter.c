/*
 * interpreter.c - finds the interpreter of an entry point by the layout of its prefix, and checks
 * for root who controls what it would run.
 */
#include "indexer/interpreter.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "libquery/disk/metadata/pth.h"
#include "libquery/layout.h"
#include "libquery/sites.h"

#define DIRECT_URL_READ ((size_t)64 << 10) /* bytes of direct_url.json that are read */

/* The component "pythonX.Y" of @path after its prefix; "python3" if there is none. */
static struct slice python_of(const char *path, size_t prefix_len)
{
	const char *lib = path + prefix_len + 1;
	const char *name = strchr(lib, '/');
	struct slice python = {name ? name + 1 : "", name ? strcspn(name + 1, "/") : 0};

	return slice_starts(python, SLICE("python")) && memchr(python.ptr, '.', python.len)
	               ? python
	               : SLICE("python3");
}

/*
 * The interpreter in the prefix of a path entry; *out stays NULL if there is none. The system's
 * packages may have another prefix than its Python.
 */
static int interpreter_of(const char *path_entry, char **out)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(path_entry);
	struct slice prefixes[] = {slice_of(path), SLICE("/usr/local"), SLICE("/usr")}, python;
	long len = path ? layout_prefix(path) : -1;
	size_t count;

	if (len < 0)
		return 0;
	python = python_of(path, (size_t)len);
	prefixes[0].len = (size_t)len;
	count = layout_environment(path) > 0 ? 1 : 3;
	for (size_t i = 0; i < count && !*out; i++) {
		struct stat status;
		CLEANUP(cleanup_free)
		char *file = text_format("%.*s/bin/%.*s", (int)prefixes[i].len, prefixes[i].ptr,
		                         (int)python.len, python.ptr);

		if (!file)
			return ERROR_NOMEM;
		if (file_status(AT_FDCWD, file, &status, NULL) > 0 && status.st_mode & 0111)
			*out = take(file);
	}
	return 0;
}

/* Root runs nothing that another user owns, could have replaced, or can add modules to. */
static int check_owner(const char *path, struct error *error)
{
	int code = geteuid() == 0 ? safe_believe_place(path, NULL, false, error) : 0;

	return code < 0 ? error_set(error, code, "%s: not run: %s", path, error_text(error)) : 0;
}

/* The same for the directory and each file in it that may be the module @name, by any suffix. */
static int check_files(const char *directory, const char *name, struct error *error)
{
	int more = 1, code = check_owner(directory, error);
	CLEANUP(cleanup_closedir)
	DIR *opened = code == 0 ? file_open_directory(AT_FDCWD, directory) : NULL;
	size_t len = strlen(name);
	const char *found;

	while (code == 0 && opened && (more = file_next(opened, &found)) > 0) {
		CLEANUP(cleanup_free) char *file = NULL;

		if (strncmp(found, name, len) != 0 || !strchr(".", found[len]))
			continue;
		file = text_format("%s/%s", directory, found);
		code = file ? check_owner(file, error) : error_nomem(error);
	}
	if (code == 0 && (!opened || more < 0) && errno_is_failure(errno))
		code = error_errno(error, errno, "%s", directory);
	return code;
}

static int check_import(const char *directory, const char *name, struct error *error)
{
	CLEANUP(cleanup_free) char *compiled = text_format("%s/__pycache__", directory);
	int code = compiled ? check_files(directory, name, error) : error_nomem(error);

	return code < 0 ? code : check_files(compiled, name, error);
}

/* A module that is looked for in several directories. */
struct import {
	const char *module;
	struct error *error;
};

/* The same for the module and its packages, as far as they are in the directory; a pth_each. */
static int check_module(void *payload, const char *place)
{
	const struct import *import = payload;
	CLEANUP(cleanup_free) char *path = text_format("%s/%s.", place, import->module);
	char *dot = path ? path + strlen(place) : NULL;
	int code = path ? 0 : error_nomem(import->error);

	while (code == 0 && (dot = strchr(dot, '.'))) {
		char *slash;

		*dot = '\0';
		slash = strrchr(path, '/');
		*slash = '\0';
		code = check_import(path, slash + 1, import->error);
		*slash = '/';
		if (code == 0)
			code = check_import(path, "__init__", import->error);
		*dot = '/';
	}
	return code;
}

/* The same in the sources of an editable install, where its import hook finds modules. */
static int check_sources(struct import *import, const char *info)
{
	CLEANUP(cleanup_free) char *file = text_format("%s/direct_url.json", info);
	CLEANUP(cleanup_free) char *text = NULL;
	size_t len;
	int code = file ? small_file_read(file, DIRECT_URL_READ, &text, &len, import->error)
	                : error_nomem(import->error);
	char *place = code > 0 && strstr(text, "\"editable\"") ? strstr(text, "file://") : NULL;

	place = place ? strchr(place + strlen("file://"), '/') : NULL;
	if (!place)
		return code < 0 ? code : 0;
	text_unescape_url(place, strcspn(place, "\""));
	return check_module(import, place);
}

/* All places where Python may find it. */
static int check_entry_point(const entrydb_entry_point *entry_point, struct error *error)
{
	const char *own = entrydb_entry_point_path(entry_point);
	struct import import = {entrydb_entry_point_module(entry_point), error};
	int code = check_module(&import, own);

	if (code == 0)
		code = pth_walk(own, own, READERS_NONE, check_module, &import, error);
	return code < 0 ? code : check_sources(&import, entrydb_entry_point_file(entry_point));
}

/* The same for the standard library of a virtual environment, which pyvenv.cfg determines. */
static int check_settings(const char *interpreter, struct error *error)
{
	struct slice prefix = path_directory(path_directory(slice_of(interpreter)));
	CLEANUP(cleanup_free)
	char *file = text_format("%.*s/pyvenv.cfg", (int)prefix.len, prefix.ptr);
	CLEANUP(cleanup_free) char *bytes = NULL;
	CLEANUP(cleanup_free) char *home = NULL;
	struct slice text = {0}, value;
	int code = !file            ? error_nomem(error)
	           : geteuid() != 0 ? 0
	                            : small_file_read_trusted(file, PYVENV_CFG_MAX, TRUST_NO_OTHER,
	                                                      &bytes, &text.len, error);

	if (code <= 0)
		return code;
	text.ptr = bytes;
	value = pyvenv_take(&text, SLICE("home"));
	if (value.len == 0)
		return 0;
	home = strndup(value.ptr, value.len);
	code = home ? safe_believe_place(home, NULL, false, error) : error_nomem(error);
	return code < 0 ? error_set(error, code, "%s: not run: %s", file, error_text(error)) : 0;
}

int interpreter_find(entrydb *db, const entrydb_entry_point *entry_point, char **out,
                     struct error *error)
{
	const char *own = entrydb_entry_point_path(entry_point);
	entrydb_path *path = NULL;
	int code;

	*out = NULL;
	if (layout_is_url(slice_of(own))) /* to Python, a directory in the current one */
		return error_set(error, ERROR_NOTFOUND,
		                 "%s is a package index: nothing of it is installed", own);
	code = interpreter_of(own, out);
	if (code == 0 && !*out && entrydb_describe_path(db, &path, NULL) == 0)
		for (size_t i = 0; code == 0 && !*out && i < entrydb_path_count(path); i++)
			code = interpreter_of(entrydb_path_entry_path(entrydb_path_get(path, i)),
			                      out);
	entrydb_path_free(path);
	if (code < 0)
		return error_nomem(error);
	if (!*out)
		return error_set(
		        error, ERROR_NOTFOUND,
		        "no Python was found for %s; activate its environment, or name its "
		        "site directory with --path",
		        own);
	code = check_owner(own, error);
	if (code == 0 && geteuid() == 0)
		code = check_entry_point(entry_point, error);
	if (code == 0)
		code = check_owner(*out, error);
	return code < 0 ? code : check_settings(*out, error);
}

/* A variable of the environment; NULL if it is empty, as for Python. */
static const char *variable(const char *name)
{
	const char *value = trust_environment(name);

	return value && *value ? value : NULL;
}

/* May another user have put modules there? */
static bool is_foreign(const char *directory)
{
	CLEANUP(error_clear) struct error error = {0};

	return directory && (check_owner(directory, &error) < 0 || safe_is_of_another(directory));
}

/* Remove the relative items of a list of directories, and empty ones, which are the current one. */
static void keep_absolute(const char *name)
{
	CLEANUP(cleanup_free) char *given = strdup(variable(name) ? variable(name) : "");
	CLEANUP(cleanup_free) char *kept = strdup("");
	struct slice rest = slice_of(given);

	while (kept && rest.len > 0) {
		CLEANUP(cleanup_free) char *before = take(kept);
		struct slice item = slice_take(&rest, ':');

		kept = slice_starts(item, SLICE("/"))
		               ? text_format("%s%s%.*s", before, *before ? ":" : "", (int)item.len,
		                             item.ptr)
		               : take(before);
	}
	if (!given || !kept || !*kept || setenv(name, kept, true) != 0)
		unsetenv(name);
}

/* The user's home, as Python finds it; NULL if it is unknown. */
static const char *home_of_user(void)
{
	const char *home = variable("HOME");
	const struct passwd *account = home ? NULL : getpwuid(getuid());

	return account ? account->pw_dir : home;
}

/*
 * May what .pth files in the user's site directory contain be another user's? They would be run.
 * Its name depends on the interpreter, whose version the path does not always show: so that of each
 * is judged.
 */
static bool is_user_site_foreign(void)
{
	const char *base = variable("PYTHONUSERBASE");
	const char *home = base ? base : home_of_user();
	CLEANUP(cleanup_free)
	char *library = home ? text_format("%s%s/lib", home, base ? "" : "/.local") : NULL;
	CLEANUP(error_clear) struct error error = {0};
	CLEANUP(cleanup_closedir) DIR *opened = NULL;
	const char *name;
	int more = 0;

	if (!library || is_foreign(home) || check_owner(library, &error) < 0)
		return true;
	opened = file_open_directory(AT_FDCWD, library);
	while (opened && (more = file_next(opened, &name)) > 0) {
		CLEANUP(cleanup_free)
		char *site = text_format("%s/%s/site-packages", library, name);

		if (!site || check_owner(site, &error) < 0)
			return true;
	}
	return more < 0 || (!opened && errno_is_failure(errno));
}

void interpreter_execute(const char *const words[])
{
	CLEANUP(error_clear) struct error error = {0};

	if (is_user_site_foreign())
		setenv("PYTHONNOUSERSITE", "1", true);
	if (is_foreign(variable("PYTHONPYCACHEPREFIX")))
		unsetenv("PYTHONPYCACHEPREFIX");
	/* Only where others can add modules: programs such as coverage behave differently then. */
	if (safe_believe_place(".", NULL, false, &error) < 0) {
		if (!variable(INTERPRETER_SAFE))
			setenv(INTERPRETER_SAFE, "entrydb", true);
		keep_absolute("PYTHONPATH");
		keep_absolute("PYTHONHOME");
	}
	execv(words[0], (char *const *)words);
}

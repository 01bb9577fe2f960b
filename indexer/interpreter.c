/*
 * Finds the Python that an entry point is for, by the layout of its prefix.
 */
#include "indexer/interpreter.h"

#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "libquery/layout.h"

/* The component "pythonX.Y" of @path that follows its prefix; "python3" where it has none. */
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
 * That of the prefix in which the path entry lies; *out stays NULL if there is none. Packages of
 * the system may lie in another prefix than Python.
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
		CLEANUP(cleanup_free)
		char *file = text_format("%.*s/bin/%.*s", (int)prefixes[i].len, prefixes[i].ptr,
		                         (int)python.len, python.ptr);

		if (!file)
			return ERROR_NOMEM;
		if (access(file, X_OK) == 0)
			*out = take(file);
	}
	return 0;
}

/* Root runs nothing that is somebody else's, or that somebody else could have put there. */
static int check_owner(const char *path, struct error *error)
{
	struct safe_way way;
	int code = geteuid() == 0 ? safe_path_look(path, NULL, &way, error) : 0;

	if (code == 0 && geteuid() == 0 && way.uid != 0)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: nothing of it is run, since it belongs to user %u; do it as "
		                 "that user",
		                 path, way.uid);
	return code;
}

int interpreter_find(entrydb *db, const entrydb_entry_point *entry_point, char **out,
                     struct error *error)
{
	const char *own = entrydb_entry_point_path(entry_point);
	entrydb_path *path = NULL;
	int code;

	*out = NULL;
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
	return code < 0 ? code : check_owner(*out, error);
}

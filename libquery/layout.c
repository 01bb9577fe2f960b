/*
 * layout.c - the rules for path names, defined only here.
 */
#include "libquery/layout.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"

#define DATABASE      "/var/lib/entrydb/entry_points.db"
#define USER_DATABASE "/entrydb/entry_points.db"
#define USER_STATE    "/.local/state"
#define POLICY        "/etc/entrydb/policy.conf"
#define USER_CONFIG   "/.config"

void coverage_free(struct coverage *coverage)
{
	free(coverage->database);
	free(coverage->root_path);
	*coverage = (struct coverage){0};
}

bool layout_is_python(struct slice component)
{
	static const char *const names[] = {"python", "pypy"};
	struct slice version = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (slice_starts(component, slice_of(names[i])))
			version = slice_from(component, strlen(names[i]));
	if (version.len == 0 || !isdigit((unsigned char)version.ptr[0]))
		return false;
	for (size_t i = 0; i < version.len; i++)
		if (!isdigit((unsigned char)version.ptr[i]) && version.ptr[i] != '.' &&
		    version.ptr[i] != 't')
			return false;
	return true;
}

static bool is_archive(struct slice component)
{
	return ascii_ends_ignoring_case(component, SLICE(".egg")) ||
	       ascii_ends_ignoring_case(component, SLICE(".zip")) ||
	       ascii_ends_ignoring_case(component, SLICE(".whl"));
}

/* Does @rest, which follows PREFIX/lib/, match a layout exactly? */
static bool is_layout(struct slice rest)
{
	struct slice python = slice_take(&rest, '/'), site;

	if (slice_ends(python, SLICE(".zip"))) /* python311.zip */
		return rest.len == 0 && layout_is_python(slice_first(python, python.len - 4));
	if (!layout_is_python(python) || rest.len == 0)
		return layout_is_python(python);
	site = slice_take(&rest, '/');
	return (slice_equal(site, SLICE("site-packages")) ||
	        slice_equal(site, SLICE("dist-packages")) ||
	        slice_equal(site, SLICE("lib-dynload"))) &&
	       (rest.len == 0 || (is_archive(rest) && !memchr(rest.ptr, '/', rest.len)));
}

/* The longest match, since environments may be nested. */
long layout_prefix(const char *path)
{
	struct slice rest = slice_of(path + (path[0] == '/'));
	long found = -1;

	while (rest.len > 0) {
		struct slice component = slice_take(&rest, '/');

		if ((!slice_equal(component, SLICE("lib")) &&
		     !slice_equal(component, SLICE("lib64"))) ||
		    !is_layout(rest))
			continue;
		found = component.ptr - 1 - path;
	}
	return found;
}

bool layout_is_known(const char *path)
{
	return layout_prefix(path) >= 0;
}

static bool is_system(struct slice prefix)
{
	return prefix.len == 0 || slice_equal(prefix, SLICE("/usr")) ||
	       slice_equal(prefix, SLICE("/usr/local"));
}

static bool is_user(struct slice prefix)
{
	struct slice home = slice_of(trust_environment("HOME"));

	return home.len > 0 && slice_starts(prefix, home) &&
	       slice_equal(slice_from(prefix, home.len), SLICE("/.local"));
}

long layout_environment(const char *path)
{
	long len = layout_prefix(path);
	struct slice prefix = {path, (size_t)len};

	if (len < 0 || is_user(prefix))
		return -1;
	return is_system(prefix) ? 0 : len;
}

static int fill(struct coverage *out, char *database, char *root_path)
{
	*out = (struct coverage){database, root_path};
	if (database && root_path)
		return 1;
	coverage_free(out);
	return ERROR_NOMEM;
}

int layout_of_prefix(const char *path, const char *sysroot, struct coverage *out)
{
	long len = layout_prefix(path);
	struct slice prefix = {path, (size_t)len};

	if (len < 0)
		return 0;
	if (is_user(prefix))
		return layout_of_user(path, out);
	if (is_system(prefix))
		prefix.len = 0;
	return fill(out,
	            text_format("%s%.*s" DATABASE, sysroot ? sysroot : "", (int)prefix.len, path),
	            strdup(path + prefix.len + 1));
}

char *layout_policy(const char *sysroot, struct slice prefix)
{
	return text_format("%s%.*s" POLICY, sysroot ? sysroot : "", (int)prefix.len, prefix.ptr);
}

/*
 * The file @name in the directory $VARIABLE, else in @otherwise below the home directory. *out is
 * NULL if neither is set.
 */
static int user_file(const char *variable, const char *otherwise, const char *name, char **out)
{
	const char *directory = trust_environment(variable), *home = trust_environment("HOME");
	bool is_named = directory && directory[0] == '/';

	*out = NULL;
	if (!is_named && (!home || home[0] != '/'))
		return 0;
	*out = text_format("%s%s%s", is_named ? directory : home, is_named ? "" : otherwise, name);
	return *out ? 0 : ERROR_NOMEM;
}

int layout_user_config(const char *name, char **out)
{
	return user_file("XDG_CONFIG_HOME", USER_CONFIG, name, out);
}

int layout_user_state(const char *name, char **out)
{
	return user_file("XDG_STATE_HOME", USER_STATE, name, out);
}

int layout_of_user(const char *path, struct coverage *out)
{
	char *file;

	if (layout_user_state(USER_DATABASE, &file) < 0)
		return ERROR_NOMEM;
	return file ? fill(out, file, strdup(path)) : 0;
}

bool layout_is_of_prefix(const char *database)
{
	return slice_ends(slice_of(database), SLICE(DATABASE));
}

char *layout_base(const char *database)
{
	return layout_is_of_prefix(database)
	               ? strndup(database, strlen(database) - (sizeof(DATABASE) - 1))
	               : strdup("");
}

char *layout_root_path(const char *database, const char *path)
{
	CLEANUP(cleanup_free) char *base = layout_base(database);
	size_t len = base ? strlen(base) : 0;
	bool is_below = layout_is_of_prefix(database) && base && strncmp(path, base, len) == 0 &&
	                path[len] == '/';

	return base ? strdup(is_below ? path + len + 1 : path) : NULL;
}

bool layout_is_url(struct slice path)
{
	return slice_starts(path, SLICE("http://")) || slice_starts(path, SLICE("https://"));
}

char *layout_path_of_root(const char *base, struct slice root_path)
{
	if (slice_starts(root_path, SLICE("/")) || layout_is_url(root_path))
		return strndup(root_path.ptr, root_path.len);
	return text_format("%s/%.*s", base, (int)root_path.len, root_path.ptr);
}

char *layout_absolute(const char *entry)
{
	CLEANUP(cleanup_free) char *directory = entry[0] == '/' ? NULL : getcwd(NULL, 0);
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *copy = NULL;

	if (entry[0] != '/' && !directory)
		return NULL;
	if (layout_is_url(slice_of(entry)))
		return strdup(entry);
	path = directory ? text_format("%s/%s", directory, entry) : strdup(entry);
	copy = path ? strdup(path) : NULL;
	if (!copy)
		return NULL;
	if (path_tidy(copy, false))
		return take(copy);
	return safe_real_path(path, NULL);
}

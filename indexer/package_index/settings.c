/*
 * settings.c - reads pip's configuration files, which are those of Python's configparser, and its
 * environment variables.
 */
#include "indexer/package_index/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"

#define FILE_MAX ((size_t)1 << 20) /* bytes of a pip.conf */

static const struct {
	const char *key, *variable;
} names[SETTINGS] = {{"index-url", "PIP_INDEX_URL"},
                     {"extra-index-url", "PIP_EXTRA_INDEX_URL"},
                     {"proxy", "PIP_PROXY"},
                     {"cert", "PIP_CERT"},
                     {"client-cert", "PIP_CLIENT_CERT"},
                     {"netrc", "NETRC"}};

/* A later file overrides settings of an earlier one, separately for each section. */
enum section { SECTION_OTHER = -1, SECTION_GLOBAL, SECTION_INSTALL, SECTIONS };

struct reading {
	char *values[SECTIONS][SETTINGS];
	bool failed;
};

void settings_free(struct settings *settings)
{
	for (size_t i = 0; i < SETTINGS; i++)
		free(settings->values[i]);
}

static void set(struct reading *reading, char **at, const char *before, struct slice value)
{
	char *text = text_format("%s%s%.*s", before, *before ? " " : "", (int)value.len, value.ptr);

	reading->failed |= !text;
	free(*at);
	*at = text;
}

static enum section section_of(struct slice line)
{
	return slice_equal(line, SLICE("[global]"))    ? SECTION_GLOBAL
	       : slice_equal(line, SLICE("[install]")) ? SECTION_INSTALL
	                                               : SECTION_OTHER;
}

/* The place for the value of @key; NULL: unused setting. Like pip, treats '_' as '-'. */
static char **find(struct reading *reading, enum section section, struct slice key)
{
	for (size_t i = 0; section != SECTION_OTHER && i < SETTINGS; i++) {
		size_t at = 0;

		while (at < key.len &&
		       tolower((unsigned char)(key.ptr[at] == '_' ? '-' : key.ptr[at])) ==
		               names[i].key[at])
			at++;
		if (at == key.len && !names[i].key[at])
			return &reading->values[section][i];
	}
	return NULL;
}

/* An indented line continues the previous value. */
static void read_lines(struct reading *reading, struct slice text)
{
	enum section section = SECTION_OTHER;
	char **at = NULL;

	while (text.len > 0) {
		struct slice raw = slice_take_line(&text), line = unicode_strip(raw);
		size_t mark = 0;

		if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == ';')
			continue;
		while (mark < line.len && line.ptr[mark] != '=' && line.ptr[mark] != ':')
			mark++;
		if (isspace((unsigned char)raw.ptr[0])) {
			if (at)
				set(reading, at, *at ? *at : "", line);
			continue;
		}
		at = NULL;
		if (line.ptr[0] == '[')
			section = section_of(line);
		else if (mark < line.len)
			at = find(reading, section, unicode_strip(slice_first(line, mark)));
		if (at)
			set(reading, at, "", unicode_strip(slice_from(line, mark + 1)));
	}
}

/* Read the file @name in @directory (or NULL or empty), if it exists. */
static int read_file(struct reading *reading, const char *directory, const char *name,
                     struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	int code;

	if (!directory || !*directory)
		return 0;
	path = text_format("%s%s", directory, name);
	code = path ? small_file_read_trusted(path, FILE_MAX, geteuid(), &text, &length, error)
	            : error_nomem(error);
	if (code > 0)
		read_lines(reading, (struct slice){text, length});
	return code < 0 ? code : 0;
}

static int read_files(struct reading *reading, struct error *error)
{
	const char *home = trust_environment("HOME"),
	           *config = trust_environment("XDG_CONFIG_HOME"),
	           *only = trust_environment("PIP_CONFIG_FILE"),
	           *system = trust_environment("XDG_CONFIG_DIRS");
	bool has_config = config && *config;
	const struct {
		const char *directory, *name;
	} files[] = {{"/etc", "/pip.conf"},
	             {home, "/.pip/pip.conf"},
	             {has_config ? config : home,
	              has_config ? "/pip/pip.conf" : "/.config/pip/pip.conf"},
	             {trust_environment("VIRTUAL_ENV"), "/pip.conf"},
	             {only, ""}};
	struct slice rest = slice_of(system && *system ? system : "/etc/xdg");
	int code = 0;

	if (only && strcmp(only, "/dev/null") == 0)
		return 0;
	while (code == 0 && rest.len > 0) {
		struct slice one = slice_take(&rest, ':');
		CLEANUP(cleanup_free) char *directory = strndup(one.ptr, one.len);

		code = read_file(reading, directory, "/pip/pip.conf", error);
	}
	for (size_t i = 0; code == 0 && i < sizeof(files) / sizeof(*files); i++)
		code = read_file(reading, files[i].directory, files[i].name, error);
	return code;
}

/* libcurl opens files by their names, so other users must not be able to replace them. */
static int check_files(char **values, struct error *error)
{
	static const enum setting files[] = {SETTING_CERTIFICATES, SETTING_CLIENT};
	const char *home = trust_environment("HOME");
	char **netrc = &values[SETTING_NETRC];
	struct stat status = {0};
	int code;

	if (!*netrc && home && *home && !(*netrc = text_format("%s/.netrc", home)))
		return error_nomem(error);
	code = *netrc ? safe_believe_named(*netrc, &status, error) : 1;
	if (code == 0 || !S_ISREG(status.st_mode))
		free(take(*netrc));
	for (size_t i = 0; code >= 0 && i < sizeof(files) / sizeof(*files); i++)
		if (values[files[i]])
			code = safe_believe(values[files[i]], NULL, TRUST_NO_OTHER, NULL, error);
	return code < 0 ? code : 0;
}

int settings_read(struct settings *out, struct error *error)
{
	struct reading reading = {0};
	int code = read_files(&reading, error);

	for (enum setting i = 0; i < SETTINGS; i++) {
		const char *variable = trust_environment(names[i].variable);
		char **install = &reading.values[SECTION_INSTALL][i];

		if (variable && *variable)
			set(&reading, install, "", slice_of(variable));
		out->values[i] =
		        *install ? take(*install) : take(reading.values[SECTION_GLOBAL][i]);
		free(reading.values[SECTION_GLOBAL][i]);
	}
	if (code == 0 && reading.failed)
		code = error_nomem(error);
	return code < 0 ? code : check_files(out->values, error);
}

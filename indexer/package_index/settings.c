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
#include "libquery/layout.h"

#define FILE_MAX ((size_t)1 << 20) /* bytes of a pip.conf */

static const struct {
	const char *key, *variable;
} names[SETTINGS] = {{"index-url", "PIP_INDEX_URL"},
                     {"extra-index-url", "PIP_EXTRA_INDEX_URL"},
                     {"proxy", "PIP_PROXY"},
                     {"cert", "PIP_CERT"},
                     {"client-cert", "PIP_CLIENT_CERT"},
                     {"netrc", "NETRC"}};

void settings_free(struct settings *settings)
{
	for (size_t i = 0; i < SETTINGS; i++)
		free(settings->values[i]);
}

static void set(char **at, const char *before, struct slice value, bool *failed)
{
	char *text = text_format("%s%s%.*s", before, *before ? " " : "", (int)value.len, value.ptr);

	*failed |= !text;
	free(*at);
	*at = text;
}

/* The place for the value of @key; NULL: unused setting. Like pip, treats '_' as '-'. */
static char **find(char **values, struct slice key)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		size_t at = 0;

		while (at < key.len &&
		       tolower((unsigned char)(key.ptr[at] == '_' ? '-' : key.ptr[at])) ==
		               names[i].key[at])
			at++;
		if (at == key.len && !names[i].key[at])
			return &values[i];
	}
	return NULL;
}

/* Read the settings of one section. An indented line continues the previous value. */
static void read_section(struct slice text, struct slice section, char **values, bool *failed)
{
	bool is_inside = false;
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
				set(at, *at ? *at : "", line, failed);
			continue;
		}
		at = NULL;
		if (line.ptr[0] == '[')
			is_inside = slice_equal(line, section);
		else if (is_inside && mark < line.len)
			at = find(values, unicode_strip(slice_first(line, mark)));
		if (at)
			set(at, "", unicode_strip(slice_from(line, mark + 1)), failed);
	}
}

/* Append the file @name in @directory (or NULL or empty), if it exists. */
static int read_file(FILE *all, const char *directory, const char *name, struct error *error)
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
	if (code > 0 && fwrite(text, 1, length, all) == length)
		fputs("\n[]\n", all); /* its last section ends */
	return code < 0 ? code : 0;
}

static int read_files(FILE *all, struct error *error)
{
	CLEANUP(cleanup_free) char *user = NULL;
	int code = layout_user_config("/pip/pip.conf", &user) < 0 ? error_nomem(error) : 0;
	const char *only = trust_environment("PIP_CONFIG_FILE"),
	           *system = trust_environment("XDG_CONFIG_DIRS");
	const struct {
		const char *directory, *name;
	} files[] = {{"/etc", "/pip.conf"},
	             {trust_environment("HOME"), "/.pip/pip.conf"},
	             {user, ""},
	             {trust_environment("VIRTUAL_ENV"), "/pip.conf"},
	             {only, ""}};
	struct slice rest = slice_of(system && *system ? system : "/etc/xdg");

	if (only && strcmp(only, "/dev/null") == 0)
		return 0;
	while (code == 0 && rest.len > 0) {
		struct slice one = slice_take(&rest, ':');
		CLEANUP(cleanup_free) char *directory = strndup(one.ptr, one.len);

		code = read_file(all, directory, "/pip/pip.conf", error);
	}
	for (size_t i = 0; code == 0 && i < sizeof(files) / sizeof(*files); i++)
		code = read_file(all, files[i].directory, files[i].name, error);
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

/* In the order of precedence: a later setting replaces an earlier one. */
int settings_read(struct settings *out, struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	FILE *all = open_memstream(&text, &length);
	int code = all ? read_files(all, error) : error_nomem(error);
	bool failed = all && !text_close(all, &text);

	if (code == 0 && !failed) {
		read_section((struct slice){text, length}, SLICE("[global]"), out->values, &failed);
		read_section((struct slice){text, length}, SLICE("[install]"), out->values,
		             &failed);
	}
	for (size_t i = 0; i < SETTINGS; i++) {
		const char *variable = trust_environment(names[i].variable);

		if (variable && *variable)
			set(&out->values[i], "", slice_of(variable), &failed);
	}
	if (code == 0 && failed)
		code = error_nomem(error);
	return code < 0 ? code : check_files(out->values, error);
}

/*
 * settings.c - reads pip's configuration: its files, which are of Python's configparser, and its
 * environment variables. What is not about an index is passed over.
 */
#include "indexer/package_index/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"

#define FILE_MAX ((size_t)1 << 20) /* bytes of a pip.conf */
#define KEY_MAX  32

static const char *const keys[SETTINGS] = {"index-url", "extra-index-url", "proxy",
                                           "cert",      "client-cert",     "timeout"};

/* [install] counts more than [global]; each is replaced by the files that follow. */
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

struct slice settings_word(struct slice *rest)
{
	size_t begin = 0, end;

	while (begin < rest->len && isspace((unsigned char)rest->ptr[begin]))
		begin++;
	for (end = begin; end < rest->len && !isspace((unsigned char)rest->ptr[end]);)
		end++;
	*rest = slice_from(*rest, end);
	return end > begin ? slice_between(rest->ptr - (end - begin), rest->ptr)
	                   : (struct slice){0};
}

static void set(struct reading *reading, char **at, const char *before, struct slice value)
{
	char *text = text_format("%s%s%.*s", before, *before ? " " : "", (int)value.len, value.ptr);

	reading->failed |= !text;
	free(*at);
	*at = text;
}

static enum setting setting_of(struct slice key)
{
	enum setting found = 0;
	char name[KEY_MAX];

	if (key.len >= sizeof(name))
		return SETTINGS;
	for (size_t i = 0; i < key.len; i++)
		name[i] = key.ptr[i] == '_' ? '-' : key.ptr[i];
	name[key.len] = '\0';
	while (found < SETTINGS && strcasecmp(keys[found], name) != 0)
		found++;
	return found;
}

/* An indented line goes on with the value above it. */
static void read_lines(struct reading *reading, struct slice text)
{
	enum section section = SECTION_OTHER;
	char **at = NULL;

	while (text.len > 0) {
		struct slice raw = slice_take_line(&text), line = unicode_strip(raw);
		const char *equals = line.len ? memchr(line.ptr, '=', line.len) : NULL;
		const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
		enum setting which;

		if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == ';')
			continue;
		if (isspace((unsigned char)raw.ptr[0])) {
			if (at)
				set(reading, at, *at ? *at : "", line);
			continue;
		}
		at = NULL;
		if (line.ptr[0] == '[') {
			section = slice_equal(line, SLICE("[global]"))    ? SECTION_GLOBAL
			          : slice_equal(line, SLICE("[install]")) ? SECTION_INSTALL
			                                                  : SECTION_OTHER;
			continue;
		}
		equals = !equals || (colon && colon < equals) ? colon : equals;
		if (!equals || section == SECTION_OTHER)
			continue;
		which = setting_of(unicode_strip(slice_between(line.ptr, equals)));
		if (which == SETTINGS)
			continue;
		at = &reading->values[section][which];
		set(reading, at, "", unicode_strip(slice_between(equals + 1, line.ptr + line.len)));
	}
}

/* @directory (NULL: there is none) and @name; a file that is not there says nothing. */
static int read_file(struct reading *reading, const char *directory, const char *name,
                     struct error *error)
{
	CLEANUP(cleanup_free)
	char *path = directory && *directory ? text_format("%s%s", directory, name) : NULL;
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	int code;

	if (!path)
		return directory && *directory ? error_nomem(error) : 0;
	code = small_file_read_trusted(path, FILE_MAX, geteuid(), &text, &length, error);
	if (code > 0)
		read_lines(reading, (struct slice){text, length});
	return code < 0 ? code : 0;
}

static int read_files(struct reading *reading, struct error *error)
{
	const char *home = trust_environment("HOME"),
	           *config = trust_environment("XDG_CONFIG_HOME");
	const char *only = trust_environment("PIP_CONFIG_FILE"),
	           *global = trust_environment("XDG_CONFIG_DIRS");
	struct slice rest = slice_of(global && *global ? global : "/etc/xdg");
	int code = 0;

	if (only && strcmp(only, "/dev/null") == 0)
		return 0;
	while (code == 0 && rest.len > 0) {
		struct slice one = slice_take(&rest, ':');
		CLEANUP(cleanup_free) char *directory = strndup(one.ptr, one.len);

		code = read_file(reading, directory, "/pip/pip.conf", error);
	}
	if (code == 0)
		code = read_file(reading, "/etc", "/pip.conf", error);
	if (code == 0)
		code = read_file(reading, home, "/.pip/pip.conf", error);
	if (code == 0)
		code = config && *config ? read_file(reading, config, "/pip/pip.conf", error)
		                         : read_file(reading, home, "/.config/pip/pip.conf", error);
	if (code == 0)
		code = read_file(reading, trust_environment("VIRTUAL_ENV"), "/pip.conf", error);
	return code == 0 ? read_file(reading, only, "", error) : code;
}

static const char *from_environment(enum setting which)
{
	static const char *const names[SETTINGS] = {"PIP_INDEX_URL",   "PIP_EXTRA_INDEX_URL",
	                                            "PIP_PROXY",       "PIP_CERT",
	                                            "PIP_CLIENT_CERT", "PIP_DEFAULT_TIMEOUT"};
	const char *value = trust_environment(names[which]);

	return value && *value ? value : NULL;
}

int settings_read(struct settings *out, struct error *error)
{
	struct reading reading = {0};
	int code = read_files(&reading, error);

	for (enum setting i = 0; i < SETTINGS; i++) {
		const char *said = from_environment(i);
		char **install = &reading.values[SECTION_INSTALL][i];

		if (said)
			set(&reading, install, "", slice_of(said));
		out->values[i] =
		        *install ? take(*install) : take(reading.values[SECTION_GLOBAL][i]);
		free(*install);
		free(reading.values[SECTION_GLOBAL][i]);
	}
	return code < 0 ? code : reading.failed ? error_nomem(error) : 0;
}

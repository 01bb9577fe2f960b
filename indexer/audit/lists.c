/*
 * lists.c - see facts.h: what a site adds to the lists of rules.sql.
 *
 *     # /etc/entrydb/audit.conf, $XDG_CONFIG_HOME/entrydb/audit.conf
 *     group my_company.hooks* when the deployment tool starts
 *     command deploy my-company-deploy
 *
 * A file that others could have written is not believed: a provider of a command is a
 * permission.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "indexer/audit/facts.h"
#include "libquery/disk/tree/distname.h"

#define LIST_MAX ((size_t)1 << 20) /* bytes */

static struct slice take_word(struct slice *line)
{
	size_t len = 0;
	struct slice word;

	*line = unicode_strip(*line);
	while (len < line->len && line->ptr[len] != ' ' && line->ptr[len] != '\t')
		len++;
	word = slice_first(*line, len);
	*line = unicode_strip(slice_from(*line, len));
	return word;
}

static void put_group(struct worksheet *sheet, struct slice pattern, struct slice occasion)
{
	struct worksheet_query *put =
	        worksheet_ask(sheet, "INSERT OR REPLACE INTO unasked_group VALUES (?, ?)");

	worksheet_text(put, pattern);
	worksheet_text(put, occasion.len ? occasion : SLICE("unasked"));
	worksheet_run(put);
}

/* Providers are added to those that a command has: "|a|b|". */
static bool put_command(struct worksheet *sheet, struct slice name, struct slice providers)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	bool failed = false;

	do {
		struct slice provider = take_word(&providers);
		struct worksheet_query *put = worksheet_ask(
		        sheet,
		        "INSERT INTO known_command VALUES (?1, coalesce('|' || nullif(?2, '') "
		        "|| '|', '')) ON CONFLICT (name) DO UPDATE SET providers = "
		        "iif(?2 = '', providers, iif(providers = '', '|', providers) || ?2 || "
		        "'|')");

		worksheet_text(put, name);
		worksheet_text(put, distname_normalize_in(&arena, provider, &failed));
		worksheet_run(put);
	} while (providers.len > 0 && !failed);
	return !failed;
}

static int read_line(struct worksheet *sheet, struct slice line, const char *file, size_t number,
                     struct error *error)
{
	struct slice rest = unicode_strip(line), verb, name;

	if (rest.len == 0 || rest.ptr[0] == '#')
		return 0;
	verb = take_word(&rest);
	name = take_word(&rest);
	if (name.len > 0 && slice_equal(verb, SLICE("group"))) {
		put_group(sheet, name, rest);
		return 0;
	}
	if (name.len > 0 && slice_equal(verb, SLICE("command")))
		return put_command(sheet, name, rest) ? 0 : error_nomem(error);
	return error_set(
	        error, ERROR_FORMAT,
	        "%s, line %zu: expected 'group PATTERN WHEN' or 'command NAME DISTRIBUTION...'",
	        file, number);
}

static int read_lines(struct worksheet *sheet, const char *file, struct slice text,
                      struct error *error)
{
	int code = 0;

	for (size_t number = 1; code == 0 && text.len > 0; number++) {
		const char *end = memchr(text.ptr, '\n', text.len);
		struct slice line = end ? slice_between(text.ptr, end) : text;

		text = slice_from(text, line.len + (end != NULL));
		code = read_line(sheet, line, file, number, error);
	}
	return code;
}

static int read_list(struct worksheet *sheet, const char *file, struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	struct stat status;
	size_t len = 0;
	int code = file_status(AT_FDCWD, file, &status, error);

	if (code <= 0)
		return code;
	if (trust_of(&status, TRUST_NO_OTHER) != TRUST_BELIEVED)
		return error_set(error, ERROR_PERMISSION,
		                 "%s: not believed: others than root and you could have written it",
		                 file);
	code = small_file_read(file, LIST_MAX, &text, &len, error);
	return code > 0 ? read_lines(sheet, file, (struct slice){text, len}, error) : code;
}

/* $XDG_CONFIG_HOME/entrydb/audit.conf; malloc'd. */
static char *user_file(void)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");

	if (config && config[0] == '/')
		return text_format("%s/entrydb/audit.conf", config);
	return home && home[0] == '/' ? text_format("%s/.config/entrydb/audit.conf", home) : NULL;
}

int lists_read(struct worksheet *sheet, struct error *error)
{
	CLEANUP(cleanup_free) char *own = user_file();
	int code = read_list(sheet, "/etc/entrydb/audit.conf", error);

	if (code == 0 && own)
		code = read_list(sheet, own, error);
	return code < 0 ? code : worksheet_failure(sheet, error);
}

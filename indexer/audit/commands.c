/*
 * commands.c - see facts.h: the commands of an environment among those on the PATH.
 *
 * Two programs of one name are one and the same where the other is a script that runs
 * the same module: the pip of the system and that of an environment, say. Neither are
 * the launchers of version managers, which run whatever is active.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/nearest.h"
#include "db/base/safe_path.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "indexer/audit/facts.h"
#include "indexer/command.h"

#define SCRIPT_MAX    ((size_t)64 << 10) /* bytes of a script that are looked at */
#define PATH_MAX_DIRS 256
#define SHORT         4 /* of so short a name, only swapped and doubled letters are slips */
#define TOO_SHORT     2 /* and of such a one no doubled ones either: cpp, ddd */

struct place {
	char *path;
	struct stat status;
};

struct places {
	struct place *items;
	size_t count, room;
};

static void places_free(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free(places->items[i].path);
	free(places->items);
}

/* Directories that are on it twice, by links for instance, count once. */
static bool is_known(const struct places *places, const struct stat *status)
{
	for (size_t i = 0; i < places->count; i++)
		if (safe_same_file(&places->items[i].status, status))
			return true;
	return false;
}

static int add_place(struct places *places, char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *own = path;
	struct stat status;
	int code = path ? file_status(AT_FDCWD, path, &status, error) : error_nomem(error);

	if (code <= 0 || !S_ISDIR(status.st_mode) || is_known(places, &status) ||
	    places->count == PATH_MAX_DIRS)
		return code < 0 ? code : 0;
	if (!array_grow(&places->items, places->count, sizeof(*places->items), &places->room))
		return error_nomem(error);
	places->items[places->count++] = (struct place){take(own), status};
	return 0;
}

static int read_path(const char *sysroot, struct places *places, struct error *error)
{
	const char *at = secure_getenv("PATH");
	int code = 0;

	while (code == 0 && at && *at) {
		size_t len = strcspn(at, ":");

		if (len > 0 && at[0] == '/')
			code = add_place(
			        places, text_format("%s%.*s", sysroot ? sysroot : "", (int)len, at),
			        error);
		at += len + (at[len] == ':');
	}
	return code;
}

/* --- one of them --- */

/* The scripts by which pyenv and asdf stand for whatever is active. */
static bool is_launcher(struct slice script)
{
	return strstr(script.ptr, "/pyenv\" exec ") || strstr(script.ptr, "asdf exec ");
}

/* The line as far as @at: "from ", "import a, ". */
static bool is_import(struct slice script, const char *at)
{
	const char *line = at;

	while (line > script.ptr && line[-1] != '\n')
		line--;
	line += strspn(line, " \t");
	return strchr(" ,", at[-1]) && (slice_starts(slice_between(line, at), SLICE("from ")) ||
	                                slice_starts(slice_between(line, at), SLICE("import ")));
}

/* Is there "from a.b import c", "import a.b" or "import x, a" of the module's top? */
static bool imports(struct slice script, struct slice module)
{
	const char *dot = module.len ? memchr(module.ptr, '.', module.len) : NULL;
	struct slice top = dot ? slice_between(module.ptr, dot) : module;
	const char *at = script.ptr, *end = script.ptr + script.len;

	while (top.len > 0 && (at = memmem(at, (size_t)(end - at), top.ptr, top.len))) {
		const char *behind = at + top.len;

		if (at > script.ptr && strchr(". ,\r\n", *behind) && is_import(script, at))
			return true;
		at = behind;
	}
	return false;
}

/* A script of older setuptools: "# EASY-INSTALL-ENTRY-SCRIPT: 'Name==1.0',". */
static bool starts_entry_point(struct slice script, const char *distribution)
{
	static const char mark[] = "EASY-INSTALL-ENTRY-SCRIPT: '";
	const char *at = strstr(script.ptr, mark);
	size_t len = strlen(distribution);

	return at && strncasecmp(at + sizeof(mark) - 1, distribution, len) == 0 &&
	       at[sizeof(mark) - 1 + len] == '=';
}

static bool runs_same(struct slice script, struct slice module, const char *distribution)
{
	return slice_starts(script, SLICE("#!")) &&
	       (is_launcher(script) || imports(script, module) ||
	        starts_entry_point(script, distribution));
}

/* 1: a program lies there, and it is another one; 0: not; or a failure. */
static int is_other(const char *path, struct slice module, const char *distribution,
                    struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	struct stat status;
	size_t len = 0;
	int code = file_status(AT_FDCWD, path, &status, error);

	if (code <= 0 || !S_ISREG(status.st_mode) || !(status.st_mode & 0111))
		return code < 0 ? code : 0;
	code = small_file_read(path, SCRIPT_MAX, &text, &len, error);
	return code > 0    ? !runs_same((struct slice){text, len}, module, distribution)
	       : code == 0 ? 1
	                   : code;
}

static void put_other(struct worksheet *sheet, int64_t entry_point, const char *path,
                      const char *place)
{
	struct worksheet_query *put =
	        worksheet_ask(sheet, "INSERT INTO other_command VALUES (?, ?, ?)");

	worksheet_number(put, entry_point);
	worksheet_text(put, slice_of(path));
	worksheet_text(put, slice_of(place));
	worksheet_run(put);
}

/* Our place on the PATH, or SIZE_MAX. */
static size_t own_place(const struct places *places, const char *commands)
{
	struct stat status;
	size_t i = 0;

	if (stat(commands, &status) != 0)
		return SIZE_MAX;
	while (i < places->count && !safe_same_file(&places->items[i].status, &status))
		i++;
	return i < places->count ? i : SIZE_MAX;
}

/* @row: the id of an entry point, the directory of its command, its name, its module, its
 * distribution. */
static int find_others(struct worksheet *sheet, const struct places *places,
                       struct worksheet_query *row, struct error *error)
{
	struct slice commands = worksheet_column(row, 1), name = worksheet_column(row, 2);
	size_t own;
	int code = 0;

	if (name.len == 0 || memchr(name.ptr, '/', name.len) || name.ptr[0] == '.')
		return 0;
	own = own_place(places, commands.ptr);
	for (size_t i = 0; code >= 0 && i < places->count; i++) {
		CLEANUP(cleanup_free)
		char *path = text_format("%s/%s", places->items[i].path, name.ptr);

		if (i == own)
			continue;
		code = path ? is_other(path, worksheet_column(row, 3), worksheet_column(row, 4).ptr,
		                       error)
		            : error_nomem(error);
		if (code > 0)
			put_other(sheet, worksheet_integer(row, 0), path,
			          own == SIZE_MAX ? "aside"
			          : i < own       ? "before"
			                          : "behind");
	}
	return code < 0 ? code : 0;
}

/* --- two that claim one --- */

static int read_scripts(struct worksheet *sheet, struct error *error)
{
	struct worksheet_query *row = worksheet_ask(
	        sheet,
	        "SELECT a.id, a.commands || '/' || a.name, a.module, a.title FROM announced a "
	        "WHERE a.id IN (SELECT entry_point FROM \"command-conflict\")");
	int code = 0;

	while (code >= 0 && worksheet_next(row)) {
		struct slice path = worksheet_column(row, 1);
		CLEANUP(cleanup_free) char *text = NULL;
		struct worksheet_query *put;
		size_t len = 0;

		code = path.ptr ? small_file_read(path.ptr, SCRIPT_MAX, &text, &len, error) : 0;
		if (code <= 0)
			continue;
		put = worksheet_ask(sheet, "INSERT INTO script VALUES (?, ?, ?)");
		worksheet_number(put, worksheet_integer(row, 0));
		worksheet_text(put, path);
		worksheet_number(put, runs_same((struct slice){text, len}, worksheet_column(row, 2),
		                                worksheet_column(row, 3).ptr));
		worksheet_run(put);
	}
	return code < 0 ? code : 0;
}

/* --- slips of the finger --- */

/* Two neighbours have changed places, and nothing else has. */
static bool is_swap(struct slice a, struct slice b)
{
	size_t i = 0;

	while (i < a.len && a.len == b.len && a.ptr[i] == b.ptr[i])
		i++;
	return a.len == b.len && i + 1 < a.len && a.ptr[i] == b.ptr[i + 1] &&
	       a.ptr[i + 1] == b.ptr[i] && slice_equal(slice_from(a, i + 2), slice_from(b, i + 2));
}

/* A letter stands there twice, and nothing else differs. */
static bool is_doubled(struct slice name, struct slice known)
{
	size_t i = 0;

	while (i < known.len && name.len == known.len + 1 && name.ptr[i] == known.ptr[i])
		i++;
	return i > 0 && name.ptr[i] == name.ptr[i - 1] &&
	       slice_equal(slice_from(name, i + 1), slice_from(known, i));
}

/* Git for git: the same where a file system knows no capitals. */
static bool is_capitals(struct slice name, struct slice known)
{
	return name.len == known.len && strncasecmp(name.ptr, known.ptr, name.len) == 0;
}

/* g1t, 1s: a digit in the place of the letter that it looks like, and nothing else. */
static bool is_drawn_alike(struct slice name, struct slice known)
{
	size_t i = 0;

	for (; i < name.len && name.len == known.len; i++)
		if (name.ptr[i] != known.ptr[i] && !(name.ptr[i] == '0' && known.ptr[i] == 'o') &&
		    !(name.ptr[i] == '1' && strchr("il", known.ptr[i])))
			return false;
	return i == name.len && name.len == known.len;
}

/* "git-", "pip." */
static bool is_trailed(struct slice name, struct slice known)
{
	return name.len == known.len + 1 && slice_starts(name, known) &&
	       strchr("-._", name.ptr[known.len]);
}

static bool is_slip(struct slice name, struct slice known)
{
	if (name.len + 1 < known.len || name.len > known.len + 1)
		return false;
	if (is_capitals(name, known) || is_drawn_alike(name, known) || is_trailed(name, known))
		return true;
	if (known.len <= SHORT)
		return is_swap(name, known) || (known.len > TOO_SHORT && is_doubled(name, known));
	if (name.len > NEAREST_LEN_MAX || nearest_distance(name, known, 1) != 1)
		return false;
	/* python3, flake8: one more digit is a version */
	return name.len <= known.len || !strchr("0123456789", name.ptr[name.len - 1]);
}

struct known_commands {
	struct slice *names;
	size_t count, room;
	struct arena texts;
};

static void known_commands_free(struct known_commands *known)
{
	free(known->names);
	arena_free(&known->texts);
}

static int read_known_commands(struct worksheet *sheet, struct known_commands *known,
                               struct error *error)
{
	struct worksheet_query *row =
	        worksheet_ask(sheet, "SELECT name FROM known_command ORDER BY name");
	bool failed = false;

	while (!failed && worksheet_next(row)) {
		failed = !array_grow(&known->names, known->count, sizeof(*known->names),
		                     &known->room);
		if (!failed)
			known->names[known->count++] =
			        arena_copy(&known->texts, worksheet_column(row, 0), &failed);
	}
	return failed ? error_nomem(error) : worksheet_failure(sheet, error);
}

static void put_slip(struct worksheet *sheet, struct slice name, struct slice known)
{
	struct worksheet_query *put =
	        worksheet_ask(sheet, "INSERT OR IGNORE INTO near_command VALUES (?, ?)");

	worksheet_text(put, name);
	worksheet_text(put, known);
	worksheet_run(put);
}

static int find_slips(struct worksheet *sheet, struct error *error)
{
	CLEANUP(known_commands_free) struct known_commands known = {0};
	int code = read_known_commands(sheet, &known, error);
	struct worksheet_query *row =
	        worksheet_ask(sheet, "SELECT DISTINCT name FROM command "
	                             "WHERE name NOT IN (SELECT name FROM known_command)");

	while (code == 0 && !interrupted() && worksheet_next(row)) {
		struct slice name = worksheet_column(row, 0);

		for (size_t i = 0; i < known.count; i++)
			if (is_slip(name, known.names[i]))
				put_slip(sheet, name, known.names[i]);
	}
	return code < 0 ? code : worksheet_failure(sheet, error);
}

int commands_read(struct worksheet *sheet, const char *sysroot, struct error *error)
{
	CLEANUP(places_free) struct places places = {0};
	struct worksheet_query *row;
	int code = read_path(sysroot, &places, error);

	row = worksheet_ask(sheet, "SELECT id, commands, name, module, title FROM announced "
	                           "WHERE is_command AND commands IS NOT NULL AND NOT managed");
	while (code == 0 && worksheet_next(row))
		code = find_others(sheet, &places, row, error);
	if (code == 0)
		code = read_scripts(sheet, error);
	return code < 0 ? code : find_slips(sheet, error);
}

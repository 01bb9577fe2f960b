/*
 * commands.c - the commands of an environment among those on the PATH, and those well known.
 *
 * Two programs of one name are one and the same where the other is a script that runs
 * the same module: the pip of the system and that of an environment, say. Neither are
 * the launchers of version managers, which run whatever is active.
 */
#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/nearest.h"
#include "db/base/safe_path.h"
#include "db/base/trust.h"
#include "indexer/audit/collect.h"

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

static void add_place(struct collect *collect, struct places *places, char *path)
{
	CLEANUP(cleanup_free) char *own = path;
	struct stat status;

	if (!collect_status(collect, path, &status) || !S_ISDIR(status.st_mode) ||
	    is_known(places, &status) || places->count == PATH_MAX_DIRS)
		return;
	if (array_grow(&places->items, places->count, sizeof(*places->items), &places->room))
		places->items[places->count++] = (struct place){take(own), status};
	else
		collect->no_memory = true;
}

static void read_path(struct collect *collect, struct places *places)
{
	const char *at = trust_environment("PATH"), *sysroot = collect->options->sysroot;

	while (at && *at) {
		size_t len = strcspn(at, ":");

		if (len > 0 && at[0] == '/')
			add_place(collect, places,
			          collect_path(collect, "%s%.*s", sysroot ? sysroot : "", (int)len,
			                       at));
		at += len + (at[len] == ':');
	}
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

/* Does a program lie there, and is it another one? */
static bool is_other(struct collect *collect, const char *path, struct slice module,
                     const char *distribution)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct slice text;
	struct stat status;

	if (!collect_status(collect, path, &status) || !S_ISREG(status.st_mode) ||
	    !(status.st_mode & 0111))
		return false;
	return !collect_text(collect, path, SCRIPT_MAX, &bytes, &text) ||
	       !runs_same(text, module, distribution);
}

/* Our place on the PATH, or SIZE_MAX. */
static size_t own_place(struct collect *collect, const struct places *places, const char *commands)
{
	struct stat status;
	size_t i = 0;

	if (!collect_status(collect, commands, &status))
		return SIZE_MAX;
	while (i < places->count && !safe_same_file(&places->items[i].status, &status))
		i++;
	return i < places->count ? i : SIZE_MAX;
}

/* @row: of may_be_hidden. */
static void find_others(struct collect *collect, const struct places *places,
                        struct worksheet_rows *row)
{
	struct slice name = worksheet_text(row, 2), module = worksheet_text(row, 3);
	size_t own;

	if (name.len == 0 || memchr(name.ptr, '/', name.len) || name.ptr[0] == '.')
		return;
	own = own_place(collect, places, worksheet_text(row, 1).ptr);
	for (size_t i = 0; i < places->count && collect_goes_on(collect); i++) {
		const char *place = own == SIZE_MAX ? "aside" : i < own ? "before" : "behind";
		CLEANUP(cleanup_free)
		char *path =
		        i == own ? NULL
		                 : collect_path(collect, "%s/%s", places->items[i].path, name.ptr);

		if (path && is_other(collect, path, module, worksheet_text(row, 4).ptr))
			worksheet_put(collect->sheet, "other_command",
			              FACTS(fact_number(worksheet_number(row, 0)),
			                    fact_string(path), fact_string(place)));
	}
}

/* --- two that claim one --- */

static void read_scripts(struct collect *collect)
{
	struct worksheet_rows *row = worksheet_walk(collect->sheet, "may_run_another", NULL);

	while (collect_goes_on(collect) && worksheet_next(row)) {
		CLEANUP(cleanup_free) char *bytes = NULL;
		struct slice path = worksheet_text(row, 1), text;

		if (collect_text(collect, path.ptr, SCRIPT_MAX, &bytes, &text))
			worksheet_put(collect->sheet, "script",
			              FACTS(fact_number(worksheet_number(row, 0)), fact_text(path),
			                    fact_number(runs_same(text, worksheet_text(row, 2),
			                                          worksheet_text(row, 3).ptr))));
	}
}

/* --- slips of the finger --- */

/* How many bytes @a and @b begin with in common. */
static size_t common(struct slice a, struct slice b)
{
	size_t i = 0;

	while (i < a.len && i < b.len && a.ptr[i] == b.ptr[i])
		i++;
	return i;
}

/* Two neighbours have changed places, and nothing else has. */
static bool is_swap(struct slice a, struct slice b)
{
	size_t i = common(a, b);

	return a.len == b.len && i + 1 < a.len && a.ptr[i] == b.ptr[i + 1] &&
	       a.ptr[i + 1] == b.ptr[i] && slice_equal(slice_from(a, i + 2), slice_from(b, i + 2));
}

/* A letter stands there twice, and nothing else differs. */
static bool is_doubled(struct slice name, struct slice known)
{
	size_t i = common(name, known);

	return name.len == known.len + 1 && i > 0 && name.ptr[i] == name.ptr[i - 1] &&
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

/* What follows the letters that differ; 0: they are the last ones. */
static size_t common_end(struct slice a, struct slice b)
{
	size_t i = 0;

	while (i < a.len && i < b.len && a.ptr[a.len - 1 - i] == b.ptr[b.len - 1 - i])
		i++;
	return i;
}

enum likeness { UNLIKE, NEAR, SLIP };

/*
 * Finger and eye err within a word: what differs in its first or last letter alone, https and
 * httpx, is another word. So are many short words.
 */
static enum likeness likeness_of(struct slice name, struct slice known)
{
	if (name.len + 1 < known.len || name.len > known.len + 1)
		return UNLIKE;
	if (is_capitals(name, known) || is_drawn_alike(name, known) || is_trailed(name, known))
		return SLIP;
	if (known.len <= SHORT)
		return is_swap(name, known) || (known.len > TOO_SHORT && is_doubled(name, known))
		               ? SLIP
		               : UNLIKE;
	if (name.len > NEAREST_LEN_MAX || nearest_distance(name, known, 1) != 1)
		return UNLIKE;
	/* python3, flake8: one more digit is a version */
	if (name.len > known.len && strchr("0123456789", name.ptr[name.len - 1]))
		return UNLIKE;
	if (is_swap(name, known) || is_doubled(name, known))
		return SLIP;
	return common(name, known) > 0 && common_end(name, known) > 0 ? SLIP : NEAR;
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

static void read_known_commands(struct collect *collect, struct known_commands *known)
{
	struct worksheet_rows *row = worksheet_walk(collect->sheet, "known_command", NULL);

	while (collect_goes_on(collect) && worksheet_next(row)) {
		struct slice name =
		        arena_copy(&known->texts, worksheet_text(row, 0), &collect->no_memory);

		if (array_grow(&known->names, known->count, sizeof(*known->names), &known->room))
			known->names[known->count++] = name;
		else
			collect->no_memory = true;
	}
}

static void find_slips(struct collect *collect)
{
	CLEANUP(known_commands_free) struct known_commands known = {0};
	struct worksheet_rows *row;

	read_known_commands(collect, &known);
	row = worksheet_walk(collect->sheet, "may_be_slip", NULL);
	while (collect_goes_on(collect) && worksheet_next(row)) {
		struct slice name = worksheet_text(row, 0), nearest = {0};
		enum likeness best = UNLIKE;

		for (size_t i = 0; i < known.count; i++) {
			enum likeness likeness = likeness_of(name, known.names[i]);

			if (likeness > best)
				nearest = known.names[i];
			best = likeness > best ? likeness : best;
		}
		if (best != UNLIKE)
			worksheet_put(collect->sheet, "near_command",
			              FACTS(fact_text(name), fact_text(nearest),
			                    fact_number(best == SLIP)));
	}
}

void commands_read(struct collect *collect)
{
	CLEANUP(places_free) struct places places = {0};
	struct worksheet_rows *row;

	read_path(collect, &places);
	row = worksheet_walk(collect->sheet, "may_be_hidden", NULL);
	while (collect_goes_on(collect) && worksheet_next(row))
		find_others(collect, &places, row);
	read_scripts(collect);
	find_slips(collect);
}

/*
 * commands.c - compares the commands of an environment with others on the PATH and with well-known
 * ones.
 *
 * Two programs of one name count as the same if the other is a script that runs the same module,
 * such as the system's pip and an environment's. The launchers of version managers, which run
 * whatever is active, do not count either.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/safe_path.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "indexer/audit/collect.h"

#define SCRIPT_MAX    ((size_t)64 << 10) /* bytes of a script that are read */
#define PATH_MAX_DIRS 256
#define SHORT         4 /* letters; in shorter names only swapped and doubled letters are slips */
#define TOO_SHORT     2 /* letters; and in these none: pc, vm, ddd */

/* The directories of the PATH, each once, with links resolved. */
struct places {
	struct collect *collect;
	size_t count;
	struct place {
		char *path;
		struct stat status;
	} items[PATH_MAX_DIRS];
};

static void places_free(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free(places->items[i].path);
}

/* The index of the directory @path, whose @status is set; the count if it is not on the PATH. */
static size_t find_place(const struct places *places, const char *path, struct stat *status)
{
	size_t i = 0;

	if (!collect_status(places->collect, path, status) || !S_ISDIR(status->st_mode) ||
	    !collect_is_readable(places->collect, path, places->collect->readers.mode))
		return SIZE_MAX;
	while (i < places->count && !safe_same_file(&places->items[i].status, status))
		i++;
	return i;
}

static void read_path(struct places *places)
{
	const char *at = trust_environment("PATH"), *sysroot = places->collect->options->sysroot;

	for (size_t len; at && *at && places->count < PATH_MAX_DIRS; at += len + (at[len] == ':')) {
		CLEANUP(cleanup_free) char *path = NULL;
		struct stat status;

		len = strcspn(at, ":");
		if (at[0] == '/')
			path = collect_path(places->collect, "%s%.*s", sysroot ? sysroot : "",
			                    (int)len, at);
		if (find_place(places, path, &status) == places->count)
			places->items[places->count++] = (struct place){take(path), status};
	}
}

/* --- scripts --- */

/* Does the line name @top as a module: "from a.b import c", "import a.b", "import x, a"? */
static bool names_module(struct slice line, struct slice top)
{
	const char *at = line.ptr, *end = line.ptr + line.len;

	while ((at = memmem(at, (size_t)(end - at), top.ptr, top.len))) {
		const char *behind = at + top.len;

		if (at > line.ptr && strchr(" ,", at[-1]) && strchr(". ,\r\n", *behind))
			return true;
		at = behind;
	}
	return false;
}

/* Does the script import the module's top-level package? */
static bool imports(struct slice script, struct slice module)
{
	const char *dot = module.len ? memchr(module.ptr, '.', module.len) : NULL;
	struct slice top = dot ? slice_between(module.ptr, dot) : module;

	while (top.len > 0 && script.len > 0) {
		struct slice line = unicode_strip(slice_take_line(&script));

		if ((slice_starts(line, SLICE("from ")) || slice_starts(line, SLICE("import "))) &&
		    names_module(line, top))
			return true;
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

/* The shims of pyenv and asdf count as the same, too. */
static bool runs_same(struct slice script, struct slice module, const char *distribution)
{
	return slice_starts(script, SLICE("#!")) &&
	       (strstr(script.ptr, "/pyenv\" exec ") || strstr(script.ptr, "asdf exec ") ||
	        imports(script, module) || starts_entry_point(script, distribution));
}

/* Is there another program at @path? */
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

/* @row: of may_be_hidden. */
static void find_others(const struct places *places, struct worksheet_rows *row)
{
	struct collect *collect = places->collect;
	struct slice name = worksheet_text(row, 2);
	struct stat status;
	size_t own;

	if (name.len == 0 || memchr(name.ptr, '/', name.len) || name.ptr[0] == '.')
		return;
	own = find_place(places, worksheet_text(row, 1).ptr, &status);
	for (size_t i = 0; i < places->count && collect_goes_on(collect); i++) {
		const char *place = own >= places->count ? "aside" : i < own ? "before" : "behind";
		CLEANUP(cleanup_free)
		char *path =
		        i == own ? NULL
		                 : collect_path(collect, "%s/%s", places->items[i].path, name.ptr);

		if (is_other(collect, path, worksheet_text(row, 3), worksheet_text(row, 4).ptr))
			worksheet_put(
			        collect->sheet, "other_command",
			        FACTS(fact(worksheet_number(row, 0)), fact(path), fact(place)));
	}
}

/* --- commands claimed twice --- */

static void read_scripts(struct collect *collect)
{
	struct worksheet_rows *row = worksheet_walk(collect->sheet, "may_run_another", NULL);

	while (collect_goes_on(collect) && worksheet_next(row)) {
		CLEANUP(cleanup_free) char *bytes = NULL;
		struct slice path = worksheet_text(row, 1), text;

		if (collect_text(collect, path.ptr, SCRIPT_MAX, &bytes, &text))
			worksheet_put(collect->sheet, "script",
			              FACTS(fact(worksheet_number(row, 0)), fact(path),
			                    fact(runs_same(text, worksheet_text(row, 2),
			                                   worksheet_text(row, 3).ptr))));
	}
}

/* --- misspellings --- */

/* Git, g1t: a capital, or a digit that looks like the letter. */
static bool is_drawn_alike(char drawn, char meant)
{
	return tolower((unsigned char)drawn) == tolower((unsigned char)meant) ||
	       (drawn == '0' && meant == 'o') || (drawn == '1' && (meant == 'i' || meant == 'l'));
}

/* "git-" and "pip." look like git and pip, too. */
static bool looks_like(struct slice name, struct slice known)
{
	size_t i = 0;

	while (i < name.len && i < known.len && is_drawn_alike(name.ptr[i], known.ptr[i]))
		i++;
	return i == known.len &&
	       (i == name.len || (i + 1 == name.len && memchr("-._", name.ptr[i], 3)));
}

/* The similarity of a name to a known one: see the table near_command. */
enum likeness { UNLIKE, NEAR, WITHIN, SLIP };

/*
 * Swapped or doubled letters are not chosen on purpose. A letter omitted, added or replaced may
 * make another word, and always does at the start or end: https and httpx. So do most changes of
 * short words.
 */
static enum likeness likeness_of(struct slice name, struct slice known)
{
	size_t least = name.len < known.len ? name.len : known.len, start = 0, end = 0, more, less;
	bool is_slip;

	if (name.len > known.len + 1 || known.len > name.len + 1)
		return UNLIKE;
	if (looks_like(name, known))
		return SLIP;
	while (start < least && name.ptr[start] == known.ptr[start])
		start++;
	while (start + end < least &&
	       name.ptr[name.len - 1 - end] == known.ptr[known.len - 1 - end])
		end++;
	more = name.len - start - end; /* letters that differ */
	less = known.len - start - end;
	is_slip = more == 2 && less == 2 && name.ptr[start] == known.ptr[start + 1] &&
	          name.ptr[start + 1] == known.ptr[start];
	is_slip |= more == 1 && less == 0 && start > 0 && name.ptr[start] == name.ptr[start - 1];
	is_slip &= known.len > TOO_SHORT;
	if (known.len <= SHORT || ((more > 1 || less > 1) && !is_slip))
		return is_slip ? SLIP : UNLIKE;
	if (more > less && isdigit((unsigned char)name.ptr[name.len - 1]))
		return UNLIKE; /* python3, flake8: one more digit is a version */
	return is_slip ? SLIP : start > 0 && end > 0 ? WITHIN : NEAR;
}

static void find_slips(struct collect *collect)
{
	CLEANUP(arena_free) struct arena texts = ARENA_INIT;
	CLEANUP(path_index_free) struct path_index known = {0};
	struct worksheet_rows *row = worksheet_walk(collect->sheet, "known_command", NULL);

	while (collect_goes_on(collect) && worksheet_next(row)) {
		struct slice name = arena_copy(&texts, worksheet_text(row, 0), &collect->no_memory);

		collect->no_memory |= !path_index_add(&known, name);
	}
	row = worksheet_walk(collect->sheet, "may_be_slip", NULL);
	while (collect_goes_on(collect) && worksheet_next(row)) {
		struct slice name = worksheet_text(row, 0), nearest = {0};
		enum likeness best = UNLIKE;

		for (size_t i = 0; i < known.count; i++) {
			enum likeness likeness = likeness_of(name, known.paths[i]);

			if (likeness > best)
				nearest = known.paths[i];
			best = likeness > best ? likeness : best;
		}
		if (best != UNLIKE)
			worksheet_put(collect->sheet, "near_command",
			              FACTS(fact(name), fact(nearest), fact(best)));
	}
}

void commands_read(struct collect *collect)
{
	CLEANUP(places_free) struct places places = {.collect = collect};
	struct worksheet_rows *row;

	read_path(&places);
	row = worksheet_walk(collect->sheet, "may_be_hidden", NULL);
	while (collect_goes_on(collect) && worksheet_next(row))
		find_others(&places, row);
	read_scripts(collect);
	find_slips(collect);
}

/*
 * names.c - converts the enumerations of entrydb.h to and from text, and asserts that its error
 * codes equal the internal ones.
 */
#include "libquery/names.h"

#include <stdio.h>
#include <string.h>

#include "db/record.h"

#define SAME(public, private)                                                                      \
	_Static_assert((int)(public) == (int)(private), #public " is " #private " inside")

SAME(ENTRYDB_ENOMEM, ERROR_NOMEM);
SAME(ENTRYDB_EINVAL, ERROR_INVALID);
SAME(ENTRYDB_EIO, ERROR_IO);
SAME(ENTRYDB_EFORMAT, ERROR_FORMAT);
SAME(ENTRYDB_EPERMISSION, ERROR_PERMISSION);
SAME(ENTRYDB_ELIMIT, ERROR_LIMIT);
SAME(ENTRYDB_ENOTFOUND, ERROR_NOTFOUND);
SAME(ENTRYDB_EPYTHON, ERROR_PYTHON);
SAME(ENTRYDB_EUNRESOLVED, ERROR_UNRESOLVED);
SAME(ENTRYDB_ENOSYMBOL, ERROR_NO_SYMBOL);
SAME(ENTRYDB_EDISABLED, ERROR_DISABLED);
SAME(ENTRYDB_ELOAD, ERROR_LOAD);
SAME(ENTRYDB_EDEPENDENCY, ERROR_DEPENDENCY);
SAME(ENTRYDB_EUNDEFINED, ERROR_UNDEFINED);
SAME(ENTRYDB_ECHANGED, ERROR_CHANGED);
SAME(ENTRYDB_EREFUSED, ERROR_REFUSED);
SAME(ENTRYDB_ESETASIDE, ERROR_SET_ASIDE);
SAME(ENTRYDB_EEXISTS, ERROR_EXISTS);
SAME(ENTRYDB_EUNKNOWN, ERROR_UNKNOWN);
SAME(ENTRYDB_EPLUGIN, ERROR_PLUGIN);

/* The name of a value; "unknown" if there is none. */
static const char *word_of(const struct words *words, int number)
{
	return number >= 0 && (unsigned)number < words->count ? words->all[number] : "unknown";
}

const char *entrydb_kind_name(enum entrydb_kind kind)
{
	return word_of(&target_kinds, (int)kind);
}

const char *entrydb_state_name(enum entrydb_state state)
{
	return word_of(&target_states, (int)state);
}

const char *entrydb_path_state_name(enum entrydb_path_state state)
{
	static const char *const names[] = {
	        [ENTRYDB_PATH_ABSENT] = "absent",
	        [ENTRYDB_PATH_FRESH] = "fresh",
	        [ENTRYDB_PATH_CHECKED] = "checked",
	        [ENTRYDB_PATH_SCANNED] = "scanned",
	};

	return word_of(&(struct words){names, ENTRYDB_PATH_SCANNED + 1}, (int)state);
}

int entrydb_rules_parse(const char *text, enum entrydb_rules *out)
{
	int minor;
	char more;

	if (strcmp(text, "im10") == 0)
		*out = ENTRYDB_IM_10_1;
	else if (sscanf(text, "3.%9d%c", &minor, &more) == 1 && minor >= 10)
		*out = minor < 12 ? ENTRYDB_PYTHON_3_10 : ENTRYDB_PYTHON_3_12;
	else
		return ENTRYDB_EINVAL;
	return 0;
}

int entrydb_fresh_parse(const char *text, enum entrydb_fresh *out)
{
	static const char *const names[] = {"trust", "roots", "exact"};
	unsigned found;

	if (!words_find(&(struct words){names, ENTRYDB_FRESH_EXACT}, slice_of(text), &found))
		return ENTRYDB_EINVAL;
	*out = (enum entrydb_fresh)(ENTRYDB_FRESH_TRUST + found);
	return 0;
}

/* --- errors --- */

int error_options(struct error *error, const char *init)
{
	return error_set(error, ERROR_INVALID,
	                 "the options are not those of this library; begin with %s", init);
}

_Static_assert(offsetof(entrydb_error, code) == offsetof(struct error, code) &&
                       offsetof(entrydb_error, message) == offsetof(struct error, message),
               "an entrydb_error begins with a struct error");

const char *entrydb_error_message(const entrydb_error *error)
{
	return error_text((const struct error *)error);
}

void entrydb_error_clear(entrydb_error *error)
{
	if (error)
		error_clear(error_inside(error));
}

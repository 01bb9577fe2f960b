/*
 * entry_points_txt.h - the text format of entry_points.txt, as Python reads it.
 *
 * Lines are those of str.splitlines(), stripped of white space. Empty lines, lines
 * that begin with '#' and all before the first section are dropped. "[...]" is a
 * section, named by what is left when all '[' and ']' are taken off both ends. Any
 * other line is a name and a value around its first '='; both may be empty. Nothing
 * is merged, sorted, checked or folded: repeated sections and names are all given.
 */
#ifndef DB_ENTRY_POINTS_TXT_H
#define DB_ENTRY_POINTS_TXT_H

#include "db/base/error.h"
#include "db/base/slice.h"

/* One item; the slices point into the text. */
struct entry_points_line {
	struct slice group;
	struct slice name;
	struct slice value;
	size_t number; /* of its line, from 1 */
};

/* A reader's position in a text. Private, apart from being copyable. */
struct entry_points_txt {
	struct slice rest;
	struct slice group;
	size_t number; /* of the line read last */
	bool in_group;
	bool plain; /* all ASCII, and '\n' ends every line */
};

/*
 * Start reading @text, which must outlive the reader and all it gives. Python fails on text that is
 * not strict UTF-8: ask utf8_valid() first.
 */
void entry_points_txt_begin(struct entry_points_txt *txt, struct slice text);

/*
 * Read the next item into @out. Returns 1; 0 at the end; or ERROR_FORMAT for a line
 * without '=', where Python raises TypeError and drops the whole file; or ERROR_NOMEM. @out is
 * written only for 1. After an error the next call goes on with the line that
 * follows, for callers that report every such line.
 */
int entry_points_txt_next(struct entry_points_txt *txt, struct entry_points_line *out,
                          struct error *error);

/*
 * The grammar of a value: "module:attr [extras]". Python matches values by a regular expression
 * that is more liberal than the specification, and only when somebody asks for module, attr or
 * extras. So a value that does not match is kept as it is and is not an error of the file.
 */
struct value {
	struct slice module;
	struct slice attr;   /* null when there is none */
	struct slice extras; /* from '[' to ']', both included; null when there are none */
};

/*
 * Take @text apart; the parts point into it. False, with @out untouched, when Python's
 * pattern does not match. @text must be valid UTF-8.
 */
bool value_parse(struct slice text, struct value *out);

/*
 * The next name among the extras: a run of \w, wherever it stands. *rest begins as
 * value.extras (null is accepted) and is moved past the name. False when none is left.
 */
bool value_next_extra(struct slice *rest, struct slice *word);

#endif

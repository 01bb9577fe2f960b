/*
 * entry_points_txt.h - parses entry_points.txt and its values exactly as Python does.
 *
 * Lines end as in str.splitlines() and are stripped of white space. Empty lines, lines that start
 * with '#' and everything before the first section are skipped. "[...]" starts a section, named by
 * the text without the '[' and ']' at both ends. Every other line is split at its first '=' into
 * name and value; both may be empty. Nothing is merged, sorted, validated or case-folded: repeated
 * sections and names are all returned.
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
	size_t number; /* line number, from 1 */
};

/* The state of a parser. Private; it may be copied. */
struct entry_points_txt {
	struct slice rest;
	struct slice group;
	size_t number; /* of the last line read */
	bool in_group;
	bool plain; /* all ASCII, with '\n' line ends */
};

/*
 * Start parsing @text, which must outlive the parser and its results. Python rejects text that is
 * not strict UTF-8: check utf8_valid() first.
 */
void entry_points_txt_begin(struct entry_points_txt *txt, struct slice text);

/*
 * Read the next item into @out, which is written only for 1. Returns 1; 0 at the end; ERROR_FORMAT
 * for a line without '=', where Python raises TypeError and drops the whole file; or ERROR_NOMEM.
 * After an error the next call continues with the following line, for callers that report all
 * errors.
 */
int entry_points_txt_next(struct entry_points_txt *txt, struct entry_points_line *out,
                          struct error *error);

/*
 * A parsed value, "module:attr [extras]". Python matches values by a regular expression that is
 * more liberal than the specification, and only when module, attr or extras are accessed: a value
 * that does not match is kept and is not an error of the file.
 */
struct value {
	struct slice module;
	struct slice attr;   /* null if there is none */
	struct slice extras; /* including '[' and ']'; null if there are none */
};

/*
 * Parse @text, which must be valid UTF-8; the parts point into it. Returns false, with @out
 * untouched, if Python's pattern does not match.
 */
bool value_parse(struct slice text, struct value *out);

/*
 * Read the next extra: a run of \w, wherever it stands. *rest starts as value.extras (may be null)
 * and is advanced. Returns false if there are no more.
 */
bool value_next_extra(struct slice *rest, struct slice *word);

#endif

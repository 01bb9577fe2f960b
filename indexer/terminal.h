/*
 * terminal.h - what is different where a person looks at the output: colours, and how
 * wide a text is.
 */
#ifndef INDEXER_TERMINAL_H
#define INDEXER_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "db/base/slice.h"

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_NAME, /* what was asked for */
	STYLE_GOOD,
	STYLE_BAD,
	STYLE_FAINT,
	STYLE_PROSE, /* of a column: a sentence, which has lines of its own below its row */
	STYLE_COUNT,
};

/*
 * "auto", which is also what holds until this is called: colours on terminals, unless
 * NO_COLOR is set or TERM is dumb or unset; "always", "never". False for anything else.
 */
bool terminal_color(const char *when);

/* Is a person looking at what @stream, stdout or stderr, gets? */
bool terminal_is(FILE *stream);

/* Write @text, which is escaped; in that style, where @stream is to have colours. */
void terminal_put(FILE *stream, enum style style, const char *text);

/* The same for @text that is escaped (escape.h) on the way, which needs no memory. */
void terminal_put_escaped(FILE *stream, enum style style, struct slice text);

/*
 * Write a paragraph, with as many words on a line as there is room for: @room columns, of which the
 * first @indent stay empty.
 */
void terminal_put_words(FILE *stream, const char *text, size_t indent, size_t room);

/* How many columns that terminal has; 80 where it does not say. */
size_t terminal_columns(FILE *stream);

/* How many columns a terminal needs for @text, which has no control characters. */
size_t terminal_width(struct slice text);

#endif

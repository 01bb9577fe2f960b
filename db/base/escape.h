/*
 * escape.h - how untrusted text is written for people: on a terminal, in a log line.
 *
 * Names, values and paths come from files that anybody may have made. A line end in
 * one would make two lines of one, an escape sequence would speak to the terminal,
 * and a character that turns the direction of writing would show something else
 * than what is there. Such characters are written as
 *
 *     \\       the backslash itself, so that what follows is not ambiguous
 *     \xNN     a control character of ASCII, or a byte that is not part of UTF-8
 *     \uNNNN   any other control: U+0080-U+009F, the line and paragraph separators,
 *              and the marks, embeddings, overrides and isolates of direction
 *
 * and all others as they are. The shell's printf '%b' undoes it.
 */
#ifndef DB_BASE_ESCAPE_H
#define DB_BASE_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/base/slice.h"

/* Whether a line for people, or a terminal, must not have this character as it is. */
bool escape_is_control(uint32_t c);

/* Write @text, escaped. */
void escape_put(struct slice text, FILE *stream);

/* The same as a string, malloc'd and the caller's; NULL without memory. */
char *escape_text(struct slice text);

/*
 * Text for whoever takes no bytes but UTF-8 without a NUL, as PostgreSQL does: @text, or,
 * where it is something else, the same escaped. *room: malloc'd, or NULL where @text will
 * do; null without memory, and the null slice stays null.
 */
struct slice escape_unless_text(struct slice text, char **room);

#endif

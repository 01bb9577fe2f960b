/*
 * escape.h - escapes untrusted text for terminals and log lines.
 *
 * Names, values and paths come from files that any user may have written. A line break would forge
 * a second line, an escape sequence would control the terminal, and a bidirectional control
 * character would disguise the text. Such characters are written as
 *
 *     \\       the backslash itself, so that escapes are unambiguous
 *     \xNN     an ASCII control character, or a byte that is not valid UTF-8
 *     \uNNNN   any other control: U+0080-U+009F, the line and paragraph separators,
 *              and the bidirectional marks, embeddings, overrides and isolates
 *
 * and all others unchanged. The shell's printf '%b' reverses it.
 */
#ifndef DB_BASE_ESCAPE_H
#define DB_BASE_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "db/base/slice.h"

/* Must the character @c be escaped? */
bool escape_is_control(uint32_t c);

/* Write the escaped @text to @stream. */
void escape_put(struct slice text, FILE *stream);

/* The escaped @text, malloc'd; NULL if out of memory. */
char *escape_text(struct slice text);

/*
 * @text for consumers that accept only UTF-8 without NUL, such as PostgreSQL: unchanged if it is
 * that, else escaped. *room is the malloc'd escaped text, or NULL if unchanged. Null if out of
 * memory; the null slice stays null.
 */
struct slice escape_unless_text(struct slice text, char **room);

#endif

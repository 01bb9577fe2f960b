/*
 * text.h - making strings.
 */
#ifndef DB_BASE_TEXT_H
#define DB_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "db/base/slice.h"

/*
 * The formatted string, malloc'd and the caller's; NULL without memory (errno is
 * ENOMEM then). What asprintf() leaves undefined on failure is NULL here.
 */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with the arguments of the caller. */
char *text_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Is it letters and digits of ASCII and what @others has alone, and not empty? */
bool text_is_plain(struct slice text, const char *others);

/* Is @word one of @words, which have spaces between them? */
bool text_has_word(const char *words, struct slice word);

/*
 * As one word of a shell's command, quoted where it must be; malloc'd, NULL without memory. For
 * commands that people are told to run: a name in them is not theirs.
 */
char *text_shell_word(const char *text);

/*
 * Close a stream of open_memstream(), which writes @text. False, and the text is freed and
 * NULL, if there was no memory for all of it: fclose() alone does not always tell.
 */
bool text_close(FILE *stream, char **text);

#endif

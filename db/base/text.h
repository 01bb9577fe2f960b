/*
 * text.h - formats and inspects strings.
 */
#ifndef DB_BASE_TEXT_H
#define DB_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "db/base/slice.h"

/*
 * The formatted string, malloc'd; NULL if out of memory, with errno ENOMEM, unlike asprintf(),
 * which leaves the pointer undefined.
 */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As text_format(), with a va_list. */
char *text_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Does @text consist only of ASCII letters, digits and characters of @others? False if empty. */
bool text_is_plain(struct slice text, const char *others);

/* Is @word in @words, a space-separated list? */
bool text_has_word(const char *words, struct slice word);

/* Decode "%2B" of a URL in place; a NUL follows. Returns the new length. */
size_t text_unescape_url(char *text, size_t len);

/*
 * @text as one word of a shell command, quoted if necessary, malloc'd; NULL if out of memory. For
 * commands in messages that contain untrusted names.
 */
char *text_shell_word(const char *text);

/*
 * Close a stream of open_memstream() that writes *text. Returns false, with *text freed and NULL,
 * if memory ran out at any time: fclose() alone does not always report it.
 */
bool text_close(FILE *stream, char **text);

#endif

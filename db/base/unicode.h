/*
 * unicode.h - the character properties on which Python's answers depend.
 *
 * entry_points.txt is split, stripped and matched by Unicode rules, and names of distributions are
 * compared in lower case, so this project must know white space, \w and str.lower() as CPython
 * does. Text is UTF-8. File names may contain other bytes; as in Python (surrogateescape), such a
 * byte is a character that is neither space, word nor letter.
 */
#ifndef DB_BASE_UNICODE_H
#define DB_BASE_UNICODE_H

#include "db/base/slice.h"

#include <stdint.h>

/* UNICODE_ESCAPE + b is the code point for the undecodable byte b. */
#define UNICODE_ESCAPE 0xDC00u

/* The most bytes that unicode_lower() writes for @n bytes of input. */
#define UNICODE_LOWER_ROOM(n) ((n) + (n) / 2)

/* Is @text strict UTF-8, as Python decodes it: no surrogates, no overlong forms? */
bool utf8_valid(struct slice text);

/*
 * Decode the code point at *at and advance *at past it; *at < end. A byte that starts no
 * well-formed sequence gives UNICODE_ESCAPE plus its value and is skipped alone.
 */
uint32_t utf8_next(const char **at, const char *end);

/* Write @c as UTF-8, at most 4 bytes; returns the end. */
char *utf8_put(char *out, uint32_t c);

/* The number of ASCII bytes from @at to the first other byte or @end. */
size_t utf8_span_ascii(const char *at, const char *end);

/*
 * The length of @text cut to @limit bytes at a character boundary. Invalid UTF-8 is cut anywhere.
 */
size_t utf8_cut(struct slice text, size_t limit);

/* str.isspace() of one character, and \s of the module re. */
bool unicode_is_space(uint32_t c);

/* \w of the module re. */
bool unicode_is_word(uint32_t c);

/* Does str.splitlines() end a line here? "\r\n" is one line end. */
bool unicode_is_line_break(uint32_t c);

/* str.strip(): @text without leading and trailing white space; part of @text. */
struct slice unicode_strip(struct slice text);

/* Take the first word of *@rest, as str.split() does, and the white space around it; empty at the
 * end. */
struct slice unicode_take_word(struct slice *rest);

/* The number of leading bytes of @text that are \w, or white space. */
size_t unicode_span_word(struct slice text);
size_t unicode_span_space(struct slice text);

/* Does @text end in @ascii (lower case), ignoring the case of ASCII letters? */
bool ascii_ends_ignoring_case(struct slice text, struct slice ascii);

/*
 * str.lower() of @in, with U+0130 and the final sigma. @room bytes at @out must be
 * at least UNICODE_LOWER_ROOM(in.len). @in may lie at the very end of those @room
 * bytes, never elsewhere in them. Returns the number of bytes written.
 */
size_t unicode_lower(struct slice in, char *out, size_t room);

#endif

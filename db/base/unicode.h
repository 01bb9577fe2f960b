/*
 * unicode.h - the few facts about characters on which Python's answers rest.
 *
 * entry_points.txt is split, stripped and matched by Unicode rules, and the names
 * of distributions are compared in lower case, so this project must know white
 * space, \w and str.lower() as CPython does. Text is UTF-8. File names may hold
 * bytes that are not; as in Python (surrogateescape), such a byte counts as a
 * character of its own that is neither space, word nor letter.
 */
#ifndef DB_BASE_UNICODE_H
#define DB_BASE_UNICODE_H

#include "db/base/slice.h"

#include <stdint.h>

/* The code point by which the undecodable byte 0x80 + n is represented, less 0x80 + n. */
#define UNICODE_ESCAPE 0xDC00u

/* Bytes that unicode_lower() may need for @n bytes of input. */
#define UNICODE_LOWER_ROOM(n) ((n) + (n) / 2)

/* Whether @text is what Python decodes as strict UTF-8: no surrogates, no overlong forms. */
bool utf8_valid(struct slice text);

/*
 * The code point at *at, which is moved past it; *at < end. A byte that starts no
 * well-formed sequence gives UNICODE_ESCAPE plus its value and is passed alone.
 */
uint32_t utf8_next(const char **at, const char *end);

/* Write @c as UTF-8, 4 bytes at most; returns what stands behind them. */
char *utf8_put(char *out, uint32_t c);

/* How many of the bytes from @at on are ASCII, before the first that is not. */
size_t utf8_span_ascii(const char *at, const char *end);

/*
 * How much of @text there is in @limit bytes, without a part of a character at its end. Bytes
 * that are no UTF-8 are cut anywhere.
 */
size_t utf8_cut(struct slice text, size_t limit);

/* str.isspace() of one character, and \s of the module re. */
bool unicode_is_space(uint32_t c);

/* \w of the module re. */
bool unicode_is_word(uint32_t c);

/* Where str.splitlines() ends a line; "\r\n" is one end. */
bool unicode_is_line_break(uint32_t c);

/* str.strip(): the part of @text without the white space around it. */
struct slice unicode_strip(struct slice text);

/* How many bytes at the start of @text are of \w, or of white space. */
size_t unicode_span_word(struct slice text);
size_t unicode_span_space(struct slice text);

/* Whether @text ends in @ascii (lower case, ASCII), A to Z being taken as a to z. */
bool ascii_ends_ignoring_case(struct slice text, struct slice ascii);

/*
 * str.lower() of @in, with U+0130 and the final sigma. @room bytes at @out must be
 * at least UNICODE_LOWER_ROOM(in.len). @in may lie at the very end of those @room
 * bytes, never elsewhere in them. Returns the number of bytes written.
 */
size_t unicode_lower(struct slice in, char *out, size_t room);

#endif

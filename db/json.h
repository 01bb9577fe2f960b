/*
 * json.h - JSON lines: one object a line, always valid JSON in UTF-8.
 *
 * A path may hold bytes that are not UTF-8, and JSON has nothing but text. As in
 * Python (surrogateescape), such a byte 0xNN is written as the lone surrogate
 * \udcNN: json.loads() takes it, and os.fsencode() gives the bytes back. Text that is
 * UTF-8 never has one, so nothing is ambiguous. What a terminal must not see as it is
 * (escape.h) is written as \uNNNN, which is the same text to every parser.
 */
#ifndef DB_JSON_H
#define DB_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "db/base/error.h"
#include "db/base/slice.h"

/* Write @text as a JSON string, quoted. */
void json_string(struct slice text, FILE *stream);

struct json;

/*
 * A writer of objects that all have these @keys, in this order; they are borrowed. A
 * key written as "name[]" is called name and holds an array of words.
 */
int json_open(const char *const *keys, size_t count, struct json **out, struct error *error);
void json_close(struct json *json);

/*
 * The value of key number @key in the next object: text (null slice: null), number,
 * words. Texts are borrowed until the object is written.
 */
void json_text(struct json *json, size_t key, struct slice text);
void json_number(struct json *json, size_t key, int64_t number);
/* For a key with []: the comma-separated @words; null or empty gives []. */
void json_words(struct json *json, size_t key, struct slice words);

/*
 * Write the object and a newline; keys without a value are null. The values are
 * forgotten. Whether all could be written is asked of the stream at the end.
 */
void json_write(struct json *json, FILE *stream);

#endif

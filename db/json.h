/*
 * json.h - JSON lines, written by SQLite's own JSON functions.
 */
#ifndef DB_JSON_H
#define DB_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "error.h"
#include "slice.h"

struct json;

/*
 * A writer of objects that all have these @keys, in this order. A key written
 * as "name[]" is called name and holds an array of words.
 */
int json_open(const char *const *keys, size_t count, struct json **out, struct error *error);
void json_close(struct json *json);

/* The value of key number @key in the next object: text (null slice: null), number, words. */
void json_text(struct json *json, size_t key, struct slice text);
void json_number(struct json *json, size_t key, int64_t number);
/* For a key with []: the comma-separated @words; null or empty gives []. */
void json_words(struct json *json, size_t key, struct slice words);

/* Write the object and a newline; keys without a value are null. The values are forgotten. */
int json_write(struct json *json, FILE *stream, struct error *error);

#endif

/*
 * json.c - see json.h.
 */
#include "db/json.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"

enum value_kind { VALUE_NULL, VALUE_TEXT, VALUE_NUMBER };

struct value {
	enum value_kind kind;
	struct slice text;
	int64_t number;
};

struct json {
	const char *const *keys;
	size_t count;
	struct value values[];
};

int json_open(const char *const *keys, size_t count, struct json **out, struct error *error)
{
	struct json *json = calloc(1, sizeof(*json) + count * sizeof(json->values[0]));

	if (!json)
		return error_nomem(error);
	json->keys = keys;
	json->count = count;
	*out = json;
	return 0;
}

void json_close(struct json *json)
{
	free(json);
}

void json_text(struct json *json, size_t key, struct slice text)
{
	json->values[key].kind = slice_is_null(text) ? VALUE_NULL : VALUE_TEXT;
	json->values[key].text = text;
}

void json_words(struct json *json, size_t key, struct slice words)
{
	json_text(json, key, words.len ? words : (struct slice){0});
}

void json_number(struct json *json, size_t key, int64_t number)
{
	json->values[key].kind = VALUE_NUMBER;
	json->values[key].number = number;
}

/* --- strings --- */

/* The letter that stands for @c behind a backslash; 0 if there is none. */
static char short_escape(uint32_t c)
{
	static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
	                               ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

	return c < sizeof(letters) ? letters[c] : '\0';
}

/* A byte that is not UTF-8 has a lone surrogate for its character. */
static bool is_plain(uint32_t c)
{
	return !short_escape(c) && !escape_is_control(c) && (c < 0xD800 || c > 0xDFFF);
}

void json_string(struct slice text, FILE *stream)
{
	const char *at = text.ptr, *plain = at;
	const char *end = text.len > 0 ? at + text.len : at;

	putc('"', stream);
	while (at < end) {
		const char *begin = at;
		uint32_t c = utf8_next(&at, end);

		if (is_plain(c))
			continue;
		fwrite(plain, 1, (size_t)(begin - plain), stream);
		if (short_escape(c))
			fprintf(stream, "\\%c", short_escape(c));
		else
			fprintf(stream, "\\u%04x", (unsigned)c);
		plain = at;
	}
	if (plain < end)
		fwrite(plain, 1, (size_t)(end - plain), stream);
	putc('"', stream);
}

/* --- objects --- */

static void put_words(struct slice words, FILE *stream)
{
	const char *comma;

	putc('[', stream);
	while (words.len > 0 && (comma = memchr(words.ptr, ',', words.len))) {
		json_string(slice_between(words.ptr, comma), stream);
		putc(',', stream);
		words = slice_from(words, (size_t)(comma - words.ptr) + 1);
	}
	if (!slice_is_null(words))
		json_string(words, stream);
	putc(']', stream);
}

static void put_value(const struct value *value, FILE *stream)
{
	if (value->kind == VALUE_TEXT)
		json_string(value->text, stream);
	else if (value->kind == VALUE_NUMBER)
		fprintf(stream, "%lld", (long long)value->number);
	else
		fputs("null", stream);
}

/* A key that ends in "[]" holds words. */
static void put_member(struct slice key, const struct value *value, FILE *stream)
{
	bool is_words = slice_ends(key, SLICE("[]"));

	json_string(slice_first(key, key.len - (is_words ? 2 : 0)), stream);
	putc(':', stream);
	if (is_words)
		put_words(value->text, stream);
	else
		put_value(value, stream);
}

void json_write(struct json *json, FILE *stream)
{
	putc('{', stream);
	for (size_t i = 0; i < json->count; i++) {
		if (i > 0)
			putc(',', stream);
		put_member(slice_of(json->keys[i]), &json->values[i], stream);
		json->values[i] = (struct value){0};
	}
	fputs("}\n", stream);
}

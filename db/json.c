/*
 * json.c - see json.h. One statement per set of keys:
 * SELECT json_object(key, ?1, key, ?2, ...).
 */
#include "json.h"

#include <stdlib.h>

#include "cleanup.h"
#include "sql.h"

/* From 'a,b' to ["a","b"], for values marked as words. */
#define WORDS "json('[' || coalesce('\"' || replace(?%zu, ',', '\",\"') || '\"', '') || ']')"

struct json {
	sqlite3 *db;
	sqlite3_stmt *statement;
};

/* A key that ends in "[]" holds words. */
static bool is_words(const char *key)
{
	return slice_ends(slice_of(key), SLICE("[]"));
}

static char *statement_text(const char *const *keys, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	fputs("SELECT json_object(", stream);
	for (size_t i = 0; i < count; i++) {
		int len = (int)strlen(keys[i]) - (is_words(keys[i]) ? 2 : 0);

		fprintf(stream, "%s'%.*s', ", i ? ", " : "", len, keys[i]);
		if (is_words(keys[i]))
			fprintf(stream, WORDS, i + 1);
		else
			fprintf(stream, "?%zu", i + 1);
	}
	fputs(")", stream);
	return fclose(stream) == 0 ? text : NULL;
}

int json_open(const char *const *keys, size_t count, struct json **out, struct error *error)
{
	struct json *json = calloc(1, sizeof(*json));
	CLEANUP(cleanup_free) char *text = statement_text(keys, count);

	if (!json || !text || sqlite3_open(":memory:", &json->db) != SQLITE_OK ||
	    sqlite3_prepare_v2(json->db, text, -1, &json->statement, NULL) != SQLITE_OK) {
		json_close(json);
		return error_nomem(error);
	}
	*out = json;
	return 0;
}

void json_close(struct json *json)
{
	if (!json)
		return;
	sqlite3_finalize(json->statement);
	sqlite3_close(json->db);
	free(json);
}

void json_text(struct json *json, size_t key, struct slice text)
{
	sql_bind(json->statement, (int)key + 1, text);
}

void json_words(struct json *json, size_t key, struct slice words)
{
	sql_bind(json->statement, (int)key + 1, words.len ? words : (struct slice){0});
}

void json_number(struct json *json, size_t key, int64_t number)
{
	sqlite3_bind_int64(json->statement, (int)key + 1, number);
}

int json_write(struct json *json, FILE *stream, struct error *error)
{
	int code = sqlite3_step(json->statement);
	struct slice line = {0};

	if (code == SQLITE_ROW) {
		line = sql_column(json->statement, 0);
		fwrite(line.ptr, 1, line.len, stream);
		putc('\n', stream);
	}
	sqlite3_reset(json->statement);
	sqlite3_clear_bindings(json->statement);
	if (code != SQLITE_ROW)
		return error_set(error, ERROR_IO, "JSON: %s", sqlite3_errmsg(json->db));
	return 0;
}

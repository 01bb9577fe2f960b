/*
 * ask.h - the same look-up through libentrydb.
 */
#ifndef ASK_H
#define ASK_H

#include <entrydb.h>

#include "bench.h"

static inline entrydb *ask_open(const char *const *path, size_t count, enum entrydb_fresh fresh)
{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb *db;

	options.fresh = fresh;
	if (entrydb_open(path, count, &options, &db, &error) < 0)
		bench_fail("%s", entrydb_error_message(&error));
	return db;
}

static inline void ask_read(const entrydb_entry_point *entry)
{
	static const enum entrydb_field fields[] = {
	        ENTRYDB_FIELD_VALUE,  ENTRYDB_FIELD_MODULE,       ENTRYDB_FIELD_ATTR,
	        ENTRYDB_FIELD_EXTRAS, ENTRYDB_FIELD_DISTRIBUTION, ENTRYDB_FIELD_VERSION,
	        ENTRYDB_FIELD_PATH,
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		size_t length;
		const char *text = entrydb_entry_point_text(entry, fields[i], &length);

		bench_use(text, length);
	}
}

/* Select, read all fields, free; returns the number of entries. */
static inline size_t ask_select(entrydb *db, const char *group, const char *name)
{
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_set *set;
	size_t count;

	if (entrydb_select(db, group, name, &set, &error) < 0)
		bench_fail("%s", entrydb_error_message(&error));
	count = entrydb_set_count(set);
	for (size_t i = 0; i < count; i++)
		ask_read(entrydb_set_get(set, i));
	entrydb_set_free(set);
	return count;
}

#endif

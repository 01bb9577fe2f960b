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

static inline void ask_read(const entrydb_entry *entry)
{
	static const enum entrydb_field fields[] = {
	        ENTRYDB_VALUE,        ENTRYDB_MODULE,       ENTRYDB_ATTR, ENTRYDB_EXTRAS,
	        ENTRYDB_DISTRIBUTION, ENTRYDB_VERSION_TEXT, ENTRYDB_PATH,
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		size_t length;
		const char *text = entrydb_entry_text(entry, fields[i], &length);

		bench_use(text, length);
	}
}

/* Select, read all, free; returns how many entries there were. */
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

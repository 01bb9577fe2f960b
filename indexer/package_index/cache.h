/*
 * cache.h - what has been read of one index, kept as it arrives.
 *
 * A text file beside the database, of one JSON array a line, which is only ever appended to:
 *
 *     ["requests", "3.12", "\"etag\"", [["requests-2.32.3-py3-none-any.whl", ...], ...]]
 *
 * The last line about a project counts. A run that was killed leaves a line cut short, at the most,
 * which nobody reads. The database is made from all of this, again and again.
 */
#ifndef INDEXER_PACKAGE_INDEX_CACHE_H
#define INDEXER_PACKAGE_INDEX_CACHE_H

#include "db/base/name_map.h"
#include "db/record.h"
#include "db/worksheet.h"

/* What is known of a file of a project. */
struct cache_row {
	struct slice file;
	struct slice info; /* X.dist-info; null if it was never seen */
	struct slice name, version, error, entry_points;
	struct slice
	        checked; /* "file", "metadata", or null: what the index's hash was compared with */
};

struct cache_line {
	struct slice text, etag, made_for; /* the Python and the versions */
	bool is_done;                      /* by the run that this one goes on with */
};

struct cache {
	int fd;
	char *file;
	struct worksheet *sheet;
	struct name_map projects; /* -> index in lines */
	struct cache_line *lines;
	size_t count, room;
	struct arena arena;
};

#define CACHE_INIT ((struct cache){.fd = -1})

/*
 * Open that of @index beside @database, and begin a run for @made_for, or go on with one that did
 * not end. ERROR_BUSY: another process does so; ERROR_PERMISSION: it is not the caller's.
 */
int cache_open(const char *database, const char *index, struct slice made_for, struct cache *out,
               struct error *error);
void cache_close(struct cache *cache);

/* The line of that project, or NULL. */
struct cache_line *cache_find(const struct cache *cache, struct slice project);

/* The rows of a line, malloc'd, with their texts in @arena. */
int cache_rows(struct cache *cache, const struct cache_line *line, struct arena *arena,
               struct cache_row **rows, size_t *count, struct error *error);

/* Replace what is known of a project. */
int cache_put(struct cache *cache, struct slice project, struct slice made_for, struct slice etag,
              const struct cache_row *rows, size_t count, struct error *error);

/* The run has ended, and begins anew next time. */
int cache_end(struct cache *cache, struct error *error);

/* All that is known, as the root of a database; its path is left null. */
int cache_root(struct cache *cache, struct root_record *out, struct error *error);

#endif

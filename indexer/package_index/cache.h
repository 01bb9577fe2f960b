/*
 * cache.h - what has been read of one index, kept as it arrives.
 *
 * An SQLite file of the user's own, locked while it is open, so that a run that was killed is gone
 * on with, and the next one asks for no wheel twice. The database is made from all of it, again and
 * again.
 */
#ifndef INDEXER_PACKAGE_INDEX_CACHE_H
#define INDEXER_PACKAGE_INDEX_CACHE_H

#include "db/record.h"
#include "db/worksheet.h"

/* What is known of a file of a project; texts that are not known are null. */
struct cache_row {
	struct slice file;
	struct slice info; /* X.dist-info */
	struct slice name, version, error, entry_points;
	struct slice checked; /* "file", "metadata": what the index's hash was compared with */
};

#define CACHE_COLUMNS 7

/* What is known of a project. */
struct cache_project {
	struct slice made_for; /* the Python, and which versions */
	struct slice etag;     /* of its page */
	bool is_done;          /* by a run that did not end */
};

/*
 * Open that of the @index in @database; the worksheet is that of page.h, too. ERROR_BUSY: another
 * process has it open; ERROR_PERMISSION, ERROR_NOTFOUND: there is no directory of the user's alone.
 */
int cache_open(const char *database, const char *index, struct worksheet **out,
               struct error *error);

/* False: nothing. The texts are in @arena, or there was no memory: worksheet_failure() tells. */
bool cache_find(struct worksheet *cache, struct slice project, struct arena *arena,
                struct cache_project *out);

/* The files of a project, or of all where it is null; malloc'd, with their texts in @arena. */
int cache_rows(struct worksheet *cache, struct slice project, struct arena *arena,
               struct cache_row **rows, size_t *count, struct error *error);

/* Replace what is known of a project. */
int cache_put(struct worksheet *cache, struct slice project, const struct cache_project *what,
              const struct cache_row *rows, size_t count, struct error *error);

/* All is on the disk; @ended: and the next run asks for each page anew. */
int cache_keep(struct worksheet *cache, bool ended, struct error *error);

/* All that is known, as the root of a database; its path is left null. */
int cache_root(struct worksheet *cache, struct root_record *out, struct error *error);

#endif

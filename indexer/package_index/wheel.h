/*
 * wheel.h - reads a wheel on a server by fetching only parts of it.
 *
 * The zip reader runs on the parts fetched so far. If it needs a missing byte, it stops, that byte
 * and some following ones are fetched, and it starts again. A zip's directory is at its end, and by
 * convention a wheel's metadata, too, so one part is usually enough.
 */
#ifndef INDEXER_PACKAGE_INDEX_WHEEL_H
#define INDEXER_PACKAGE_INDEX_WHEEL_H

#include "db/record.h"
#include "indexer/package_index/page.h"
#include "indexer/package_index/transfer.h"

#define WHEEL_TAIL      ((uint64_t)48 << 10) /* bytes of the first part, at the end */
#define WHEEL_FETCH_MIN ((uint64_t)16 << 10) /* minimal bytes of a further part */
#define WHEEL_FETCH_MAX ((uint64_t)16 << 20) /* bytes fetched of one wheel */
#define WHEEL_WHOLE_MAX ((uint64_t)4 << 20)  /* bytes of a wheel whose server lacks ranges */
#define WHEEL_PIECES    8

/* A file of a project. */
struct item {
	struct job *job;
	struct item *next; /* in the list of those to start */
	const struct page_file *file;
	struct distribution_record row; /* texts in the arena of the page's items */
	const char *checked;            /* the kind of the compared hash, or NULL */
	bool is_known;                  /* it is in the database */
	bool is_unsure;                 /* it failed, but may succeed the next time */

	/* A wheel being read. */
	struct items *items;
	const char *url;
	struct slice etag;      /* of the first part, or null */
	uint64_t size, fetched; /* bytes of the wheel, 0: not yet known; and of all parts */
	struct piece {
		uint64_t at;
		struct slice bytes;
	} pieces[WHEEL_PIECES];
	size_t piece_count;
	uint64_t missing_at, missing_size; /* what to fetch next */
	uint64_t kept;                     /* bytes of its row: a wheel is compressed */
	struct slice info;                 /* X.dist-info; null until the directory is read */
	struct slice metadata;             /* METADATA; null until it is read */
	struct arena arena;                /* of the parts */
};

/* What the files of a page have in common. */
struct items {
	const struct transfer_module *module;
	struct transfers *transfers;
	struct slice url;     /* of the page */
	struct slice project; /* its normalized name */
	struct arena arena;   /* of rows */
	/* Called once for each; its row is complete. Returns 0 or an error. */
	int (*done)(struct item *item);
};

/*
 * Start reading a file: its row, with the entry points and metadata that importlib.metadata would
 * find after an installation, or an error.
 */
int item_start(struct item *item, struct error *error);

#endif

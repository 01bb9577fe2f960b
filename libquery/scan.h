/*
 * scan.h - read what a path entry holds, from the disk, as stock would.
 *
 *     tree (directory, zip, archive)
 *       -> children that are metadata, in raw order
 *       -> of each: its names, its entry points, or why stock would raise
 *       -> their places in stock's enumeration
 *
 * Used where the database cannot vouch for a path entry, and to fill the
 * database: the same code, so that both give the same answer.
 */
#ifndef LIBQUERY_SCAN_H
#define LIBQUERY_SCAN_H

#include <time.h>

#include "error.h"
#include "record.h"
#include "tree.h"

#define ENTRY_POINTS_TXT_MAX ((size_t)16 << 20) /* bytes */
#define METADATA_MAX         ((size_t)16 << 20) /* bytes */

/*
 * A root is settled when nothing in it had changed for this long before it was
 * read. Until then a later change could leave the same times behind: clocks tick
 * slowly, and a distribution's files follow its directory. Git calls such an
 * entry racily clean.
 */
#define SETTLED_AFTER 2000000000 /* nanoseconds */

enum scan_depth {
	SCAN_ENTRY_POINTS = 0, /* just what a query needs; names are read by scan_metadata() */
	SCAN_STAMPS = 1,       /* the stamps, too, by which a change is seen */
	SCAN_METADATA = 2,     /* the names and versions of all, too */
	SCAN_TARGETS = 8,      /* what the entry points lead to, and hashes */
	SCAN_HAS_METADATA = 4, /* whether there is metadata, which some rules of order need */
};

struct scan_options {
	unsigned depth;                  /* of enum scan_depth, or-ed */
	bool in_place;                   /* no known layout: egg-info there is a source tree's, edited in place */
	struct slice egg_base;           /* the path entry as spelled, for EGG-INFO */
	const struct root_record *known; /* rows to reuse where nothing changed; may be NULL */
	struct timespec now;             /* by the clock of that file system; zero: the real time */
	/* Called now and then; a non-zero answer ends the scan with ERROR_IO. May be NULL. */
	int (*progress)(void *payload, size_t done, size_t total);
	void *payload;
};

/*
 * Read @tree into @out (owned by the caller, released by root_record_free(); its
 * path is left null). A distribution that cannot be read is a record with an
 * error, not a failure of the scan. Fails for want of memory or interest only.
 */
int scan_tree(struct tree *tree, const struct scan_options *options, struct root_record *out,
	      struct error *error);

/*
 * The same for the path entry at @path. What stock silently takes as empty is a
 * root of kind ROOT_ABSENT with no distributions. A directory that changes while
 * it is read is read again, a few times; then it is simply not settled.
 */
int scan_path(const char *path, const struct scan_options *options, struct root_record *out,
	      struct error *error);

/* Read name and version of one distribution of @tree, where scan_tree() was not asked to. */
int scan_metadata(struct tree *tree, struct root_record *root,
		  struct distribution_record *distribution, struct error *error);

#endif

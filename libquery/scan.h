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

/*
 * What was changed just now may be changed again without a trace.
 *
 * Within one tick of the clock two changes leave the same times behind. So what is
 * as young as the scan itself is not *settled*: its times prove nothing. The scan's
 * own time is best taken from the clock of the same file system; then one tick is
 * enough, else CLOCK_SKEW is allowed for. (Git calls such an entry racily clean.)
 *
 * An installer makes a distribution's directory first and its files a little later,
 * which the times of the path entry do not show. So what is younger than
 * WATCHED_FOR is *watched*: compared at each query, file by file, as are editable
 * installs and source trees, which change in place at any time. So is what has no
 * METADATA, at any age: rpm may take long from the directory to the files in it.
 */
#define CLOCK_SKEW  2000000000 /* nanoseconds */
#define WATCHED_FOR 2000000000 /* nanoseconds */

enum scan_depth {
	SCAN_ENTRY_POINTS = 0, /* just what a query needs; see distribution.h for names */
	SCAN_STAMPS = 1,       /* the stamps, too, by which a change is seen */
	SCAN_METADATA = 2,     /* the names and versions of all, too */
	SCAN_TARGETS = 8,      /* what the entry points lead to, and hashes */
	SCAN_HAS_METADATA = 4, /* whether there is metadata, which some rules of order need */
};

struct scan_options {
	unsigned depth; /* of enum scan_depth, or-ed */
	bool in_place;  /* no known layout: egg-info there is a source tree's, edited in place */
	struct slice egg_base;           /* the path entry as spelled, for EGG-INFO */
	const struct root_record *known; /* rows to reuse where nothing changed; may be NULL */
	struct timespec now;             /* by the clock of that file system; zero: not known */
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

#endif

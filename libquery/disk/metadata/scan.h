/*
 * scan.h - read what a path entry holds, from the disk, as
 * importlib.metadata would.
 *
 *     tree (directory, zip, archive)
 *       -> children that are metadata, in raw order
 *       -> of each: its names, its entry points, or why importlib.metadata would raise
 *       -> their places in its order
 *
 * Used where the database cannot vouch for a path entry, and to fill the
 * database: the same code, so that both give the same answer.
 */
#ifndef LIBQUERY_DISK_METADATA_SCAN_H
#define LIBQUERY_DISK_METADATA_SCAN_H

#include <time.h>

#include "db/base/error.h"
#include "db/base/name_map.h"
#include "db/carried.h"
#include "db/record.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/metadata/holds.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"

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
 *
 * A scan without SCAN_STAMPS asks no more than Python does, and so does not know what
 * is young. Nothing in a directory is that has not changed itself for as long.
 *
 * What may not be published to all who can read the database (see tree.h) is a row
 * without contents, watched, and with stamps that it never has on the disk: so each
 * reader looks for itself, with its own rights.
 */
#define CLOCK_SKEW  2000000000 /* nanoseconds */
#define WATCHED_FOR 2000000000 /* nanoseconds */

enum scan_depth {
	SCAN_ENTRY_POINTS = 0, /* just what a query needs; see distribution.h for names */
	SCAN_STAMPS = 1,       /* the stamps, too, by which a change is seen */
	SCAN_METADATA = DISTRIBUTION_HEADERS, /* the names and versions of all, too */
	/* Whether there is metadata, which some rules of order need. */
	SCAN_HAS_METADATA = DISTRIBUTION_HAS_METADATA,
};

/*
 * The names that the scans for one question have met. Python reads no entry points of a
 * distribution that another one shadows, and so they are not read here, either. This is
 * no decision about shadowing: what is needed after all is read later (distribution.h).
 */
struct scan_met {
	struct name_map names;
	struct arena arena; /* of the names */
};

void scan_met_free(struct scan_met *met);

/* How the code that runs at each start of Python is read, beside the distributions. */
struct scan_startup {
	bool (*is_file)(struct slice name); /* may a child of that name hold some? */
	/* All that there is in @files, sorted, into @out. A failure (error.h) or ERROR_LIMIT. */
	int (*read)(struct tree *tree, const struct path_index *files, struct root_record *out,
	            struct error *error);
};

struct scan_options {
	unsigned depth; /* of enum scan_depth, or-ed */
	bool in_place;  /* no known layout: egg-info there is a source tree's, edited in place */
	struct slice egg_base;           /* the path entry as spelled, for EGG-INFO */
	const struct root_record *known; /* rows to reuse where nothing changed; may be NULL */
	/*
	 * How they were carried; NULL: they were not. With SCAN_STAMPS all are compared by their
	 * files, and what holds keeps what its row says and gets the stamps that it has now;
	 * without, what holds (holds.h) is marked as reused, with its row's id, and not looked
	 * at any further.
	 */
	const struct carried *carried;
	enum holds_by holds_by; /* without SCAN_STAMPS */
	struct scan_met *met;   /* in this scan and those before it; NULL: all is read */
	/*
	 * What finds what entry points lead to, and hashes: target_records(), or NULL. Who only
	 * asks has no need of it, nor of the library that reads shared objects.
	 */
	target_finder *targets;
	const struct scan_startup *startup; /* of a directory; NULL: that is not read */
	mode_t readers;                     /* of what is to be published: see tree.h */
	struct linkage *linkage;            /* to judge shared objects by; NULL: they are not */
	const struct plugin_kinds *kinds;   /* of plugins to look for; NULL: none */
	struct slice place;                 /* absolute path of the path entry, without sysroot */
	struct timespec now;                /* by the clock of that file system; zero: not known */
	/*
	 * Or wait until that clock is past @time, nanoseconds since 1970, and the last change of
	 * the path entry, for a tick at most; its time then, or zeros. So nothing stays unsettled
	 * only because it changed within this very tick. NULL: nothing is waited for.
	 */
	struct timespec (*now_after)(void *payload, int64_t time);
	/* Called now and then; a non-zero answer ends the scan with ERROR_IO. May be NULL. */
	int (*on_progress)(void *payload, size_t done, size_t total);
	/*
	 * Called for a distribution that could not be read, which @error (a failure, see
	 * error.h) says. Then the known row stays in its place, or none is made; neither
	 * that nor the root is settled. NULL: the scan fails.
	 */
	void (*on_unread)(void *payload, struct slice directory, const struct error *error);
	void *payload;
};

/*
 * Read @tree into @out (owned by the caller, released by root_record_free(); its
 * path is left null). A distribution on which importlib.metadata would raise is a record
 * with an error. An error of the scan is a failure (error.h), or on_progress() has ended it.
 */
int scan_tree(struct tree *tree, const struct scan_options *options, struct root_record *out,
              struct error *error);

/*
 * The same for the path entry at @path. What importlib.metadata silently takes as empty
 * is a root of kind ROOT_ABSENT with no distributions, unless it is a failure. A directory
 * that changes while it is read is read again, a few times; then it is simply not settled.
 */
int scan_path(const char *path, const struct scan_options *options, struct root_record *out,
              struct error *error);

/* The same, beginning with @tree, which is taken over: it was opened at @path just now. */
int scan_opened(struct tree *tree, const char *path, const struct scan_options *options,
                struct root_record *out, struct error *error);

/* What root_record.kinds is of a path entry of that kind in which @kinds were looked for. */
int64_t scan_kinds(enum root_kind kind, const struct plugin_kinds *kinds);

#endif

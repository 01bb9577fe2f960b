/*
 * scan.h - reads the distributions of a path entry from the disk, as importlib.metadata does.
 *
 *     tree (directory, zip, archive)
 *       -> metadata directories and files in it, in directory order
 *       -> of each: its names, its entry points, or why importlib.metadata would raise
 *       -> their positions in importlib.metadata's order
 *
 * Used for queries where no database is up to date, and to fill the database: one implementation,
 * so that both give the same result.
 */
#ifndef LIBQUERY_DISK_METADATA_SCAN_H
#define LIBQUERY_DISK_METADATA_SCAN_H

#include <time.h>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/carried.h"
#include "db/record.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/metadata/row_check.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"

/*
 * Recent changes: a file that has just changed may change again unnoticed.
 *
 * Two changes within one tick of the clock leave the same times. So a file as recent as the scan
 * itself is not *settled*: its times prove nothing. The time of the scan is best taken from the
 * clock of the same file system, where one tick is enough; otherwise CLOCK_SKEW is allowed for.
 * (Git calls such an entry racily clean.)
 *
 * An installer creates a distribution's directory first and its files later, which the times of the
 * path entry do not show. So distributions younger than WATCHED_FOR are *watched*: each query
 * compares their files, as it does for editable installs and source trees, which change in place at
 * any time. Distributions without METADATA are watched at any age: rpm may take long from creating
 * the directory to writing the files.
 *
 * A scan without SCAN_STAMPS makes no more system calls than Python, so it cannot tell which
 * distributions are recent. None is if the directory itself has not changed for as long.
 *
 * A distribution that may not be published to all readers of the database (see tree.h) becomes a
 * watched row without content, with stamps that never match: so each reader reads it with its own
 * permissions.
 */
#define CLOCK_SKEW  2000000000 /* nanoseconds */
#define WATCHED_FOR 2000000000 /* nanoseconds */

enum scan_depth {
	SCAN_ENTRY_POINTS = 0,                /* what a query needs; see distribution.h for names */
	SCAN_STAMPS = 1,                      /* also the stamps, by which changes are detected */
	SCAN_METADATA = DISTRIBUTION_HEADERS, /* also names and versions */
	/* Whether METADATA exists, on which some rules of order depend. */
	SCAN_HAS_METADATA = DISTRIBUTION_HAS_METADATA,
};

/*
 * The names seen by the scans of one query. Python does not read the entry points of a shadowed
 * distribution, so these scans skip them as well. This does not decide shadowing: skipped entry
 * points that are needed after all are read later (distribution.h).
 */
struct scan_seen {
	struct name_map names;
	struct arena arena; /* of the names */
};

void scan_seen_free(struct scan_seen *seen);

/* Callbacks that read Python's start-up code along with the distributions. */
struct scan_startup {
	bool (*is_file)(struct slice name); /* may a file of that name contain some? */
	/* Read the code in @files, sorted, into @out. A failure (error.h) or ERROR_LIMIT. */
	int (*read)(struct tree *tree, const struct path_index *files, struct root_record *out,
	            struct error *error);
};

struct scan_options {
	unsigned depth; /* flags of enum scan_depth */
	bool in_place;  /* no known layout: egg-info belongs to a source tree, edited in place */
	struct slice egg_base;           /* the path entry as spelled, for EGG-INFO */
	const struct root_record *known; /* rows to reuse if unchanged; may be NULL */
	/*
	 * How the rows were carried; NULL if they were not. With SCAN_STAMPS all are compared by
	 * their files, and valid rows keep their content and get current stamps; without it, valid
	 * rows (row_check.h) are only marked as reused, with the row's id.
	 */
	const struct carried *carried;
	enum row_check row_check; /* without SCAN_STAMPS */
	struct scan_seen *seen;   /* of this and earlier scans; NULL: read everything */
	/*
	 * Resolves targets and reads hashes: target_records(), or NULL. Queries do not need it, nor
	 * libelf.
	 */
	target_finder *targets;
	const struct scan_startup *startup; /* of a directory; NULL: not read */
	struct readers readers;             /* of the published result, if any; see tree.h */
	struct linkage *linkage;            /* to examine shared objects; NULL: not examined */
	const struct plugin_kinds *kinds;   /* of plugins to search for; NULL: none */
	struct slice place;                 /* absolute path of the path entry, without sysroot */
	struct timespec now;                /* by the file system's clock; zero: unknown */
	/*
	 * Alternative to @now: waits, at most a tick, until the file system's clock has passed
	 * @time (nanoseconds since 1970) and the last change of the path entry, so that changes
	 * within this tick are settled; returns the time, or zeros. NULL: no waiting.
	 */
	struct timespec (*now_after)(void *payload, int64_t time);
	/* Called periodically; a non-zero result ends the scan with ERROR_IO. May be NULL. */
	int (*on_progress)(void *payload, size_t done, size_t total);
	/*
	 * Called for a distribution that could not be read because of @error, a transient failure
	 * (error.h). The known row, if any, is kept; it and the root are not settled. NULL: the
	 * scan fails.
	 */
	void (*on_unread)(void *payload, struct slice directory, const struct error *error);
	void *payload;
};

/*
 * Scan @tree into @out, which the caller releases with root_record_free(); its path stays null. A
 * distribution on which importlib.metadata would raise becomes a record with an error. Errors of
 * the scan are transient failures (error.h), or on_progress() has ended it.
 */
int scan_tree(struct tree *tree, const struct scan_options *options, struct root_record *out,
              struct error *error);

/*
 * Scan the path entry at @path. Paths that importlib.metadata silently treats as empty become a
 * root of kind ROOT_ABSENT without distributions, except after a transient failure. A directory
 * that changes during the scan is read again a few times; if it keeps changing, it is not settled.
 */
int scan_path(const char *path, const struct scan_options *options, struct root_record *out,
              struct error *error);

/* The same, starting with @tree, just opened at @path; takes ownership of it. */
int scan_opened(struct tree *tree, const char *path, const struct scan_options *options,
                struct root_record *out, struct error *error);

/* The value of root_record.kinds for a root of that kind, searched for @kinds. */
int64_t scan_kinds(enum root_kind kind, const struct plugin_kinds *kinds);

#endif

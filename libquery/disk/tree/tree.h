/*
 * tree.h - a container of distributions: a directory, a zip, or an archive in memory.
 *
 * A table of callbacks hides the differences, so that there is one scan (scan.h). The behaviour is
 * that of importlib.metadata: which children there are, in which order, and whether reading a file
 * gives text, nothing, or an exception.
 *
 *     tree_directory  archive   the implementations
 *     tree                      what they have in common
 */
#ifndef LIBQUERY_DISK_TREE_TREE_H
#define LIBQUERY_DISK_TREE_TREE_H

#include <sys/stat.h>

#include "db/base/clock.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/record.h"
#include "libquery/disk/tree/path_index.h"

#define TREE_KEPT_MAX ((size_t)256 << 20) /* bytes of entry points in a path entry: a million */

/*
 * Bytes of all shared objects that are unpacked from one tree: a hostile archive may refer to one
 * member a thousand times.
 */
#define TREE_UNPACKED_MAX ((uint64_t)8 << 30)

/* Bytes of all RECORDs read from one tree, which may be links to one file. */
#define TREE_RECORDS_MAX ((size_t)1 << 30)

struct tree;

/* A request for a file of a distribution. */
struct tree_request {
	struct slice child;
	const char *file; /* in the child; "": the child itself */
	size_t limit;     /* bytes; ERROR_LIMIT for a larger file, */
	bool first;       /* unless only its start is wanted */
};

typedef int tree_each(void *payload, struct slice name);

/* The methods of a tree; see the functions below. NULL methods have a default. */
struct tree_operations {
	int (*children)(struct tree *tree, tree_each *each, void *payload, struct error *error);
	int (*read)(struct tree *tree, const struct tree_request *request, struct arena *arena,
	            struct slice *out, struct error *error);
	int (*status)(struct tree *tree, struct slice child, const char *file, struct stat *status,
	              struct error *error);
	int (*listing)(struct tree *tree, const struct path_index **out, struct error *error);
	int (*fetch)(struct tree *tree, struct slice child, struct slice path, uint64_t *unpacked,
	             struct error *error);
	void (*expect)(struct tree *tree, const struct distribution_record *distributions,
	               size_t count);
	void (*close)(struct tree *tree);
};

/* The first member of every kind of tree. For one thread at a time. */
struct tree {
	const struct tree_operations *operations;
	enum root_kind kind;
	struct stamp stamp;     /* before anything was read; zeros for none */
	int fd;                 /* of the directory or the zip, or -1 */
	struct readers readers; /* intended readers, as for file_open_for() */
	size_t kept;            /* bytes of entry points read so far, up to TREE_KEPT_MAX */
	size_t records;         /* bytes of RECORDs so far, up to TREE_RECORDS_MAX */
	uint64_t unpacked;      /* bytes of shared objects so far, up to TREE_UNPACKED_MAX */
	bool withheld;          /* something was read that they may not read: see below */
};

/*
 * Published data must not be more readable than its source. So code that reads in order to publish
 * sets @readers as for file_open_for(); 0: the caller reads for itself. @withheld is then set, and
 * stays set until it is reset, when a directory or file is met that some of these readers may not
 * read, or to which others can have redirected the caller.
 */

/*
 * Open the directory or zip at @path, as Python would. If the error is not transient (error.h),
 * Python finds nothing there: missing, unreadable, neither a directory nor a zip.
 */
int tree_open(const char *path, struct tree **out, struct error *error);

/* As tree_open(), but opened by file_open_for(); the caller sets @readers of the tree. */
int tree_open_for(struct readers readers, const char *path, struct tree **out, struct error *error);

/* Open the directory @fd, which the tree then owns. */
int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error);

/*
 * Call @each for every child, in the order of importlib.metadata; a non-zero result ends the walk.
 * Default: no children.
 *
 * Here and below, "no" is returned as 0, never as an error; transient failures (error.h) are
 * returned as errors.
 */
int tree_children(struct tree *tree, tree_each *each, void *payload, struct error *error);

/*
 * Read a file into @arena, with a NUL appended. 1: read; 0: absent for importlib.metadata, *out is
 * null; negative: importlib.metadata would raise. Default: absent.
 */
int tree_read(struct tree *tree, const struct tree_request *request, struct arena *arena,
              struct slice *out, struct error *error);

/*
 * Announce that entry_points.txt of these @distributions will be read in this order, some perhaps
 * not, such as those marked unread or reused: on slow file systems several are read ahead.
 * @distributions and their directories must not change until the next call; NULL and 0: no more.
 * Default: no reading ahead.
 */
void tree_expect(struct tree *tree, const struct distribution_record *distributions, size_t count);

/*
 * The status of @file in @child; "": the child itself. 1: *status is set (in an archive only its
 * type); 0: it does not exist; or a failure. Default: does not exist.
 */
int tree_status(struct tree *tree, struct slice child, const char *file, struct stat *status,
                struct error *error);

/* The same for its metadata file: METADATA, else PKG-INFO. */
int tree_metadata_status(struct tree *tree, struct slice child, struct stat *status,
                         struct error *error);

/*
 * The paths of all files of the tree, as a substitute for RECORD. They belong to the tree. Default:
 * NULL, for trees on the disk.
 */
int tree_listing(struct tree *tree, const struct path_index **out, struct error *error);

/*
 * Unpack the shared object at @path beside @child: returns a descriptor, which the caller closes.
 * *unpacked is set to the unpacked bytes, even after an error. ERROR_NOTFOUND: no such file in the
 * archive; ERROR_LIMIT: the object is not examined. Default: none.
 */
int tree_fetch(struct tree *tree, struct slice child, struct slice path, uint64_t *unpacked,
               struct error *error);

/* Record that a file with @mode was read or inspected: see withheld, above. */
void tree_withhold_unless(struct tree *tree, mode_t mode);

/* Is @child an editable install, by its direct_url.json? 1, 0 or a failure. */
int tree_is_editable(struct tree *tree, struct slice child, struct error *error);

/* NULL is accepted. */
void tree_close(struct tree *tree);

static inline void cleanup_tree(struct tree **tree) /* for CLEANUP() */
{
	tree_close(*tree);
}

/* The stamp in a stat. */
static inline struct stamp stamp_of(const struct stat *status)
{
	return (struct stamp){
	        .mtime = nanoseconds_of(status->st_mtim),
	        .ctime = nanoseconds_of(status->st_ctim),
	        .inode = (int64_t)status->st_ino,
	};
}

#endif

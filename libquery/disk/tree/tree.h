/*
 * tree.h - where distributions lie: a directory, a zip, or an archive in memory.
 *
 * One small table of callbacks hides the difference, so that there is one scan (scan.h).
 * The answers are those of importlib.metadata: which children there are and in which
 * order, and whether reading a file gives text, nothing, or an exception.
 *
 *     tree_directory  archive   the kinds
 *     tree                      what all of them can do
 */
#ifndef LIBQUERY_DISK_TREE_TREE_H
#define LIBQUERY_DISK_TREE_TREE_H

#include <sys/stat.h>

#include "db/base/clock.h"
#include "db/base/error.h"
#include "db/record.h"
#include "libquery/disk/tree/path_index.h"

#define TREE_KEPT_MAX ((size_t)128 << 20) /* bytes of entry points kept of one path entry */

/*
 * Bytes of all shared objects that are unpacked of one tree: links and lies may show one
 * member a thousand times.
 */
#define TREE_UNPACKED_MAX ((uint64_t)8 << 30)

struct tree;

/* A file of a distribution, and how much of it is wanted. */
struct tree_request {
	struct slice child;
	const char *file; /* in the child; "": the child itself */
	size_t limit;     /* bytes; a larger file is ERROR_LIMIT, */
	bool first;       /* unless only the beginning is wanted */
};

typedef int tree_each(void *payload, struct slice name);

/* What a kind of tree does; see the functions below. A method that is NULL has a default. */
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

/* The beginning of every kind of tree. A tree is for one thread at a time. */
struct tree {
	const struct tree_operations *operations;
	enum root_kind kind;
	struct stamp stamp; /* before anything was read; zeros where there is none */
	int fd;             /* of the directory or the zip, or -1 */
	mode_t readers;     /* for whom this is read; see below */
	size_t kept;        /* bytes of entry points read so far, up to TREE_KEPT_MAX */
	uint64_t unpacked;  /* bytes of shared objects so far, up to TREE_UNPACKED_MAX */
	bool withheld;      /* set where something in it is not for them: see below */
};

/*
 * What is published is no more readable than what it was taken from. So whoever reads in
 * order to publish sets @readers as file_open_for() wants them; 0: the caller reads for himself.
 * Then @withheld is set, and stays until it is reset, as soon as a directory or a file is met that
 * some of these readers may not read, or that others may have led the caller to.
 */

/*
 * Open the directory or zip at @path, as Python would. An error that is not a failure
 * (error.h): there Python finds nothing (no such file, not readable, no directory nor zip).
 */
int tree_open(const char *path, struct tree **out, struct error *error);

/* The same, as file_open_for(); @readers are still to be set. */
int tree_open_for(mode_t readers, const char *path, struct tree **out, struct error *error);

/* The directory that is open as @fd, which the tree takes over. */
int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error);

/*
 * Call @each for every child, in the order of importlib.metadata; a non-zero answer ends
 * the walk. Default: there are none.
 *
 * Here and below, "no" is returned as 0, never as an error; an error that is a failure
 * (error.h) says that it could not be found out.
 */
int tree_children(struct tree *tree, tree_each *each, void *payload, struct error *error);

/*
 * The bytes of a file, in memory from @arena, with a NUL after them. 1: read; 0: to
 * importlib.metadata it is absent, *@out is null; negative: there it would raise.
 * Default: absent.
 */
int tree_read(struct tree *tree, const struct tree_request *request, struct arena *arena,
              struct slice *out, struct error *error);

/*
 * The entry_points.txt of these @distributions will be read, in this order, and some perhaps
 * not, such as those marked unread or reused: where each takes long, several are read at once.
 * @distributions stay, and their directories stay as they are, until this is called again; NULL and
 * 0: no more is expected. Default: one is read after the other.
 */
void tree_expect(struct tree *tree, const struct distribution_record *distributions, size_t count);

/*
 * What is at @file in @child; "": the child itself. 1, and *@status is set, in an archive its
 * type alone; 0: nothing is; or a failure. Default: nothing.
 */
int tree_status(struct tree *tree, struct slice child, const char *file, struct stat *status,
                struct error *error);

/* The same of the file that has its metadata: METADATA, else PKG-INFO. */
int tree_metadata_status(struct tree *tree, struct slice child, struct stat *status,
                         struct error *error);

/*
 * The paths of all files of the tree, in place of a RECORD. They belong to the tree and
 * stay until it is closed. Default: NULL, for those whose files are on the disk.
 */
int tree_listing(struct tree *tree, const struct path_index **out, struct error *error);

/*
 * The shared object at @path beside @child, unpacked: a descriptor, which the caller closes.
 * How many bytes *unpacked are is told after an error, too. ERROR_NOTFOUND: the archive has
 * no such file; ERROR_LIMIT: it has, but the object is not examined. Default: there is none.
 */
int tree_fetch(struct tree *tree, struct slice child, struct slice path, uint64_t *unpacked,
               struct error *error);

/* What has @mode was read, or its contents were looked at: see withheld, above. */
void tree_withhold_unless(struct tree *tree, mode_t mode);

/* Is @child an editable install: does its direct_url.json say so? 1, 0 or a failure. */
int tree_is_editable(struct tree *tree, struct slice child, struct error *error);

/* NULL is accepted. */
void tree_close(struct tree *tree);

static inline void cleanup_tree(struct tree **tree) /* for CLEANUP() */
{
	tree_close(*tree);
}

/* The stamp that a stat gives. */
static inline struct stamp stamp_of(const struct stat *status)
{
	return (struct stamp){
	        .mtime = nanoseconds_of(status->st_mtim),
	        .ctime = nanoseconds_of(status->st_ctim),
	        .inode = (int64_t)status->st_ino,
	};
}

#endif

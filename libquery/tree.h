/*
 * tree.h - where distributions lie: a directory, a zip, or an archive in memory.
 *
 * One small table of callbacks hides the difference, so that there is one scan
 * (scan.h). The answers are stock's: which children there are and in which
 * order, and whether reading a file gives text, nothing, or an exception.
 */
#ifndef LIBQUERY_TREE_H
#define LIBQUERY_TREE_H

#include <sys/stat.h>

#include "error.h"
#include "record.h"

struct tree;

/* What a child is, as far as listing the tree tells. */
enum child_type { CHILD_UNKNOWN, CHILD_DIRECTORY, CHILD_FILE };

typedef int (*tree_each)(void *payload, struct slice name, enum child_type type);

struct tree_operations {
	/* Call @each for every child, in stock's order; a non-zero answer ends the walk. */
	int (*children)(struct tree *tree, tree_each each, void *payload, struct error *error);
	/*
	 * The bytes of @file in @child (an empty @file: of the child itself), in memory
	 * from @arena, with a NUL after them. 1: read; 0: stock would take it as
	 * absent; negative: stock would raise. At most @limit bytes: more is
	 * ERROR_LIMIT, unless @first is set, which asks for no more than the beginning.
	 */
	int (*read)(struct tree *tree, struct slice child, const char *file, size_t limit,
	            bool first, struct arena *arena, struct slice *out, struct error *error);
	/* Does @file exist in @child, as a file or otherwise? */
	bool (*exists)(struct tree *tree, struct slice child, const char *file);
	/* Is the child itself a file? */
	bool (*is_file)(struct tree *tree, struct slice child);
	/* Does the child's own name count for its normalized name? A directory's in a zip does not.
	 */
	bool (*has_stem)(struct tree *tree, struct slice child);
	/*
	 * Digests of the times and sizes of @child and of the files in it that are
	 * indexed, and the newest of the times, nanoseconds since 1970.
	 */
	void (*stamps)(struct tree *tree, struct slice child, struct distribution_record *out,
	               int64_t *newest);
	/*
	 * For what is not on the disk as such: the paths of all files beside @child, as
	 * lines of a RECORD ("path,,"), and the bytes of one of them, malloc'd. NULL for
	 * directories.
	 */
	int (*listing)(struct tree *tree, struct slice child, struct slice *out,
	               struct error *error);
	int (*fetch)(void *tree, struct slice path, struct slice *bytes, struct error *error);
	void (*close)(struct tree *tree);
};

/* The beginning of every kind of tree. */
struct tree {
	const struct tree_operations *operations;
	enum root_kind kind;
	struct stamp stamp; /* before anything was read; zeros where there is none */
	int fd;             /* of the directory or the zip, or -1 */
};

/*
 * Open the directory or zip at @path, as stock would: ERROR_NOTFOUND where stock
 * finds nothing (no such file, not readable, neither directory nor zip).
 */
int tree_open(const char *path, struct tree **out, struct error *error);

/* A directory that is open as @fd, which the tree takes over. */
int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error);

/* The zip that is open as @fd, which the tree takes over; @path for messages. */
int tree_open_zip(int fd, const char *path, struct stamp stamp, struct tree **out,
                  struct error *error);

#define TREE_OBJECT_MAX ((size_t)64 << 20) /* bytes of a shared object within an archive */

/* A file of an archive: its path without "./"; its bytes, null where they were not kept. */
struct tree_file {
	struct slice path, bytes;
};

/* Files in memory, as if the archive were unpacked; they must stay. */
int tree_open_memory(const struct tree_file *files, size_t count, struct tree **out,
                     struct error *error);

/* Is @child an editable install: does its direct_url.json say so? */
bool tree_is_editable(struct tree *tree, struct slice child);

void tree_close(struct tree *tree);

/* The stamp that a stat gives. */
static inline struct stamp stamp_of(const struct stat *status)
{
	return (struct stamp){
	        .mtime = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec,
	        .ctime = (int64_t)status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec,
	        .dev = (int64_t)status->st_dev,
	};
}

#endif

/*
 * import_path.h - which file Python's import would take for a module.
 */
#ifndef LIBQUERY_DISK_TARGET_IMPORT_PATH_H
#define LIBQUERY_DISK_TARGET_IMPORT_PATH_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/name_map.h"
#include "libquery/disk/tree/wheel_record.h"

/*
 * What is in the directories of one path entry, as far as it was asked for, while that is
 * read: thousands of modules may lie in one directory. Zeros: nothing is known.
 */
struct import_cache {
	struct name_map by_path;        /* directory -> number of its listing */
	struct path_index *directories; /* their listings: names, sorted */
	size_t count, room;             /* of directories */
	size_t names;                   /* in all of them */
	struct arena arena;
};

void import_cache_free(struct import_cache *cache);

/* Where the modules of one distribution are. */
struct import_site {
	struct wheel_record record; /* its RECORD, or what stands for it; null: neither */
	struct import_cache *cache; /* NULL only where it is not on the disk */
	int fd; /* the directory of the path entry, borrowed; -1: it is not on the disk */
};

struct import_file {
	struct wheel_file file; /* file.path is null when there is none */
	bool is_object;         /* a shared object; else a .py, a .pyc, or a directory */
	bool is_package;
};

/*
 * Find the shared object that @module may mean to a host that is not Python, which import
 * would not take: for a.b first a/b.so.0.9.0, the newest; then a/b with a suffix of a host's
 * own (object_name.h); then the same, and .so, of a/libb. The same errors.
 */
int import_find_library(const struct import_site *site, struct slice module, struct arena *arena,
                        struct import_file *out, struct error *error);

/* Find @module. Each error is a failure (error.h); *@out is written without one. */
int import_find(const struct import_site *site, struct slice module, struct arena *arena,
                struct import_file *out, struct error *error);

/*
 * The names in the directory @path below the path entry, "" for that itself; none where it
 * cannot be listed, which to import is the same as an empty one. They stay until the cache is
 * asked for another directory. Each error is a failure.
 */
int import_names(const struct import_site *site, struct slice path, const struct path_index **out,
                 struct error *error);

#endif

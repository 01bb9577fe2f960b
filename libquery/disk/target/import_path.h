/*
 * import_path.h - finds the file that Python's import would use for a module.
 */
#ifndef LIBQUERY_DISK_TARGET_IMPORT_PATH_H
#define LIBQUERY_DISK_TARGET_IMPORT_PATH_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "libquery/disk/tree/wheel_record.h"

/*
 * A cache of directory listings for one path entry: thousands of modules may be in one directory.
 * Initialise with zeros.
 */
struct import_cache {
	struct name_map by_path;        /* directory -> index in directories */
	struct path_index *directories; /* sorted names */
	size_t count, room;             /* of directories */
	size_t names;                   /* in all of them */
	struct arena arena;
};

void import_cache_free(struct import_cache *cache);

/* The location of the modules of one distribution. */
struct import_site {
	struct wheel_record record; /* its RECORD or a substitute; null for neither */
	struct import_cache *cache; /* NULL only if it is not on the disk */
	int fd; /* the path entry's directory, borrowed; -1 if it is not on the disk */
	struct readers readers; /* of the published result, as for file_open_for() */
	bool *withheld;         /* set if they cannot list a directory, which is then empty */
};

struct import_file {
	struct wheel_file file; /* file.path is null if none was found */
	bool is_object;         /* a shared object; else a .py, a .pyc, or a directory */
	bool is_package;
};

/*
 * Find the shared object for @module that a host other than Python would use and import would not:
 * for a.b first a/b.so.0.9.0, the newest; then a/b with a host's own suffix (object_name.h); then
 * the same, and .so, for a/libb. Errors as import_find().
 */
int import_find_library(const struct import_site *site, struct slice module, struct arena *arena,
                        struct import_file *out, struct error *error);

/* Find @module. Each error is transient (error.h); *out is written on success. */
int import_find(const struct import_site *site, struct slice module, struct arena *arena,
                struct import_file *out, struct error *error);

/*
 * The names in directory @path below the path entry ("": the path entry itself); empty if it cannot
 * be listed, as for import. Valid until the next call. Each error is transient.
 */
int import_names(const struct import_site *site, struct slice path, const struct path_index **out,
                 struct error *error);

#endif

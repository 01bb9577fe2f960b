/*
 * import_path.h - which file Python's import would take for a module.
 */
#ifndef LIBQUERY_IMPORT_PATH_H
#define LIBQUERY_IMPORT_PATH_H

#include <dirent.h>

#include "target.h"
#include "wheel_record.h"

struct import_file {
	struct wheel_file file; /* file.path is null when there is none */
	bool is_object;         /* a shared object; else a .py, or a directory */
	bool is_package;
};

/* Find the module of @query. The only error is ERROR_NOMEM; *@out is written without it. */
int import_find(const struct target_query *query, struct arena *arena, struct import_file *out,
                struct error *error);

/*
 * List the directory @path below the path entry; the caller closes it. NULL
 * when that is not possible, which to import is the same as an empty one.
 */
DIR *import_open_directory(const struct target_query *query, const char *path);

#endif

/*
 * Finds the roots that a database knows: for updates that drop those which are gone, and for
 * commands whose arguments name none.
 */
#include "indexer/known_roots.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/reader.h"
#include "libquery/layout.h"

int known_roots_add(void *sites, const struct root_record *root)
{
	CLEANUP(cleanup_free) char *path = strndup(root->path.ptr, root->path.len);

	if (root->kind == ROOT_ARCHIVE)
		return 0;
	return path && sites_add(sites, path) ? 0 : ERROR_NOMEM;
}

int known_roots_of_file(const char *file, struct sites *out, struct error *error)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	int code = reader_open(file, geteuid(), &reader, error);

	if (code == 0)
		code = reader_roots(reader, known_roots_add, out, error);
	return code == ERROR_NOMEM ? error_nomem(error) : code;
}

int known_root_path(const struct options *options, const char *file, const char *root_path,
                    char **out, struct error *error)
{
	CLEANUP(cleanup_free) char *base = layout_base(file);

	*out = NULL;
	if (options->sysroot && root_path[0] == '/')
		return 0;
	if (base)
		*out = layout_path_of_root(base, slice_of(root_path));
	return *out ? 0 : error_nomem(error);
}

bool known_root_is_gone(const char *path)
{
	struct stat status;

	return stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

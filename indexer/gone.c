/*
 * gone.c - see gone.h.
 */
#include "indexer/gone.h"

#include <errno.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "libquery/layout.h"

int gone_begin(struct gone *gone, const struct options *options, const struct database *database)
{
	*gone = (struct gone){
	        .base = layout_base(database->file),
	        .in_sysroot = options->sysroot != NULL,
	};
	return gone->base ? 0 : ERROR_NOMEM;
}

/* With --root, absolute paths are meant below it; only relative ones can be resolved here. */
static bool can_tell(const struct gone *gone, const struct root_record *root)
{
	return root->kind != ROOT_ARCHIVE &&
	       !(gone->in_sysroot && slice_starts(root->path, SLICE("/")));
}

int gone_collect(void *payload, const struct root_record *root)
{
	struct gone *gone = payload;
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *root_path = NULL;
	struct stat status;

	if (!can_tell(gone, root))
		return 0;
	path = layout_path_of_root(gone->base, root->path);
	if (!path)
		return ERROR_NOMEM;
	if (stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return 0;
	root_path = strndup(root->path.ptr, root->path.len);
	return root_path && sites_add(&gone->paths, root_path) ? 0 : ERROR_NOMEM;
}

void gone_free(struct gone *gone)
{
	sites_free(&gone->paths);
	free(gone->base);
}

/*
 * sysroot.c - the process-wide file-system root of --root.
 */
#include "indexer/sysroot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "libquery/layout.h"

static struct file_sysroot sysroot = {.fd = -1};

int sysroot_enter(const char **path, struct error *error)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(*path);
	struct file_sysroot entered = {.fd = -1};
	bool is_machine = absolute && strcmp(absolute, "/") == 0;

	if (!absolute || (!is_machine && file_sysroot_open(absolute, &entered) != 0)) {
		file_sysroot_close(&entered);
		return error_errno(error, errno, "%s", *path);
	}
	/* Kept until the process ends or enters another. */
	free((char *)sysroot.given);
	file_sysroot_close(&sysroot);
	sysroot = entered;
	*path = sysroot.given = take(absolute);
	file_set_sysroot(is_machine ? NULL : &sysroot);
	return 0;
}

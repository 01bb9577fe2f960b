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

const struct file_sysroot *file_sysroot(void)
{
	return sysroot.real ? &sysroot : NULL;
}

int sysroot_enter(const char **path, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	CLEANUP(cleanup_free) char *absolute = layout_absolute(*path);
	bool is_machine = absolute && strcmp(absolute, "/") == 0;

	if (absolute && !is_machine)
		fd = file_open(AT_FDCWD, absolute, O_PATH | O_DIRECTORY);
	if (fd < 0 && !is_machine)
		return error_errno(error, errno, "%s", *path);
	/* Kept until the process ends or enters another. */
	cleanup_close(&sysroot.fd);
	free((char *)sysroot.real);
	free((char *)sysroot.given);
	sysroot.real = is_machine ? NULL : file_real_path(fd);
	sysroot.fd = take_fd(&fd);
	*path = sysroot.given = take(absolute);
	return 0;
}

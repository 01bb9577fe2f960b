/*
 * sysroot.c - keeps what is read below --root inside of it.
 */
#include "indexer/sysroot.h"

#include <errno.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/command.h"
#include "libquery/layout.h"

static struct file_sysroot sysroot = {.fd = -1};

const struct file_sysroot *file_sysroot(void)
{
	return sysroot.real ? &sysroot : NULL;
}

enum status sysroot_enter(struct options *options)
{
	CLEANUP(cleanup_close) int fd = -1;
	char *absolute = layout_absolute(options->sysroot);

	if (absolute && strcmp(absolute, "/") != 0)
		fd = file_open(AT_FDCWD, absolute, O_PATH | O_DIRECTORY);
	if (!absolute || (fd < 0 && strcmp(absolute, "/") != 0)) {
		message("%s: %s", options->sysroot, strerror(errno));
		free(absolute);
		return STATUS_COULD_NOT;
	}
	options->sysroot = sysroot.given = absolute; /* for as long as the process lives */
	sysroot.real = fd < 0 ? NULL : file_real_path(fd);
	sysroot.fd = take_fd(&fd);
	return STATUS_DONE;
}

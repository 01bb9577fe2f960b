/*
 * kept.h - images that were added, each unpacked once, so that questions about it are those about a
 * tree.
 *
 *     $XDG_STATE_HOME/entrydb/images/KEY/OS-ARCH/image    its stamp, and its path
 *     .../images/KEY/OS-ARCH/root/                        its tree, with databases: a sysroot
 *
 * KEY follows from the path. `add` has `update --sealed` make the databases; --root IMAGE then
 * means the tree, at level trust.
 */
#ifndef INDEXER_IMAGE_KEPT_H
#define INDEXER_IMAGE_KEPT_H

#include "indexer/command.h"

/*
 * Add the image at @path. 1: done; 2: it is as it was; 0: @path is none; or an error, after which
 * what was kept before still is.
 */
int image_add(const struct options *options, const char *path, struct error *error);

/*
 * Drop what is kept of the image at @path: for --platform, else for all. 1: done; 0: nothing is
 * kept of such; or an error.
 */
int image_forget(const struct options *options, const char *path, struct error *error);

#endif

/*
 * kept.h - stores the trees of added images.
 *
 *     $XDG_STATE_HOME/entrydb/images/KEY/OS-ARCH/image    the image's stamp and path
 *     .../images/KEY/OS-ARCH/root                         its tree, with databases: a sysroot
 *
 * KEY is a hash of the path. `add` unpacks the image and makes databases like `update --sealed`;
 * --root IMAGE then uses the tree, at level trust.
 */
#ifndef INDEXER_IMAGE_KEPT_H
#define INDEXER_IMAGE_KEPT_H

#include "indexer/command.h"

/*
 * Add the image at @path. 1: done; 2: unchanged; 0: @path is not an image; or an error, which keeps
 * the previous tree.
 */
int image_add(const struct options *options, const char *path, struct error *error);

/*
 * Remove the tree of the image at @path for --platform, or all its trees. 1: done; 0: none exists;
 * or an error.
 */
int image_forget(const struct options *options, const char *path, struct error *error);

#endif

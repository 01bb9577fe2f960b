/*
 * kept.h - what stays of an image, so that questions about it are those about a tree.
 *
 *     $XDG_STATE_HOME/entrydb/images/KEY/image    which one: its stamp, platform and path
 *     .../images/KEY/root/                        a sysroot: the databases, the site directories
 *                                                 without their files, .pth files, links, policy
 *
 * KEY follows from the path and the platform. `add` unpacks the image into a scratch directory, has
 * `update --sealed` make its databases, and keeps these; --root IMAGE then means what was kept, at
 * level trust. A verb that looks at files, and a question that what was kept does not answer, has
 * the image unpacked again: the answers are those of the tree in either case.
 */
#ifndef INDEXER_IMAGE_KEPT_H
#define INDEXER_IMAGE_KEPT_H

#include "indexer/command.h"

struct image_counts {
	bool is_unchanged; /* nothing was done */
	size_t layers, sites, distributions, entry_points;
};

/*
 * Add the image at @path. 1: done, and *@counts says what is in it; 0: @path is none; or an error,
 * after which what was kept before still is.
 */
int image_add(const struct options *options, const char *path, struct image_counts *counts,
              struct error *error);

/* Drop what is kept of the image at @path. 1: done; 0: nothing is kept of such; or an error. */
int image_forget(const struct options *options, const char *path, struct error *error);

#endif

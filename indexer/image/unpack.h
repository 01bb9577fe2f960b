/*
 * unpack.h - the tree of an image, in a directory of our own.
 *
 * Layers are applied in order, as the image specification says: a member takes the place of what
 * was there, ".wh.NAME" removes NAME of the layers below, ".wh..wh..opq" all that they have in that
 * directory. A layer is read once; its digest is made on the way.
 *
 * Whatever a layer says, nothing is touched outside of the directory, which must be the sysroot of
 * the process (db/base/file.h): the directory of each member is opened below it by
 * RESOLVE_IN_ROOT, the member by its last name alone, which follows no link. Devices are left out,
 * and so are set-user-ID bits; the owner's own permissions let us go on. What root unpacks belongs
 * to whom the image gives it to.
 */
#ifndef INDEXER_IMAGE_UNPACK_H
#define INDEXER_IMAGE_UNPACK_H

#include "indexer/image/image.h"
#include "libquery/sites.h"

#define UNPACK_DEPTH_MAX 256 /* directories in one another */

struct unpack_options {
	bool quiet;
	/* Each of a known layout that any layer had, as the image has it; may be gone again. Or
	 * NULL. */
	struct sites *sites;
};

/*
 * Unpack into @directory, which is empty; NULL: only read the layers. ERROR_CHANGED: a layer has
 * another digest or size than the image says; ERROR_FORMAT, ERROR_LIMIT, ...: the layer and member
 * are named.
 */
int image_unpack(struct image *image, const char *directory, const struct unpack_options *options,
                 struct error *error);

/* Remove @name in @directory, and all that is in it: 0, or -1 and errno. */
int unpack_remove(int directory, const char *name);

#endif

/*
 * unpack.h - unpacks an image into a directory of our own.
 *
 * Layers are applied in order, by the image specification: a member replaces an existing file,
 * ".wh.NAME" removes NAME of lower layers, ".wh..wh..opq" all their files in that directory. A
 * layer is read once; its digest is computed at the same time.
 *
 * No file outside of the directory is changed. The directory must be the sysroot of the process
 * (db/base/file.h): the parent directory of each member is opened with RESOLVE_IN_ROOT, and the
 * member by its last component, without following a link. Devices and set-user-ID bits are omitted;
 * the owner always gets the permissions that unpacking needs. Root sets the owners given in the
 * image, as far as its user namespace has them.
 */
#ifndef INDEXER_IMAGE_UNPACK_H
#define INDEXER_IMAGE_UNPACK_H

#include "indexer/image/image.h"

#define UNPACK_PATH_MAX 3072 /* bytes of a directory's path in the tree */

/*
 * Unpack into the empty @directory; NULL: only read the layers. ERROR_CHANGED: a layer's digest or
 * size differs from the image's data; ERROR_FORMAT, ERROR_LIMIT, ...: the message names the member.
 */
int image_unpack(struct image *image, const char *directory, bool quiet, struct error *error);

/* Remove @name in @directory recursively: 0, or -1 and errno. */
int unpack_remove(int directory, const char *name);

#endif

/*
 * unpack.h - unpacks an image into a directory of our own.
 *
 * Layers are applied in order, as the image specification says: a member replaces what was there,
 * ".wh.NAME" removes NAME of the layers below, ".wh..wh..opq" all that they have in that directory.
 * A layer is read once; its digest is computed on the way.
 *
 * Nothing outside of the directory is touched. It must be the sysroot of the process
 * (db/base/file.h): the directory of each member is opened with RESOLVE_IN_ROOT, and the member by
 * its last name, without following a link. Devices and set-user-ID bits are left out; owners keep
 * the permissions that unpacking needs. What root unpacks has the owners that the image says.
 */
#ifndef INDEXER_IMAGE_UNPACK_H
#define INDEXER_IMAGE_UNPACK_H

#include "indexer/image/image.h"
#include "libquery/sites.h"

#define UNPACK_DEPTH_MAX 256 /* directories in one another */

/*
 * Unpack into @directory, which is empty; NULL: only read the layers. @sites (or NULL) gets the
 * paths, in the image, of all directories of a known layout that a layer has; a later one may have
 * removed them. ERROR_CHANGED: a layer has another digest or size than the image says;
 * ERROR_FORMAT, ERROR_LIMIT, ...: the message names the member.
 */
int image_unpack(struct image *image, const char *directory, bool quiet, struct sites *sites,
                 struct error *error);

/* Remove @name in @directory, and all that is in it: 0, or -1 and errno. */
int unpack_remove(int directory, const char *name);

#endif

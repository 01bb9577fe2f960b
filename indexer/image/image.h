/*
 * image.h - an image of a container that is a file: which layers make up its tree.
 *
 *     DIR/oci-layout, index.json, blobs/sha256/...    an OCI image layout
 *     the same in a tarball                           skopeo's oci-archive, newer docker's save
 *     manifest.json, HEX.json, HEX/layer.tar, ...     docker's save, in a tarball
 *
 * What it says of itself is read into a worksheet (image.sql), and is hostile: sizes have limits,
 * whatever is named by a digest must have it.
 */
#ifndef INDEXER_IMAGE_IMAGE_H
#define INDEXER_IMAGE_IMAGE_H

#include "db/record.h"
#include "db/worksheet.h"

#define IMAGE_JSON_MAX      ((size_t)4 << 20) /* bytes of one manifest, index or configuration */
#define IMAGE_DOCUMENTS_MAX 1000              /* of these that are read */
#define IMAGE_LAYERS_MAX    1000
#define IMAGE_MEMBERS_MAX   100000 /* of the tarball that an image is */

struct image {
	const char *path; /* borrowed, for messages */
	int fd;           /* the tarball, or the directory */
	bool is_directory;
	struct stamp stamp;      /* of the tarball, or of index.json */
	char platform[64];       /* OS/ARCH or OS/ARCH/VARIANT, as asked for */
	struct worksheet *sheet; /* of image.sql */
	char *manifest;          /* which of its images; NULL before image_choose() */
};

#define IMAGE_INIT ((struct image){.fd = -1})

/* A part of the image's file, or a file of its directory. */
struct image_blob {
	int fd; /* the caller's to close, where the image is a directory */
	uint64_t offset, size;
};

/*
 * Is there an image at @path? 1: *@out is open, for @platform (NULL: this machine's); 0: there is
 * none; or an error: it cannot be told. image_close() accepts what was not opened.
 */
int image_open(const char *path, const char *platform, struct image *out, struct error *error);
void image_close(struct image *image);

/* What tells whether the image at @path is still the one that it was. */
int image_stamp(const char *path, struct stamp *out, struct error *error);

/* Read what it says of itself, and choose the one for the platform. ERROR_FORMAT, ERROR_LIMIT, ...
 */
int image_choose(struct image *image, struct error *error);

/* Find what the manifest calls @name: a digest, or the name of a member. */
int image_find(struct image *image, struct slice name, struct image_blob *out, struct error *error);

/* The 64 digits of the digest in @name, such as "sha256:HEX" or "HEX.tar"; else null. */
struct slice image_digest(struct slice name);

/* "linux/amd64", as @platform says or as this machine is; false: no such form. */
bool image_platform(const char *platform, char out[64]);

extern const char image_script[];

#endif

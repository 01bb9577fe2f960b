/*
 * image.h - reads a container image and finds the layers of its tree.
 *
 *     DIR/oci-layout, index.json, blobs/sha256/...    an OCI image layout
 *     the same in a tarball                           skopeo's oci-archive, newer docker save
 *     manifest.json, HEX.json, HEX/layer.tar, ...     older docker save
 *
 * Its JSON is read into a worksheet (image.sql). Images are not trusted: sizes are limited, and
 * everything referenced by a digest is compared with it.
 */
#ifndef INDEXER_IMAGE_IMAGE_H
#define INDEXER_IMAGE_IMAGE_H

#include "db/record.h"
#include "db/worksheet.h"

#define IMAGE_JSON_MAX      ((size_t)4 << 20) /* bytes of one document */
#define IMAGE_JSON_ALL_MAX  ((size_t)64 << 20)
#define IMAGE_DOCUMENTS_MAX 1000 /* documents */
#define IMAGE_LAYERS_MAX    1000
#define IMAGE_MEMBERS_MAX   100000 /* members of an image's tarball */

struct image {
	const char *path; /* borrowed, for messages */
	int fd;           /* the tarball, or the directory */
	bool is_directory;
	char platform[64];       /* OS/ARCH or OS/ARCH/VARIANT, as requested */
	struct worksheet *sheet; /* with image.sql */
	size_t members;          /* read members of the tarball */
	uint64_t json;           /* bytes of documents read */
	char *manifest;          /* of the image for the platform; NULL before image_choose() */
};

#define IMAGE_INIT ((struct image){.fd = -1})

/* A part of a file. */
struct image_blob {
	int fd; /* the caller's to close */
	uint64_t offset, size;
};

/*
 * Open the image at @path for @platform (NULL: this machine's). 1: done; 0: not an image; or an
 * error. image_close() accepts an image that was not opened.
 */
int image_open(const char *path, const char *platform, struct image *out, struct error *error);
void image_close(struct image *image);

/* Read the JSON, and find the image for the platform. ERROR_FORMAT, ERROR_LIMIT, ... */
int image_choose(struct image *image, struct error *error);

/* Find the data named @name in the manifest: a digest, or the name of a member. */
int image_find(struct image *image, struct slice name, struct image_blob *out, struct error *error);

/* The 64 digits of the digest in @name, such as "sha256:HEX" or "HEX.tar"; else null. */
struct slice image_digest(struct slice name);

/* Normalize @platform (NULL: this machine's) to "linux/amd64". ERROR_INVALID. */
int image_platform(const char *platform, char out[64], struct error *error);

extern const char image_script[];

#endif

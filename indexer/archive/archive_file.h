/*
 * archive_file.h - walks over the files of a tarball, a zip or a distribution's package.
 *
 * Every archive that libarchive reads becomes a walk over regular files, each with its path and, if
 * wanted, its content. Zips from which Python may import are read by zip.h instead, which follows
 * Python. For images and their layers, which are tarballs, the walk includes every member with its
 * file attributes.
 *
 * Not named archive.h, which would hide the system's header.
 */
#ifndef INDEXER_ARCHIVE_ARCHIVE_FILE_H
#define INDEXER_ARCHIVE_ARCHIVE_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "db/base/error.h"
#include "db/base/slice.h"

#define ARCHIVE_MEMBERS_MAX  ((uint64_t)4 << 20)  /* members of one archive */
#define ARCHIVE_UNPACKED_MAX ((uint64_t)64 << 30) /* bytes, unpacked */
#define ARCHIVE_RATIO_MAX    ((uint64_t)1000)     /* unpacked to packed, beyond the next limit */
#define ARCHIVE_RATIO_FREE   ((uint64_t)1 << 30)  /* unpacked bytes without a ratio limit */

/* The archive to read. */
struct archive_source {
	const char *path; /* for messages */
	int fd;           /* borrowed; its position is not used */
	bool is_zip;      /* read it as a zip, and nothing else as one */
	bool is_conda;    /* a zip with the files in tarballs pkg-NAME.tar.zst */
	/* A tarball of @size bytes at @offset, with all members; size 0: to the end. */
	bool is_tarball;
	uint64_t offset, size;
};

struct archive_member {
	struct slice path;
	mode_t mode; /* as of stat() */
	bool is_hard_link;
	const char *link; /* the target of a link */
	uint64_t size;    /* as declared */
	uint64_t offset;  /* of its data, if the archive is not compressed */
};

/* Callbacks for the files; slices are valid until the callback returns. */
struct archive_sink {
	void *payload;
	/*
	 * The most bytes wanted of the file at @path; 0: none. @size: as declared, UINT64_MAX if
	 * undeclared. A larger file ends the walk with ERROR_LIMIT.
	 */
	size_t (*wanted)(void *payload, struct slice path, uint64_t size);
	/* A regular file; @bytes is null if not wanted. Negative ends the walk. */
	int (*file)(void *payload, struct slice path, struct slice bytes, struct error *error);
	/* Called periodically; true ends the walk with ERROR_IO. */
	bool (*stop)(void);
	/*
	 * For a tarball, instead of wanted(): called for every member. 1: create it as @place, with
	 * member->mode, which can be changed, and as root its owner; then call file() for @place.
	 * 0: skip; negative ends the walk.
	 */
	int (*member)(void *payload, struct archive_member *member, const char **place,
	              struct error *error);
	/* NULL, or called for a wanted file that is a link: a hard one to @target, or with null. */
	int (*link)(void *payload, struct slice path, struct slice target, struct error *error);
	/* NULL, or called with all packed bytes of the source, each once and in order. */
	void (*input)(void *payload, struct slice bytes);
};

/*
 * Walk over the files. Directories, links and devices are skipped, except for member() and
 * link().
 * ERROR_FORMAT: not an archive, damaged, truncated or encrypted, with libarchive's message;
 * ERROR_LIMIT: larger than a limit above or of the sink; ERROR_IO; ERROR_NOMEM.
 */
int archive_file_walk(const struct archive_source *source, const struct archive_sink *sink,
                      struct error *error);

#endif

/*
 * archive_file.h - the files in a tarball, a zip or a distribution's package.
 *
 * What libarchive can read becomes a walk over regular files, each with its path
 * and, where the caller wants them, its bytes. Zips that Python may import from are
 * not read here, but by zip.h, which follows Python. Of an image and its layers, which are
 * tarballs, every member can be had, with what a file system needs to know of it.
 *
 * Not called archive.h, which would hide the system's header of that name.
 */
#ifndef INDEXER_ARCHIVE_ARCHIVE_FILE_H
#define INDEXER_ARCHIVE_ARCHIVE_FILE_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "db/base/error.h"
#include "db/base/slice.h"

#define ARCHIVE_MEMBERS_MAX  ((uint64_t)4 << 20)  /* members of one archive */
#define ARCHIVE_UNPACKED_MAX ((uint64_t)64 << 30) /* bytes, unpacked */
#define ARCHIVE_RATIO_MAX    ((uint64_t)1000)     /* unpacked to packed, once past the next */
#define ARCHIVE_RATIO_FREE   ((uint64_t)1 << 30)  /* bytes that may expand by any ratio */

/* Where the archive is. */
struct archive_source {
	const char *path; /* for messages */
	int fd;           /* borrowed; its position is not used */
	bool is_zip;      /* it is a zip, and else none */
	bool is_conda;    /* a zip whose files are in the tarballs pkg-NAME.tar.zst in it */
	/* A tarball, to be read for its members: @size bytes from @offset; 0: all that there is. */
	bool is_tarball;
	uint64_t offset, size;
};

struct archive_member {
	struct slice path;
	enum {
		ARCHIVE_OTHER, /* a device, say */
		ARCHIVE_FILE,
		ARCHIVE_DIRECTORY,
		ARCHIVE_SYMLINK,
		ARCHIVE_HARD_LINK,
	} kind;
	const char *link; /* where a link leads to */
	mode_t mode;      /* permissions alone */
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	uint64_t size;   /* as declared */
	uint64_t offset; /* where its bytes are in what is packed, if the archive is not */
};

/* What to do with its files; the slices given stay until the call returns. */
struct archive_sink {
	void *payload;
	/*
	 * How many bytes of the file at @path are wanted at most; 0: none of them.
	 * @size: as declared, UINT64_MAX where it is not. A file that turns out larger
	 * ends the walk with ERROR_LIMIT.
	 */
	size_t (*wanted)(void *payload, struct slice path, uint64_t size);
	/* A regular file; null @bytes where they were not wanted. Negative ends the walk. */
	int (*file)(void *payload, struct slice path, struct slice bytes, struct error *error);
	/* Asked now and then; true ends the walk with ERROR_IO. */
	bool (*stop)(void);
	/*
	 * Of a tarball, in place of wanted(): any member. 1: the bytes of this file are wanted,
	 * they go to data(), piece by piece, and file() comes last; 0: not; negative ends the walk.
	 */
	int (*member)(void *payload, const struct archive_member *member, struct error *error);
	int (*data)(void *payload, struct slice bytes, struct error *error);
	/* NULL, or given all bytes of the source, packed as they are, each once and in order. */
	void (*input)(void *payload, struct slice bytes);
};

/*
 * Walk over the files. Directories, links and devices are left out, but for member(). ERROR_FORMAT:
 * not an archive, damaged, cut short or encrypted, in libarchive's own words;
 * ERROR_LIMIT: larger than a limit above or than the sink's; ERROR_IO; ERROR_NOMEM.
 */
int archive_file_walk(const struct archive_source *source, const struct archive_sink *sink,
                      struct error *error);

#endif

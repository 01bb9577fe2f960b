/*
 * archive_file.h - the files in a tarball, a zip or a distribution's package.
 *
 * What libarchive can read becomes a walk over regular files, each with its path
 * and, where the caller wants them, its bytes. Zips that Python may import from are
 * not read here, but by zip.h, which follows Python.
 *
 * Not called archive.h, which would hide the system's header of that name.
 */
#ifndef INDEXER_ARCHIVE_ARCHIVE_FILE_H
#define INDEXER_ARCHIVE_ARCHIVE_FILE_H

#include <stdint.h>

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
};

/*
 * Walk over the files. Directories, links and devices are left out. ERROR_FORMAT:
 * not an archive, damaged, cut short or encrypted, in libarchive's own words;
 * ERROR_LIMIT: larger than a limit above or than the sink's; ERROR_IO; ERROR_NOMEM.
 */
int archive_file_walk(const struct archive_source *source, const struct archive_sink *sink,
                      struct error *error);

#endif

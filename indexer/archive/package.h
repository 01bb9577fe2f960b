/*
 * package.h - one archive of any kind, opened as something that can be scanned.
 *
 *     wheel, egg, zip            the zip itself, as Python reads it on sys.path
 *     source distribution        its one distribution, as it will be
 *     .conda                     the tarballs in the zip
 *     anything else              every *.dist-info and *.egg-info in it
 */
#ifndef INDEXER_ARCHIVE_PACKAGE_H
#define INDEXER_ARCHIVE_PACKAGE_H

#include "db/record.h"
#include "indexer/archive/sdist.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/tree/archive.h"

enum package_kind {
	PACKAGE_ZIP,     /* can stand on sys.path */
	PACKAGE_ARCHIVE, /* holds distributions somewhere in it */
	PACKAGE_SOURCE,  /* is a source distribution */
};

struct package {
	const char *path; /* borrowed */
	enum package_kind kind;
	struct stamp stamp; /* of the file, before it was read */
	dev_t device;       /* of its file system */
	int fd;
	struct tree *tree;      /* what to scan */
	struct members members; /* what it stands on, but for PACKAGE_ZIP */
	struct arena arena;
	struct sdist source;
	struct tree_file source_files[2]; /* of which its tree is made */
};

#define PACKAGE_INIT ((struct package){.fd = -1})

/* Is @name a file that a directory of archives is searched for? */
bool package_is_archive(const char *name);

/*
 * Open the archive at @path, which must stay as long as @out. @stop may be NULL; see
 * archive_file.h. ERROR_NOTFOUND, ERROR_PERMISSION, ERROR_IO: no such file, not
 * readable; ERROR_FORMAT: not an archive, or damaged; ERROR_LIMIT; ERROR_LOAD: the
 * reader of archives is missing. Whatever was opened is closed by package_close(), also
 * after an error.
 */
int package_open(const char *path, bool (*stop)(void), struct package *out, struct error *error);
void package_close(struct package *package);

/*
 * Read the distributions, @how: known, kinds, now, on_progress; see scan_tree(). The root's path is
 * left null.
 */
int package_scan(struct package *package, const struct scan_options *how, struct root_record *out,
                 struct error *error);

#endif

/*
 * package.h - opens an archive of any kind for a scan.
 *
 *     wheel, egg, zip            the zip itself, as Python reads it on sys.path
 *     source distribution        its single distribution, as it would be built
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
	PACKAGE_ZIP,     /* usable on sys.path */
	PACKAGE_ARCHIVE, /* contains distributions */
	PACKAGE_SOURCE,  /* a source distribution */
};

struct package {
	const char *path; /* borrowed */
	enum package_kind kind;
	struct stamp stamp; /* of the file, before it was read */
	dev_t device;       /* of its file system */
	int fd;
	struct tree *tree;      /* to scan */
	struct members members; /* of the tree; unused for PACKAGE_ZIP */
	struct arena arena;
	struct sdist source;
	struct tree_file source_files[2]; /* the tree of PACKAGE_SOURCE */
};

#define PACKAGE_INIT ((struct package){.fd = -1})

/* Is @name the name of an archive, by its suffix? */
bool package_is_archive(const char *name);

/*
 * Open the archive at @path, which must outlive @out. @readers: of the result, as for
 * file_open_for(). @stop may be NULL; see archive_file.h.
 * ERROR_NOTFOUND, ERROR_PERMISSION, ERROR_IO: missing or unreadable; ERROR_FORMAT: not an archive,
 * or damaged; ERROR_LIMIT; ERROR_LOAD: the archive module is missing. Call package_close() even
 * after an error.
 */
int package_open(const char *path, struct readers readers, bool (*stop)(void), struct package *out,
                 struct error *error);
void package_close(struct package *package);

/*
 * Scan the distributions; of @how, known, kinds, now, readers and on_progress are used; see
 * scan_tree(). The root's path stays null.
 */
int package_scan(struct package *package, const struct scan_options *how, struct root_record *out,
                 struct error *error);

#endif

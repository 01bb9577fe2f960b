/*
 * choose.h - which files of a project pip would install: the newest version that a Python can use.
 */
#ifndef INDEXER_PACKAGE_INDEX_CHOOSE_H
#define INDEXER_PACKAGE_INDEX_CHOOSE_H

#include "indexer/package_index/page.h"

struct choice {
	const char *python; /* "3.12" */
	bool all_versions;
};

/* What the name of a file says. */
struct candidate {
	const struct page_file *file;
	struct slice version; /* part of the name */
	bool is_wheel;        /* and no source distribution */
};

/*
 * Those of @page that are to be read, malloc'd: as pip, no yanked ones, early versions only where
 * there are no others, of a version a wheel rather than the sources, whatever its platform.
 * @specifiers: of the versions that are asked for. ERROR_NOMEM.
 */
int choose(const struct choice *choice, const struct page *page, struct slice specifiers,
           struct candidate **out, size_t *count, struct error *error);

#endif

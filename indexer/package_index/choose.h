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
	int fit;              /* 0: a source distribution; more: a wheel, and how well it fits */
};

/*
 * Those of @page that are to be read, malloc'd: as pip, no yanked ones, early versions only where
 * there are no others, of a version the wheel that fits best. @specifiers: of the versions that are
 * asked for. ERROR_NOMEM.
 */
int choose(const struct choice *choice, const struct page *page, struct slice specifiers,
           struct candidate **out, size_t *count, struct error *error);

#endif

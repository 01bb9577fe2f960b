/*
 * choose.h - which files of a project to read: those that pip would install.
 */
#ifndef INDEXER_PACKAGE_INDEX_CHOOSE_H
#define INDEXER_PACKAGE_INDEX_CHOOSE_H

#include "indexer/package_index/page.h"

struct choice {
	const char *python; /* "3.12" */
	bool all_versions;  /* else the newest one */
};

/*
 * Leave those files on @page that are to be read, and set their version and is_wheel. As with pip:
 * of the @project (normalized), not yanked, for this Python; early versions only where there is no
 * other; of a version a wheel, of whatever platform, rather than the sources. @specifiers: of
 * versions, or null. ERROR_NOMEM.
 */
int choose(const struct choice *choice, struct page *page, struct slice project,
           struct slice specifiers, struct error *error);

#endif

/*
 * choose.h - which files of a project to read: those that pip would install.
 */
#ifndef INDEXER_PACKAGE_INDEX_CHOOSE_H
#define INDEXER_PACKAGE_INDEX_CHOOSE_H

#include "indexer/package_index/page.h"

struct choice {
	const char *python; /* "3.12" */
	bool all_versions;  /* not only the newest one */
};

/*
 * Reduce @page to the files to read, and set their version and is_wheel. As in pip: files of the
 * @project (normalized), not yanked unless pinned, for this Python; pre-releases only if there is
 * no other version; for each version a wheel, of any platform, rather than the sources.
 * @specifiers: version specifiers, or null. ERROR_NOMEM.
 */
int choose(const struct choice *choice, struct page *page, struct slice project,
           struct slice specifiers, struct error *error);

#endif

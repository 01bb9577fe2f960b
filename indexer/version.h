/*
 * version.h - which of two versions of a distribution is the later one, by PEP 440.
 */
#ifndef INDEXER_VERSION_H
#define INDEXER_VERSION_H

#include <stdbool.h>

#include "db/base/slice.h"

/*
 * Compare two versions as written in METADATA. True: *order is negative, zero or
 * positive, as @a is before, the same as or after @b. False: one of them is not a
 * version by PEP 440, and nothing can be said.
 */
bool version_compare(struct slice a, struct slice b, int *order);

/* Is it an alpha, a beta, a candidate or a development release? */
bool version_is_early(struct slice version);

/*
 * Is it among those that @specifiers allow: ">=3.9,!=3.10.*"? What PEP 440 does not know
 * allows all.
 */
bool version_is_allowed(struct slice version, struct slice specifiers);

#endif

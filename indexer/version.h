/*
 * version.h - compares versions by PEP 440.
 */
#ifndef INDEXER_VERSION_H
#define INDEXER_VERSION_H

#include <stdbool.h>

#include "db/base/slice.h"

/*
 * Compare two versions as written in METADATA. *order is negative, zero or positive if @a is
 * before, equal to or after @b. False if one of them is not a valid version.
 */
bool version_compare(struct slice a, struct slice b, int *order);

/* Is it an alpha, beta, candidate or development release? */
bool version_is_early(struct slice version);

/*
 * Does @version match @specifiers, such as ">=3.9,!=3.10.*"? Invalid versions and specifiers match.
 */
bool version_is_allowed(struct slice version, struct slice specifiers);

#endif

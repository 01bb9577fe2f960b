/*
 * suggest.h - what to say where nothing was found: what may have been meant, and what
 * to do next.
 */
#ifndef INDEXER_SUGGEST_H
#define INDEXER_SUGGEST_H

#include "db/base/nearest.h"
#include "indexer/command.h"

/*
 * "; did you mean 'list'?", with @prefix before the name, or "" where none is near.
 * malloc'd; NULL without memory.
 */
char *suggest_near(const char *prefix, const struct nearest *nearest);

/*
 * Nothing of @group (and @name, unless NULL) was found: print which group is near, or
 * which name in the group. False: none is.
 */
bool suggest_entry_point(const struct options *options, entrydb *db, const char *group,
                         const char *name);

/* The same, or that there is none. Returns STATUS_NOT_FOUND. */
int say_not_found(const struct options *options, entrydb *db, const char *group, const char *name);

/* Where there are no entry points at all, print what to do next. False: there are some. */
bool advise_on_nothing(const struct options *options, entrydb *db);

#endif

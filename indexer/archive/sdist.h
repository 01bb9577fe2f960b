/*
 * sdist.h - finds the entry points that a source distribution would have.
 *
 * They are in entry_points.txt if the distribution contains its egg-info; else declared in
 * pyproject.toml; else only a build can determine them.
 */
#ifndef INDEXER_ARCHIVE_SDIST_H
#define INDEXER_ARCHIVE_SDIST_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "indexer/archive/members.h"
#include "indexer/archive/pyproject.h"

/* The end of an error that reports a limit of knowledge, not a fault. */
#define SDIST_NEEDS_BUILD "not knowable without a build"

/* As pyproject_read(). */
typedef enum pyproject_status sdist_pyproject(const char *text, size_t length,
                                              const struct pyproject_sink *sink,
                                              char problem[PYPROJECT_PROBLEM_SIZE]);

struct sdist {
	struct slice directory;     /* of its metadata in the archive */
	struct slice metadata;      /* the content of PKG-INFO; null for none */
	struct slice entry_points;  /* the content of entry_points.txt; null for none */
	struct slice name, version; /* if not in PKG-INFO; may be null */
	struct slice error;         /* why the entry points are unknown; or null */
};

/* Is this a source distribution? *top is set to its single top directory. */
bool sdist_find_top(const struct members *members, struct slice *top);

/*
 * Read the source distribution in @top. @file is the archive's name, which may have to supply the
 * distribution's. @pyproject is called if there is a pyproject.toml to read. The slices of @out
 * point into @members and @arena. Faults of the distribution are stored in out->error; the only
 * error is ERROR_NOMEM.
 */
int sdist_read(const struct members *members, struct slice top, struct slice file,
               sdist_pyproject *pyproject, struct arena *arena, struct sdist *out,
               struct error *error);

#endif

/*
 * sdist.h - the entry points that a source distribution will have.
 *
 * They stand in entry_points.txt, where the distribution brings its egg-info;
 * else pyproject.toml declares them; else only a build could tell.
 */
#ifndef INDEXER_ARCHIVE_SDIST_H
#define INDEXER_ARCHIVE_SDIST_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "indexer/archive/members.h"
#include "indexer/archive/pyproject.h"

/* The end of an error that is not a fault, but all that can be known. */
#define SDIST_NEEDS_BUILD "not knowable without a build"

/* As pyproject_read(). */
typedef enum pyproject_status sdist_pyproject(const char *text, size_t length,
                                              const struct pyproject_sink *sink,
                                              char problem[PYPROJECT_PROBLEM_SIZE]);

struct sdist {
	struct slice directory;     /* where in the archive its metadata is */
	struct slice metadata;      /* the bytes of PKG-INFO; null: none */
	struct slice entry_points;  /* the text of an entry_points.txt; null: none */
	struct slice name, version; /* where PKG-INFO does not say; may be null */
	struct slice error;         /* why the entry points cannot be told; null: they can */
};

/* Is this a source distribution? *top becomes the one directory in which all of it lies. */
bool sdist_find_top(const struct members *members, struct slice *top);

/*
 * Read the source distribution in @top. @file is the archive's own name, which may
 * have to name the distribution. @pyproject is called when there is a pyproject.toml
 * to be read. The slices of @out point into @members and @arena. What the
 * distribution does wrong is out->error; the only error is ERROR_NOMEM.
 */
int sdist_read(const struct members *members, struct slice top, struct slice file,
               sdist_pyproject *pyproject, struct arena *arena, struct sdist *out,
               struct error *error);

#endif

/*
 * pyproject.h - reads entry points from pyproject.toml (PEP 621).
 *
 * A plain C interface to a C++ parser, without types of this project. [project.scripts] and
 * [project.gui-scripts] are reported as the groups console_scripts and gui_scripts.
 */
#ifndef INDEXER_ARCHIVE_PYPROJECT_H
#define INDEXER_ARCHIVE_PYPROJECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYPROJECT_PROBLEM_SIZE 256 /* bytes, the NUL included */

struct pyproject_text {
	const char *text; /* UTF-8, may contain NUL; valid until the callback returns */
	size_t length;
};

enum pyproject_fact {
	PYPROJECT_NAME,    /* project.name */
	PYPROJECT_VERSION, /* project.version */
	PYPROJECT_BACKEND, /* build-system.build-backend */
	PYPROJECT_PROJECT, /* [project] exists; no text */
	PYPROJECT_DYNAMIC, /* the back end adds entry points to those of [project]; no text */
};

/* Callbacks; non-zero ends the reading with PYPROJECT_NOMEM. */
struct pyproject_sink {
	void *payload;
	int (*fact)(void *payload, enum pyproject_fact fact, struct pyproject_text text);
	/* Sorted by group, then by name. */
	int (*entry_point)(void *payload, struct pyproject_text group, struct pyproject_text name,
	                   struct pyproject_text value);
};

enum pyproject_status {
	PYPROJECT_OK,
	PYPROJECT_BAD,  /* not TOML, or against the specification; see @problem */
	PYPROJECT_NONE, /* built without a TOML parser; see @problem */
	PYPROJECT_NOMEM,
};

/* Parse @length bytes at @text. @problem is set to one line, except for PYPROJECT_OK. */
enum pyproject_status pyproject_read(const char *text, size_t length,
                                     const struct pyproject_sink *sink,
                                     char problem[PYPROJECT_PROBLEM_SIZE]);

#ifdef __cplusplus
}
#endif

#endif

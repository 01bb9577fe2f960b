/*
 * pyproject.h - what pyproject.toml says about entry points (PEP 621).
 *
 * A shim in plain C around a parser in C++, which knows nothing of this project's
 * types. [project.scripts] and [project.gui-scripts] are told as the groups
 * console_scripts and gui_scripts.
 */
#ifndef INDEXER_ARCHIVE_PYPROJECT_H
#define INDEXER_ARCHIVE_PYPROJECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYPROJECT_PROBLEM_SIZE 256 /* bytes, the NUL included */

struct pyproject_text {
	const char *text; /* UTF-8, may hold NUL bytes; stays until the call returns */
	size_t length;
};

enum pyproject_fact {
	PYPROJECT_NAME,    /* project.name */
	PYPROJECT_VERSION, /* project.version */
	PYPROJECT_BACKEND, /* build-system.build-backend */
	PYPROJECT_PROJECT, /* there is a [project]; no text */
	PYPROJECT_DYNAMIC, /* project.dynamic names entry points or scripts; no text */
};

/* Each returns 0, or non-zero to end the reading with PYPROJECT_NOMEM. */
struct pyproject_sink {
	void *payload;
	int (*fact)(void *payload, enum pyproject_fact fact, struct pyproject_text text);
	/* In the order of groups, and of names in these. */
	int (*entry_point)(void *payload, struct pyproject_text group, struct pyproject_text name,
	                   struct pyproject_text value);
};

enum pyproject_status {
	PYPROJECT_OK,
	PYPROJECT_BAD,  /* not TOML, or against the specification: @problem says how */
	PYPROJECT_NONE, /* this build has no TOML parser: @problem says so */
	PYPROJECT_NOMEM,
};

/* Read @length bytes at @text. @problem is written, as one line, unless all went well. */
enum pyproject_status pyproject_read(const char *text, size_t length,
                                     const struct pyproject_sink *sink,
                                     char problem[PYPROJECT_PROBLEM_SIZE]);

#ifdef __cplusplus
}
#endif

#endif

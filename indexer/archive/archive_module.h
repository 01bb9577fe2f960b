/*
 * archive_module.h - the part of the program that is loaded only when needed.
 *
 * The libraries that read tarballs and TOML bring others along (libxml2, ICU, the
 * C++ run-time), which cost more at start than most commands take in all. So they
 * are linked to a module, which is opened when the first archive asks for it.
 */
#ifndef INDEXER_ARCHIVE_ARCHIVE_MODULE_H
#define INDEXER_ARCHIVE_ARCHIVE_MODULE_H

#include "indexer/archive/archive_file.h"
#include "indexer/archive/pyproject.h"

/* What the module exports, under the name of entrydb_archive_module. */
struct archive_module {
	int (*walk)(const struct archive_source *source, const struct archive_sink *sink,
	            struct error *error);
	enum pyproject_status (*read_pyproject)(const char *text, size_t length,
	                                        const struct pyproject_sink *sink,
	                                        char problem[PYPROJECT_PROBLEM_SIZE]);
};

extern const struct archive_module entrydb_archive_module;

/*
 * What a module of the program, @file, exports as @symbol; it is never closed. NULL when it
 * cannot be loaded, with ERROR_LOAD and the dynamic linker's words; @purpose: who needs it.
 */
const void *program_module(const char *file, const char *symbol, const char *purpose,
                           struct error *error);

/*
 * The module, opened at the first call and never closed. NULL when it cannot be,
 * with ERROR_LOAD and the dynamic linker's words. Not for use by several threads.
 */
const struct archive_module *archive_module_open(struct error *error);

#endif

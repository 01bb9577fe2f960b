/*
 * archive_module.h - loads the program's modules on demand.
 *
 * The libraries for tarballs and TOML depend on others (libxml2, ICU, the C++ run-time), whose
 * loading takes longer than most commands. So they are linked into a module that is opened for the
 * first archive.
 */
#ifndef INDEXER_ARCHIVE_ARCHIVE_MODULE_H
#define INDEXER_ARCHIVE_ARCHIVE_MODULE_H

#include "indexer/archive/archive_file.h"
#include "indexer/archive/pyproject.h"

/* The interface of the module, exported as entrydb_archive_module. */
struct archive_module {
	int (*walk)(const struct archive_source *source, const struct archive_sink *sink,
	            struct error *error);
	enum pyproject_status (*read_pyproject)(const char *text, size_t length,
	                                        const struct pyproject_sink *sink,
	                                        char problem[PYPROJECT_PROBLEM_SIZE]);
};

extern const struct archive_module entrydb_archive_module;

/*
 * Load the program's module @file and return its @symbol; it is never closed. NULL with ERROR_LOAD
 * and dlerror() on failure; @purpose: what needs it, for the message.
 */
const void *program_module(const char *file, const char *symbol, const char *purpose,
                           struct error *error);

/*
 * The archive module, opened on first use and never closed. NULL with ERROR_LOAD and dlerror() on
 * failure. For one thread.
 */
const struct archive_module *archive_module_open(struct error *error);

#endif

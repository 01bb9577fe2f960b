/*
 * archive_table.c - what the module of archive_module.h gives to the program.
 */
#include "indexer/archive/archive_module.h"

__attribute__((visibility("default"))) const struct archive_module entrydb_archive_module = {
        .walk = archive_file_walk,
        .read_pyproject = pyproject_read,
};

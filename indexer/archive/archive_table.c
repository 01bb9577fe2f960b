/*
 * archive_table.c - the table that the archive module exports.
 */
#include "indexer/archive/archive_module.h"

__attribute__((visibility("default"))) const struct archive_module entrydb_archive_module = {
        .walk = archive_file_walk,
        .read_pyproject = pyproject_read,
};

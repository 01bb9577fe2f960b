/*
 * archive_module.c - links the archive reader to the fuzz targets instead of loading it, so that it
 * is instrumented.
 */
#include "indexer/archive/archive_module.h"

const struct archive_module *__wrap_archive_module_open(struct error *error);

const struct archive_module *__wrap_archive_module_open(struct error *error)
{
	(void)error;
	return &entrydb_archive_module;
}

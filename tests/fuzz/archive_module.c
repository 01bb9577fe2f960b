/*
 * archive_module.c - the reader of archives, linked to the fuzz targets instead of loaded:
 * so it is instrumented as all the rest, and need not be looked for.
 */
#include "indexer/archive/archive_module.h"

const struct archive_module *__wrap_archive_module_open(struct error *error);

const struct archive_module *__wrap_archive_module_open(struct error *error)
{
	(void)error;
	return &entrydb_archive_module;
}

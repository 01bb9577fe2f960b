/*
 * into.h - archives as distributions of a site directory: add --into.
 */
#ifndef INDEXER_INTO_H
#define INDEXER_INTO_H

#include "indexer/add_report.h"
#include "indexer/archive_list.h"
#include "indexer/edit.h"

/*
 * Into the first root of @edit's database, as if they were installed there. An archive
 * that cannot be read is reported; the others are added all the same.
 */
int into_site(struct edit *edit, const struct archive_list *list, const struct plugin_kinds *kinds,
              struct add_report *report, struct error *error);

#endif

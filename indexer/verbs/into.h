/*
 * into.h - archives as distributions of a site directory: add --into.
 */
#ifndef INDEXER_VERBS_INTO_H
#define INDEXER_VERBS_INTO_H

#include "indexer/update/edit.h"
#include "indexer/verbs/add_report.h"
#include "indexer/verbs/archive_list.h"

/*
 * Into the first root of @edit's database, as if they were installed there. An archive
 * that cannot be read is reported; the others are added all the same.
 */
int into_site(struct edit *edit, const struct archive_list *list, const struct plugin_kinds *kinds,
              struct add_report *report, struct error *error);

#endif

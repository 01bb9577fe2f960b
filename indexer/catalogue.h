/*
 * catalogue.h - archives as roots of their own: add.
 */
#ifndef INDEXER_CATALOGUE_H
#define INDEXER_CATALOGUE_H

#include "indexer/add_report.h"
#include "indexer/archive_list.h"
#include "indexer/edit.h"

/* An archive that cannot be read is reported; the others are added all the same. */
int catalogue_archives(struct edit *edit, const struct archive_list *list,
                       const struct plugin_kinds *kinds, struct add_report *report,
                       struct error *error);

#endif

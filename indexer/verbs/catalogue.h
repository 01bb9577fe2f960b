/*
 * catalogue.h - archives as roots of their own: add.
 */
#ifndef INDEXER_VERBS_CATALOGUE_H
#define INDEXER_VERBS_CATALOGUE_H

#include "indexer/update/edit.h"
#include "indexer/verbs/add_report.h"
#include "indexer/verbs/archive_list.h"

/* An archive that cannot be read is reported; the others are added all the same. */
int catalogue_archives(struct edit *edit, const struct archive_list *list,
                       const struct plugin_kinds *kinds, struct add_report *report,
                       struct error *error);

#endif

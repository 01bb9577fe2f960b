/*
 * verdict.h - may an entry point be loaded? Private to libquery/.
 */
#ifndef LIBQUERY_VERDICT_H
#define LIBQUERY_VERDICT_H

#include "libquery/handle.h"
#include "libquery/result.h"

/* Whether policy allows @entry_point, and its place among others. ERROR_DISABLED says no. */
int verdict_ask(struct entrydb *db, const struct entrydb_entry_point *entry_point, int *priority,
                struct error *error);

/* Those of @group that policy allows, higher priorities first, else in the usual order. */
int verdict_select(struct entrydb *db, const char *group, struct entrydb_set **out,
                   struct error *error);

#endif

/*
 * error_export.h - errors as the library's caller gets them. Private to libquery/.
 */
#ifndef LIBQUERY_ERROR_EXPORT_H
#define LIBQUERY_ERROR_EXPORT_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/* Move @from, which may be empty, to the caller's @to (or NULL), as @code; returns @code. */
int error_export(int code, struct error *from, entrydb_error *to);

#endif

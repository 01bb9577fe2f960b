/*
 * names.h - errors, as the library's caller gets them. Private to libquery/ and the program.
 */
#ifndef LIBQUERY_NAMES_H
#define LIBQUERY_NAMES_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/* Move @from, which may be empty, to the caller's @to (or NULL), as @code; returns @code. */
int error_export(int code, struct error *from, entrydb_error *to);

/* And back: move @from, which may be empty, to @to (or NULL), as @code; returns @code. */
int error_import(int code, entrydb_error *from, struct error *to);

#endif

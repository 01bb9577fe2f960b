/*
 * names.h - access to public errors and objects from inside. Private to libquery/.
 */
#ifndef LIBQUERY_NAMES_H
#define LIBQUERY_NAMES_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/* The caller's error, which may be NULL, as a struct error. */
static inline struct error *error_inside(entrydb_error *error)
{
	return (struct error *)error;
}

/* The error for options of another size; @init: the initialiser to use. */
int error_options(struct error *error, const char *init);

/* Defines a function of entrydb.h that returns a member of an object. */
#define GETTER(type, function, object, member)                                                     \
	type function(const object *it)                                                            \
	{                                                                                          \
		return it->member;                                                                 \
	}

#endif

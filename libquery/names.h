/*
 * names.h - the errors and members of the public objects, from inside. Private to libquery/.
 */
#ifndef LIBQUERY_NAMES_H
#define LIBQUERY_NAMES_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/* The caller's error, or NULL, to be filled as any other. */
static inline struct error *error_inside(entrydb_error *error)
{
	return (struct error *)error;
}

/* The caller's options have another size than this library's; @init: what they are to begin with.
 */
int error_options(struct error *error, const char *init);

/* Defines a function of entrydb.h that gives one member of an object. */
#define GETTER(type, function, object, member)                                                     \
	type function(const object *it)                                                            \
	{                                                                                          \
		return it->member;                                                                 \
	}

#endif

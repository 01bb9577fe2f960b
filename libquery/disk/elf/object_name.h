/*
 * object_name.h - what shared objects are called, and versions in their names.
 */
#ifndef LIBQUERY_DISK_ELF_OBJECT_NAME_H
#define LIBQUERY_DISK_ELF_OBJECT_NAME_H

#include "db/base/slice.h"

/* The length of ".so", or of ".so.0.9.0", at the end of @name; 0 for other names. */
size_t object_name_suffix(struct slice name);

/* Is @text of digits and dots only? */
bool dotted_is(struct slice text);

/*
 * Is @a newer than @b? Numbers with dots between them, such as 2.34 of GLIBC_2.34 and 0.9.0 of
 * libx.so.0.9.0, are compared one by one: 2.34 is newer than 2.9.
 */
bool dotted_is_newer(struct slice a, struct slice b);

/* What a host calls its plugins instead, without the dot. */
#define OBJECT_NAME_OTHER "duckdb_extension"

/* May a file of that name, or path, be a shared object? */
bool object_name_may_be(struct slice name);

#endif

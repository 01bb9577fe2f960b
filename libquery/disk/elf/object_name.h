/*
 * object_name.h - file names of shared objects, and the versions in them.
 */
#ifndef LIBQUERY_DISK_ELF_OBJECT_NAME_H
#define LIBQUERY_DISK_ELF_OBJECT_NAME_H

#include "db/base/slice.h"

/* The length of the suffix ".so" or ".so.0.9.0" of @name; 0 for other names. */
size_t object_name_suffix(struct slice name);

/* Does @text consist of digits and dots only? */
bool dotted_is(struct slice text);

/*
 * Is version @a newer than @b? Dotted versions, such as 2.34 in GLIBC_2.34 and 0.9.0 in
 * libx.so.0.9.0, are compared number by number: 2.34 is newer than 2.9.
 */
bool dotted_is_newer(struct slice a, struct slice b);

/* A suffix that a host program uses for its plugins, without the dot. */
#define OBJECT_NAME_OTHER "duckdb_extension"

/* May a file with this name, or path, be a shared object? */
bool object_name_may_be(struct slice name);

#endif

/*
 * object_name.h - what shared objects are called.
 */
#ifndef LIBQUERY_DISK_ELF_OBJECT_NAME_H
#define LIBQUERY_DISK_ELF_OBJECT_NAME_H

#include "db/base/slice.h"

/* The length of ".so", or of ".so.0.9.0", at the end of @name; 0 for other names. */
size_t object_name_suffix(struct slice name);

/* What hosts call their plugins instead, without the dot, in order of preference; then NULL. */
extern const char *const object_name_others[];

/* May a file of that name, or path, be a shared object? */
bool object_name_may_be(struct slice name);

#endif

/*
 * dotted.h - numbers with dots between them: 2.34 of GLIBC_2.34, 0.9.0 of libx.so.0.9.0.
 */
#ifndef LIBQUERY_DISK_ELF_DOTTED_H
#define LIBQUERY_DISK_ELF_DOTTED_H

#include "db/base/slice.h"

/* Is @a newer than @b? Number by number: 2.34 is newer than 2.9. Both hold digits and dots only. */
bool dotted_is_newer(struct slice a, struct slice b);

#endif

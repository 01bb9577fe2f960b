/*
 * ld_cache.h - /etc/ld.so.cache: where the dynamic linker finds libraries by name.
 *
 * ldconfig writes it. Of the two formats that it has had, the newer one is read, which has
 * been in every such file since glibc 2.2, alone or behind the older one. Numbers are those
 * of the machine that wrote it.
 *
 *     [older format, padded to 8 bytes]
 *     "glibc-ld.so.cache1.1"  count  length of strings  flags  offset  reserved   48 bytes
 *     per library: flags  name  path  reserved  hwcap                             24 bytes
 *     strings, which name and path are offsets of, from the magic on
 */
#ifndef LIBQUERY_DISK_ELF_LD_CACHE_H
#define LIBQUERY_DISK_ELF_LD_CACHE_H

#include <stdint.h>

#include "db/base/slice.h"

#define LD_CACHE_MAX ((size_t)16 << 20) /* bytes of the file */

/* All of it is borrowed from the bytes. */
struct ld_cache {
	struct slice bytes;   /* from the magic on */
	struct slice entries; /* a whole number of them */
};

/* False: @file is no such cache, or of a machine that orders bytes otherwise. */
bool ld_cache_open(struct slice file, struct ld_cache *out);

/*
 * The next library called @name; begin with *at 0. There may be several, for other
 * machines and for other processors. False when there is no more.
 */
bool ld_cache_find(const struct ld_cache *cache, struct slice name, size_t *at, struct slice *path);

#endif

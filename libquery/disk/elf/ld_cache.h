/*
 * ld_cache.h - reads /etc/ld.so.cache, in which the dynamic linker finds libraries by name.
 *
 * ldconfig writes it. Of its two formats the newer one is read, which every such file contains
 * since glibc 2.2, alone or after the older one. Numbers have the byte order of the machine that
 * wrote it.
 *
 *     [older format, padded to 8 bytes]
 *     "glibc-ld.so.cache1.1"  count  length of strings  flags  offset  reserved   48 bytes
 *     per library: flags  name  path  reserved  hwcap                             24 bytes
 *     strings; name and path are offsets of these, counted from the magic
 */
#ifndef LIBQUERY_DISK_ELF_LD_CACHE_H
#define LIBQUERY_DISK_ELF_LD_CACHE_H

#include <stdint.h>

#include "db/base/slice.h"

#define LD_CACHE_MAX ((size_t)16 << 20) /* bytes of the file */

/* All slices point into the file's bytes. */
struct ld_cache {
	struct slice bytes;   /* from the magic on */
	struct slice entries; /* a whole number of entries */
};

/* False if @file is no such cache, or has another byte order. */
bool ld_cache_open(struct slice file, struct ld_cache *out);

/*
 * The next library named @name; start with *at 0. There may be several, for other machines and
 * processors. False at the end.
 */
bool ld_cache_find(const struct ld_cache *cache, struct slice name, size_t *at, struct slice *path);

#endif
